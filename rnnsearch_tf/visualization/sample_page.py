"""The worst and the best translations of a test set, as an interactive page."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import sacrebleu

from rnnsearch_tf.evaluation.metrics import metrics
from rnnsearch_tf.results import Alignment
from rnnsearch_tf.visualization.alignment_page import (
    AlignedSentence,
    LabelledText,
    write_alignment_page,
)

Align = Callable[[list[str], list[str]], list[Alignment]]


class SampleText(NamedTuple):
    """A test set and its translations, line by line.

    Attributes:
        sources: sentences.
        references: their translations.
        translations: the model's.
        languages: of source and target, "en" and "fr".
    """

    sources: Sequence[str]
    references: Sequence[str]
    translations: Sequence[str]
    languages: tuple[str, str]


def sentence_chrf(translations: Sequence[str], references: Sequence[str]) -> list[float]:
    """chrF2 of each sentence, 0 to 100: of short sentences it says more than BLEU does."""
    metric = metrics()["chrf"]
    pairs = zip(translations, references, strict=True)
    return [metric.sentence_score(ours, [theirs]).score for ours, theirs in pairs]


def extremes(scores: Sequence[float], count: int) -> tuple[list[int], list[int]]:
    """The places of the `count` lowest scores, lowest first, and of the highest, highest first.

    No place is in both; of equal scores, the first in the text come first.
    """
    order = sorted(range(len(scores)), key=lambda i: scores[i])
    worst, rest = order[:count], order[count:]
    return worst, sorted(rest, key=lambda i: -scores[i])[:count]


def write_sample(path: str | Path, text: SampleText, align: Align, count: int) -> None:
    """Write the page: source, reference, translation, scores and soft alignment of each sentence.

    Args:
        path: an HTML file.
        text: the test set and its translations.
        align: sources and their translations to soft alignments, by forced decoding.
        count: how many sentences of the lowest, and how many of the highest chrF2.
    """
    scores = sentence_chrf(text.translations, text.references)
    worst, best = extremes(scores, count)
    places = [*worst, *best]
    pairs = align([text.sources[i] for i in places], [text.translations[i] for i in places])
    labels = [*_ranks("Worst", worst), *_ranks("Best", best)]
    sentences = [
        AlignedSentence(
            pair, f"{label}: sentence {i + 1:,}, chrF2 {scores[i]:.2f}", _texts(text, i)
        )
        for label, i, pair in zip(labels, places, pairs, strict=True)
    ]
    introduction = (
        f"The {len(worst):,} sentences of the lowest chrF2 and the {len(best):,} of the highest, "
        f"of {len(scores):,}. All scores are each sentence's own, by sacreBLEU (BLEU: effective "
        "order)."
    )
    write_alignment_page(path, sentences, "Worst and best translations", introduction,
                         *text.languages)  # fmt: skip


def _ranks(label: str, places: Sequence[int]) -> list[str]:
    return [f"{label} {rank}" for rank in range(1, len(places) + 1)]


def _texts(text: SampleText, place: int) -> list[LabelledText]:
    source, target = text.languages
    reference, translation = text.references[place], text.translations[place]
    return [
        LabelledText("Source", text.sources[place], source),
        LabelledText("Reference", reference, target),
        LabelledText("Translation", translation, target),
        LabelledText("Scores", _sentence_scores(translation, reference), "en"),
    ]


def _sentence_scores(translation: str, reference: str) -> str:
    # Without a 4-gram in common BLEU would be of no order at all.
    chosen = sacrebleu.BLEU(effective_order=True), metrics()["ter"]
    found = [metric.sentence_score(translation, [reference]) for metric in chosen]
    return " · ".join(f"{score.name} {score.score:.2f}" for score in found)
