"""The table of metrics, each computed by hand."""

import math
import re
import unicodedata
from types import SimpleNamespace
from typing import Any

import pytest
import sacrebleu

from rnnsearch_tf.errors import InputError
from rnnsearch_tf.evaluation.metrics import (
    METRICS,
    Score,
    bleu,
    language_tokens,
)
from rnnsearch_tf.evaluation.scores import in_words
from rnnsearch_tf.evaluation.significance import compare
from rnnsearch_tf.text.moses import MosesTokenizer

LINES = ["Le chat dort sur le lit.", "Il fait beau à Paris aujourd'hui.", "Une dame lit un livre."]
OTHER = ["un deux trois quatre cinq", "six sept huit neuf dix", "bleu blanc rouge vert noir"]
FRENCH = MosesTokenizer("fr")
chrf, ter = METRICS["chrf"].score, METRICS["ter"].score


def tokenized_bleu(translations: list[str], references: list[str], intervals=False) -> Score:
    ours, right = (in_words(lines, FRENCH) for lines in (translations, references))
    return METRICS["tokenized_bleu"].score(ours, right, intervals)


def test_equal_text_has_bleu_100_and_a_signature():
    score, signature, interval = bleu(LINES, LINES)
    assert interval is None
    assert score == pytest.approx(100)
    assert f"version:{sacrebleu.__version__}" in signature
    assert "tok:13a" in signature and "case:mixed" in signature


def test_what_is_no_text_and_no_sentence_are_told():
    results: Any = [SimpleNamespace(text="a")]
    with pytest.raises(TypeError, match="expected a str, such as the text of a result, not Simple"):
        bleu(results, ["a"])
    with pytest.raises(InputError, match="no sentence"):
        bleu([], [])


@pytest.mark.parametrize("metric", METRICS)
def test_marks_and_invisible_characters_may_be_encoded_in_any_way(metric):
    ways = ["Le\u0301te\u0301 dure\u200e.", "bu\u0301re\u0301\u0323di\u0300", "\u0958\u200b"]
    score = METRICS[metric].score
    other = [re.sub("[\u200b\u200e]", "", unicodedata.normalize("NFC", line)) for line in ways]
    assert other != ways
    assert score(ways, other).score == score(other, [(line, line) for line in ways]).score
    assert score(ways, other).score == pytest.approx(METRICS[metric].score(other, other).score)


@pytest.mark.parametrize("metric", METRICS)
def test_a_line_that_is_missing_is_told(metric):
    with pytest.raises(InputError, match="3 references, 2 translations"):
        METRICS[metric].score(LINES[:2], LINES)
    with pytest.raises(InputError, match="2 references, 3 translations"):
        METRICS[metric].sentence_scores(LINES, LINES[:2])


def test_references_as_sacrebleu_takes_them_are_told():
    references: Any = [LINES]
    with pytest.raises(TypeError, match="or a tuple of several, not a list"):
        bleu(LINES, references)
    with pytest.raises(TypeError, match="references: expected a list of str, not a str"):
        bleu(LINES[:1], LINES[0])
    uneven: list[Any] = [[("a", "b"), "c"], [(), ()]]
    for references in uneven:
        with pytest.raises(InputError, match="as many references as the others, one or more"):
            bleu(["a", "c"], references)


def test_bleu_by_hand():
    # 4 of 5 words, 3 of 4 pairs, 2 of 3 triples and 1 of 2 quadruples are right.
    expected = 100 * (4 / 5 * 3 / 4 * 2 / 3 * 1 / 2) ** (1 / 4)
    assert bleu(["a b c d x"], ["a b c d e"]).score == pytest.approx(expected)
    # All right but one word short: the brevity penalty alone.
    assert bleu(["a b c d"], ["a b c d e"]).score == pytest.approx(100 * math.exp(1 - 5 / 4))


@pytest.mark.parametrize(
    "tokens, lines",
    [
        ("13a", LINES),
        ("13a", ["Εν αρχή ην ο λόγος.", "그는 학교에 간다.", "", "你 (nǐ) is you"]),
        ("zh", ["他们正在讨论这个问题。", "我喜欢喝 tea 和 water。"]),
        ("char", ["彼らはその問題を議論している。", "私はお茶が好きです。"]),
        ("char", ["เขากำลังอ่านหนังสือ", "ฉันชอบดื่มชา"]),
    ],
)
def test_characters_are_the_tokens_of_scripts_without_blanks(tokens, lines):
    assert language_tokens(lines) == language_tokens([(line, lines[0]) for line in lines]) == tokens
    assert f"|tok:{tokens}|" in bleu(lines, lines).signature
    # Half of each line is right: as one word it would have no n-gram in common.
    changed = [line[: len(line) // 2] + "x" * (len(line) - len(line) // 2) for line in lines]
    if tokens != "13a":
        assert 10 < bleu(changed, lines).score < 90
        assert METRICS["bleu"].sentence_scores(changed, lines)[0] > 10
        assert compare("x", changed, lines, lines, [1] * len(lines)).by_length[0].bleu > 99


def test_ter_edits_the_characters_of_chinese():
    assert ter(["他们正在"], ["他们现在"]).score == pytest.approx(25)
    # Without the line's other characters, one of eight is another.
    assert ter(["ฉันรักคน"], ["ฉันรักคุ"]).score == pytest.approx(12.5)


def test_bleu_is_cased():
    assert bleu([line.lower() for line in LINES], LINES).score < 90


def test_chrf_by_hand():
    # Without spaces "abcx" and "abcd". Right: 3 of 4 characters, 2 of 3 pairs, 1 of 2 triples, and
    # none of 1 quadruple, on both sides: where precision and recall are equal, so is the F-score.
    score, signature, _ = chrf(["ab cx"], ["abc d"])
    assert score == pytest.approx(100 * (3 / 4 + 2 / 3 + 1 / 2 + 0) / 4)
    assert "nc:6|nw:0" in signature and "version:" in signature


def test_ter_by_hand():
    # A substitution and a word too many, of 5 words; then a block moved at once, which is one edit.
    score, signature, _ = ter(["a b x d e f"], ["a b c d e"])
    assert score == pytest.approx(100 * 2 / 5)
    assert "tok:tercom" in signature
    assert ter(["d e a b c"], ["a b c d e"]).score == pytest.approx(100 * 1 / 5)


def test_intervals_are_of_every_metric_and_in_the_signature():
    lines, right = [LINES[0], *OTHER[1:]] * 4, LINES * 4
    for metric in (bleu, chrf, ter):
        plain, sampled = metric(lines, right), metric(lines, right, intervals=True)
        assert sampled.score == plain.score
        assert plain.interval is None and (sampled.interval or 0) > 1
        assert "bs:1000" in sampled.signature and "bs:" not in plain.signature
    assert (tokenized_bleu(lines, right, intervals=True).interval or 0) > 1
    assert bleu(right, right, intervals=True).interval == pytest.approx(0, abs=1e-4)
    assert bleu(["x"] * 10, ["a b c d e"] * 10, intervals=True).interval is None  # of 0


@pytest.mark.parametrize(
    ("translations", "references"),
    [
        ([""], [""]),
        (["Un chat."], ["Un chat dort."]),
        (["Un chat.", "", "Le chien dort."], ["Un chat dort.", "", "Le chien dort ici."]),
        ([""] * 20, ["Un chat dort."] * 20),
        (["x"] * 19 + ["Un chat dort ici."], [""] * 18 + ["Un chat dort ici."] * 2),
    ],
)
def test_text_of_few_lines_blanks_and_next_to_no_score_is_scored(translations, references):
    for metric in METRICS.values():
        plain = metric.score(translations, references)
        sampled = metric.score(translations, references, intervals=True)
        assert sampled.score == plain.score
        assert type(sampled.score) is float
        if len(references) < 10:
            assert sampled == plain and plain.interval is None
    compare("other", translations, references, references, [3] * len(references))


def test_tokenized_bleu_counts_moses_tokens():
    # 13a leaves guillemets on their words, Moses parts them.
    translations, references = ["«Je dors» dit le chat noir"], ["« Je dors » dit le chat noir"]
    score, signature, _ = tokenized_bleu(translations, references)
    assert score == pytest.approx(100)
    assert "tok:none" in signature and "version:" in signature
    assert bleu(translations, references).score < 90


def test_lowercased_bleu_is_that_of_tokens_without_capitals():
    translations, references = ["le chat NOIR dort sur l' herbe ."], ["Le chat noir dort ici ."]
    lower = [line.lower() for line in translations], [line.lower() for line in references]
    score, signature, _ = METRICS["lowercased_bleu"].score(translations, references)
    assert score == pytest.approx(METRICS["tokenized_bleu"].score(*lower).score)
    assert score > METRICS["tokenized_bleu"].score(translations, references).score
    assert "case:lc" in signature and "tok:none" in signature


def test_words_have_blanks_between_them():
    lines = ["«Je dors», dit-il.", "", "l'arbre"]
    assert in_words(lines, FRENCH) == ["« Je dors » , dit-il .", "", "l' arbre"]


def test_scores_and_signatures_are_written_with_interval_and_note():
    assert str(Score(26.754, "s")) == "26.75"
    assert str(Score(26.754, "s", 0.0)) == "26.75 ± 0.00"
    assert METRICS["ter"].with_note("TER") == "TER (lower is better)"
    assert METRICS["bleu"].with_note("BLEU") == "BLEU"


def test_sentences_are_scored_one_by_one():
    assert METRICS["chrf"].sentence_scores(["a b", "x"], ["a b", "y"]) == pytest.approx([100, 0])
    assert METRICS["chrf"].sentence_scores(["ab cx"], ["abc d"]) == [
        chrf(["ab cx"], ["abc d"]).score
    ]
    # BLEU's effective order: of two words, pairs are the longest n-grams.
    assert METRICS["bleu"].sentence_scores(["a b"], ["a b"]) == pytest.approx([100])


def test_several_references_are_sacrebleus():
    ours = LINES[::-1]
    sets = [LINES, [line.upper() for line in ours]]
    both = list(zip(*sets, strict=True))
    for name, metric in METRICS.items():
        expected = metric.make("13a").corpus_score(ours, sets).score
        score = metric.score(ours, both)
        assert score.score == pytest.approx(expected)
        assert "nrefs:2" in score.signature
        only = [(line,) for line in LINES]
        assert metric.score(ours, only) == metric.score(ours, LINES), name
    right = LINES[:1] + ["x"] * (len(LINES) - 1)
    assert bleu(LINES, list(zip(right, LINES, strict=True))).score == pytest.approx(100)
