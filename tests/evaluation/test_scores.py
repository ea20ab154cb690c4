"""The scores of a test set: which sentences they are of, the table, JSON and back."""

import json

import pytest

from rnnsearch_tf.errors import InputError
from rnnsearch_tf.evaluation.metrics import bleu, chrf, ter, tokenized_bleu
from rnnsearch_tf.evaluation.scores import TranslationScores, read_by_length, score_translations
from rnnsearch_tf.evaluation.significance import compare
from rnnsearch_tf.text.moses import MosesTokenizer

FRENCH = MosesTokenizer("fr")
REFERENCES = [f"Le chat n° {i} dort sur l'herbe verte." for i in range(13)]
TRANSLATIONS = [*REFERENCES[:5], *(f"Un chien {i} est sur l'herbe." for i in range(5, 13))]
LENGTHS = [5] * 11 + [15] * 2


@pytest.fixture(scope="module")
def scores() -> TranslationScores:
    found = score_translations(TRANSLATIONS, REFERENCES, LENGTHS, [3, 4, 5], FRENCH)
    return found._replace(
        comparison=compare("old.fr", TRANSLATIONS, TRANSLATIONS[::-1], REFERENCES, LENGTHS)
    )


def test_scores_are_of_all_and_of_those_without_unknown_words(scores):
    for found, places in ((scores.all, range(13)), (scores.no_unknown, (3, 4, 5))):
        ours, right = [TRANSLATIONS[i] for i in places], [REFERENCES[i] for i in places]
        assert found.sentences == len(places)
        for metric in (bleu, chrf, ter):
            expected = metric(ours, right, intervals=True)
            assert getattr(found, metric.__name__) == expected
        assert found.tokenized_bleu == tokenized_bleu(ours, right, FRENCH, intervals=True)
    assert [b[:3] for b in scores.by_length] == [(1, 10, 11), (11, 20, 2)]


def test_the_table_has_every_score(scores):
    table = scores.table()
    lines = [" ".join(line.split()) for line in table.splitlines()]
    for title, found in (("all 13", scores.all), ("no unknown words 3", scores.no_unknown)):
        row = [f"{score.score:.2f} ± {score.interval:.2f}" for score in found[1:]]
        assert " ".join([title, *row]) in lines
    first, second = scores.by_length
    assert f"1-10 11 {first.bleu:.2f} ± {first.interval:.2f}" in lines
    assert f"11-20 2 {second.bleu:.2f}" in lines
    for ours, theirs in zip(scores.by_length, scores.comparison.by_length, strict=True):
        p = "–" if theirs.p_value is None else f"{theirs.p_value:.3f}"
        both = f"{ours.bleu:.2f} {theirs.bleu:.2f} {ours.bleu - theirs.bleu:+.2f} {p}"
        assert f"{ours.low}-{ours.high} {both}" in lines
    difference = scores.comparison.ter
    both = f"{difference.score:.2f} {difference.other:.2f}"
    change = f"{difference.score - difference.other:+.2f} {difference.p_value:.3f}"
    assert f"TER {both} {change}" in lines
    assert all(score.signature in table for score in scores.all[1:])
    assert "other: old.fr" in table and scores.comparison.bleu.signature in table


def test_without_known_sentences_and_comparison():
    found = score_translations(TRANSLATIONS, REFERENCES, LENGTHS, [], FRENCH)
    assert "no unknown words" not in found.table() and "other" not in found.table()
    values = found.as_dict()
    assert values["no_unknown"] is None and values["comparison"] is None


def test_json_and_back(scores, tmp_path):
    path = tmp_path / "scores.json"
    path.write_text(json.dumps(scores.as_dict()), "utf-8")
    assert read_by_length(path) == (scores.by_length, {"old.fr": scores.comparison.by_length})
    values = json.loads(path.read_text("utf-8"))
    assert values["sentences"] == 13 and values["no_unknown"]["sentences"] == 3
    assert values["bleu"]["score"] == scores.all.bleu.score
    assert values["no_unknown"]["ter"]["interval"] == scores.no_unknown.ter.interval
    del values["comparison"]  # as of older files
    path.write_text(json.dumps(values), "utf-8")
    assert read_by_length(path) == (scores.by_length, {})


def test_other_files_are_refused(tmp_path):
    for content in ("", "[]", "{}", '{"by_length": [{"low": 1}]}', '{"by_length": [3]}', "\xff"):
        (tmp_path / "bad").write_text(content, "latin-1")
        with pytest.raises(InputError, match="bad: not what rnnsearch-evaluate --json writes"):
            read_by_length(tmp_path / "bad")
    with pytest.raises(InputError, match="none: No such file"):
        read_by_length(tmp_path / "none")
