"""The scores of a test set: every metric, the table, JSON and back."""

import json
import re

import pytest
import sacrebleu

from rnnsearch_tf.errors import InputError
from rnnsearch_tf.evaluation.length_bins import bleu_by_length, read_by_length
from rnnsearch_tf.evaluation.metrics import METRICS, Metric, with_interval
from rnnsearch_tf.evaluation.scores import (
    SetScores,
    TranslationScores,
    in_words,
    score_set,
)
from rnnsearch_tf.evaluation.significance import compare
from rnnsearch_tf.text.moses import MosesTokenizer

FRENCH = MosesTokenizer("fr")
REFERENCES = [f"Le chat n° {i} dort sur l'herbe verte." for i in range(13)]
TRANSLATIONS = [*REFERENCES[:5], *(f"Un chien {i} est sur l'herbe." for i in range(5, 13))]
LONG_NAME = "a/system/with_a_long_name.fr"
LENGTHS = [5] * 11 + [15] * 2


@pytest.fixture(scope="module")
def scores() -> TranslationScores:
    return TranslationScores(
        score_set(TRANSLATIONS, REFERENCES, FRENCH),
        score_set(TRANSLATIONS[3:6], REFERENCES[3:6], FRENCH),
        bleu_by_length(TRANSLATIONS, REFERENCES, LENGTHS),
        comparisons=[
            compare(name, TRANSLATIONS, others, REFERENCES, LENGTHS)
            for name, others in (("old.fr", TRANSLATIONS[::-1]), (LONG_NAME, REFERENCES))
        ],
    )


def test_a_set_has_a_score_by_every_metric(scores):
    for result, rows in ((scores.all, slice(13)), (scores.no_unknown, slice(3, 6))):
        text = TRANSLATIONS[rows], REFERENCES[rows]
        words = [in_words(lines, FRENCH) for lines in text]
        assert result.sentences == len(text[0])
        assert list(result.scores) == list(METRICS)
        for name in ("bleu", "chrf", "ter"):
            assert result[name] == METRICS[name].score(text[0], text[1], intervals=True)
        for name in ("tokenized_bleu", "lowercased_bleu"):
            expected = METRICS[name].score(words[0], words[1], intervals=True)
            signature = expected.signature.replace("tok:none", "tok:none(moses_fr)")
            assert result[name] == expected._replace(signature=signature)


def test_the_table_has_every_score(scores):
    table = scores._replace(replaced=scores.all).table()
    assert max(map(len, table.splitlines())) <= 80
    table = scores.table()
    lines = [" ".join(line.split()) for line in table.splitlines()]
    assert lines[:2] == ["all no unknown words", "sentences 13 3"]
    for name, score in scores.all.scores.items():
        assert "±" in str(score) and "±" not in str(scores.no_unknown[name])
        assert f"{METRICS[name].title} {score} {scores.no_unknown[name]}" in lines
    first, second = scores.by_length
    assert f"1-10 11 {first.bleu:.2f} ± {first.interval:.2f}" in lines
    assert f"11-20 2 {second.bleu:.2f}" in lines
    # A long name is on a line of its own.
    for start, comparison in zip(("old.fr ", f"{LONG_NAME}\n"), scores.comparisons, strict=True):
        each = comparison.differences.values()
        others = " ".join(with_interval(d.other, d.other_interval) for d in each)
        changes = " ".join(f"{d.score - d.other:+.2f} {d.p_value:.3f}" for d in each)
        bins = []
        for ours, theirs in zip(scores.by_length, comparison.by_length, strict=True):
            both = " ".join(with_interval(one.bleu, one.interval) for one in (ours, theirs))
            p = "–" if theirs.p_value is None else f"{theirs.p_value:.3f}"
            change = f"{ours.bleu - theirs.bleu:+.2f} {p}"
            bins.append(f"{ours.low}-{ours.high} {both} {change}")
        assert f"{start}{others}\ndifference, p {changes}\n" in "\n".join(lines)
        expected = [f"{start}this other difference, p", *bins]
        assert "\n".join(expected) in "\n".join(lines)
    assert "systems BLEU chrF2 TER" in lines
    whole = re.sub(r"\|\n *", "|", table)  # signatures are broken there
    assert all(score.signature in whole for score in scores.all.scores.values())
    assert scores.comparisons[0].differences["bleu"].signature in whole


def test_without_known_sentences_and_comparison(scores):
    less = scores._replace(no_unknown=None, comparisons=())
    assert "no unknown words" not in less.table() and "systems" not in less.table()
    values = less.as_dict()
    assert values["no_unknown"] is None and values["comparisons"] == []


def test_json_and_back(scores, tmp_path):
    path = tmp_path / "scores.json"
    path.write_text(json.dumps(scores.as_dict()), "utf-8")
    assert read_by_length(path) == (
        scores.by_length,
        {comparison.other: comparison.by_length for comparison in scores.comparisons},
    )
    values = json.loads(path.read_text("utf-8"))
    assert values["sentences"] == 13 and values["no_unknown"]["sentences"] == 3
    assert list(values) == [
        "sentences", "bleu", "chrf", "ter", "tokenized_bleu", "lowercased_bleu",
        "no_unknown", "unknown_replaced", "by_length", "comparisons",
        "calibration",
    ]  # fmt: skip
    assert values["bleu"]["score"] == scores.all["bleu"].score
    assert values["ter"]["interval"] == scores.all["ter"].interval
    assert values["no_unknown"]["ter"]["interval"] is None  # of three sentences
    assert SetScores.from_dict(values["no_unknown"]) == scores.no_unknown
    del values["comparisons"]  # as of older files
    path.write_text(json.dumps(values), "utf-8")
    assert read_by_length(path) == (scores.by_length, {})


def test_translations_without_a_fault_are_read_back(tmp_path):
    """sacreBLEU's best score is a little above 100."""
    lines = ["Il fait très froid ce matin."]
    bins = bleu_by_length(lines, lines, [7])
    assert bins[0].bleu > 100
    path = tmp_path / "scores.json"
    path.write_text(json.dumps({"by_length": [bin._asdict() for bin in bins]}), "utf-8")
    assert read_by_length(path) == (bins, {})


def test_other_files_are_refused(tmp_path):
    for content in ("", "[]", "{}", '{"by_length": [{"low": 1}]}', '{"by_length": [3]}', "\xff"):
        (tmp_path / "bad").write_text(content, "latin-1")
        with pytest.raises(
            InputError, match=r"bad: not (what rnnsearch-evaluate --json writes|JSON|UTF-8)"
        ):
            read_by_length(tmp_path / "bad")
    with pytest.raises(InputError, match="none: No such file"):
        read_by_length(tmp_path / "none")


def test_a_new_metric_is_one_entry_of_the_table(monkeypatch):
    new = Metric("chrF2++", lambda _: sacrebleu.CHRF(word_order=2), note="with words")
    monkeypatch.setitem(METRICS, "chrf_words", new)
    result = score_set(TRANSLATIONS, REFERENCES, FRENCH)
    expected = new.score(TRANSLATIONS, REFERENCES, intervals=True)
    assert result["chrf_words"] == expected and "nw:2" in expected.signature
    comparison = compare("other", TRANSLATIONS, REFERENCES, REFERENCES, LENGTHS)
    assert comparison.differences["chrf_words"].other == pytest.approx(100)
    scores = TranslationScores(
        result, None, bleu_by_length(TRANSLATIONS, REFERENCES, LENGTHS), comparisons=[comparison]
    )
    assert scores.as_dict()["chrf_words"] == expected._asdict()
    table = re.sub(r"\|\n *", "|", scores.table())
    assert f"chrF2++             {expected!s:>16}\n" in table
    assert f"chrF2++             {expected.signature} (with words)" in re.sub(r"\n +", " ", table)
    assert re.search(r"systems .* chrF2\+\+\nthis .*\nother .* 100.00 ± 0.00\n", table)


def test_names_of_systems_take_columns_not_letters():
    names = ["modele", "mode\u0300le", "翻訳"]  # of 6, 6 and 4 columns
    some = [compare(name, TRANSLATIONS, REFERENCES, REFERENCES, LENGTHS) for name in names]
    by_length = bleu_by_length(TRANSLATIONS, REFERENCES, LENGTHS)
    all_scores = score_set(TRANSLATIONS, REFERENCES, FRENCH)
    scores = TranslationScores(all_scores, None, by_length, comparisons=some)
    rows = [line for line in scores.table().splitlines() if "100.00 ± 0.00" in line]
    # In letters: one more with the mark, two fewer with wide ones.
    assert [row.index("100.00") for row in rows[:3]] == [23, 24, 21]
