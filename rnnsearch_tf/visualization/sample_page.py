"""Page of the worst and the best translations of a test set."""

import difflib
import re
import unicodedata
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from rnnsearch_tf.evaluation.metrics import METRICS, language_tokens, text_metrics
from rnnsearch_tf.results import Alignment
from rnnsearch_tf.text.unspaced import UNSPACED
from rnnsearch_tf.visualization import alignment_page
from rnnsearch_tf.visualization.alignment_page import AlignedSentence, LabeledText

Align = Callable[[list[str], list[str]], list[Alignment]]
Score = Callable[[list[str], list[str]], list[float]]


class SampleText(NamedTuple):
    """Test set and its translations, line by line."""

    sources: Sequence[str]
    references: Sequence[str]
    translations: Sequence[str]
    languages: tuple[str, str]  # of source and target, "en" and "fr"


_RANKED_BY = "chrf"  # on a short sentence, more telling than BLEU
# Vowel signs and accents, which \w lacks, belong to their word or, in scripts without spaces, to
# their letter: alone, they are too narrow for a mark to be seen.
_MARKS = "".join(c for c in map(chr, range(0x300, 0x3100)) if unicodedata.category(c)[0] == "M")
_WORD = re.compile(rf"{UNSPACED}[{_MARKS}]*|(?:(?!{UNSPACED})[\w{_MARKS}])+|[^\w\s]")


def extremes(scores: Sequence[float], count: int) -> tuple[list[int], list[int]]:
    """Select the rows of the `count` lowest scores, lowest first, and of the highest.

    Of equal scores, the first in the text come first.
    """
    order = sorted(range(len(scores)), key=lambda i: scores[i])
    worst, rest = order[:count], order[count:]
    return worst, sorted(rest, key=lambda i: -scores[i])[:count]


def write_sample(
    path: str | Path, text: SampleText, align: Align, score: Score, count: int
) -> None:
    """Write a page with source, reference, translation, scores and alignment of each sentence.

    It lists the sentences, to be sorted by length and scores, and marks the words in which
    translation and reference differ. `align` and `score` take sources and their translations;
    `count` is the number of sentences with the lowest, and of those with the highest chrF2.
    """
    metric, tokens = METRICS[_RANKED_BY], language_tokens(text.references)
    scores = metric.sentence_scores(text.translations, text.references, tokens)
    worst, best = extremes(scores, count)
    rows = [*worst, *best]
    given = [text.sources[i] for i in rows], [text.translations[i] for i in rows]
    labels = [*_ranks("Worst", worst), *_ranks("Best", best)]
    sentences = [
        AlignedSentence(
            pair,
            f"{label}: sentence {i + 1:,}, {metric.title} {scores[i]:.2f}",
            _texts(text, i),
            {
                "source words": len(pair.source_tokens) - 1,
                "log p": log_p,
                **_scores(text, i, tokens),
            },
        )
        for label, i, pair, log_p in zip(labels, rows, align(*given), score(*given), strict=True)
    ]
    introduction = (
        f"The {len(worst):,} sentences of the lowest {metric.title} and the {len(best):,} of the "
        f"highest, of {len(scores):,}. All scores are sentence-level, by sacreBLEU (BLEU: "
        "effective order). A marked word in the translation does not occur in the reference, or "
        "not in the same order, and vice versa."
    )
    title = "Worst and best translations"
    page = alignment_page.alignment_page(sentences, title, introduction, *text.languages)
    alignment_page.write_page(path, page)


def _ranks(label: str, rows: Sequence[int]) -> list[str]:
    return [f"{label} {rank}" for rank in range(1, len(rows) + 1)]


def _texts(text: SampleText, row: int) -> list[LabeledText]:
    source, target = text.languages
    reference, translation = text.references[row], text.translations[row]
    return [
        LabeledText("Source", text.sources[row], source),
        LabeledText("Reference", reference, target, differences(reference, translation)),
        LabeledText("Translation", translation, target, differences(translation, reference)),
    ]


def differences(text: str, other: str) -> list[tuple[int, int]]:
    """Find the words of a text that are not in another one, in order: their starts and ends."""
    words = list(_WORD.finditer(text))
    ours = [unicodedata.normalize("NFC", word[0]) for word in words]
    theirs = _WORD.findall(unicodedata.normalize("NFC", other))
    matcher = difflib.SequenceMatcher(None, ours, theirs, autojunk=False)
    changes = (words[start:end] for tag, start, end, *_ in matcher.get_opcodes() if tag != "equal")
    return [word.span() for changed in changes for word in changed]


def _scores(text: SampleText, row: int, tokens: str) -> dict[str, float]:
    """Return the sentence's scores by each of `text_metrics`, by title; `tokens` as in `score`."""
    pair = [text.translations[row]], [text.references[row]]
    metrics = text_metrics().values()
    return {metric.title: metric.sentence_scores(*pair, tokens)[0] for metric in metrics}
