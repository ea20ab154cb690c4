"""How good translations and alignments are."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import sacrebleu
import tensorflow as tf

from rnnsearch_tf.dataset import Pairs, ordered_batches, tokenize
from rnnsearch_tf.models import TranslationModel
from rnnsearch_tf.text import MosesTokenizer


class Bleu(NamedTuple):
    """A corpus BLEU score."""

    score: float  # 0 to 100
    signature: str  # sacreBLEU's: what was computed, and by which version


class LengthBin(NamedTuple):
    """BLEU of the sentences whose source has `low` to `high` tokens."""

    low: int
    high: int
    sentences: int
    bleu: float  # 0 to 100


class Nll(NamedTuple):
    """−log p(y|x), `</s>` counted."""

    per_token: float  # nats
    per_sentence: float  # nats


def bleu(translations: Sequence[str], references: Sequence[str]) -> Bleu:
    """sacreBLEU: cased, detokenised text, its own 13a tokens."""
    metric = sacrebleu.BLEU()
    score = metric.corpus_score(translations, [references]).score
    return Bleu(score, str(metric.get_signature()))


def tokenized_bleu(
    translations: Sequence[str], references: Sequence[str], tokenizer: MosesTokenizer
) -> Bleu:
    """The paper's way: cased BLEU over Moses tokens."""
    metric = sacrebleu.BLEU(tokenize="none", force=True)
    lines = [_spaced(tokenize(text, tokenizer)) for text in (translations, references)]
    score = metric.corpus_score(lines[0], [lines[1]]).score
    return Bleu(score, str(metric.get_signature()))


def bleu_by_length(
    translations: Sequence[str],
    references: Sequence[str],
    lengths: Sequence[int],
    width: int = 10,
) -> list[LengthBin]:
    """BLEU of each bin of source lengths (Fig. 2); empty bins are left out.

    Args:
        translations: detokenised text.
        references: likewise.
        lengths: Moses tokens of each source sentence, without `</s>`.
        width: tokens to a bin: 1–10, 11–20, …
    """
    bins = (np.maximum(np.asarray(lengths), 1) - 1) // width
    found = []
    for b in np.unique(bins):
        chosen = np.flatnonzero(bins == b)
        score = bleu([translations[i] for i in chosen], [references[i] for i in chosen]).score
        found.append(LengthBin(int(b) * width + 1, int(b + 1) * width, len(chosen), score))
    return found


def nll(model: TranslationModel, pairs: Pairs, batch_size: int = 80) -> Nll:
    """−log p of given pairs by teacher forcing, without dropout."""
    word_losses = tf.function(
        model.word_losses, input_signature=[tf.TensorSpec([None, None], tf.int32)] * 2
    )
    total, words = 0.0, 0
    for source, target in ordered_batches(pairs, batch_size):
        losses = word_losses(source, target)
        total += float(tf.reduce_sum(losses))
        words += int(tf.size(losses))
    return Nll(total / words, total / len(pairs))


Links = Iterable[tuple[int, int]]


def hard_links(alignment: np.ndarray) -> set[tuple[int, int]]:
    """Soft alignment to links: each target word to the source word it looks at most.

    Args:
        alignment: α of one sentence, [Ty, Tx], with the row and column of `</s>`; the row of
            `</s>` is left out, and so are words that look at it most.

    Returns:
        (source, target) places, 0-based.
    """
    end = alignment.shape[1] - 1
    best = alignment[:-1].argmax(axis=1)
    return {(int(j), i) for i, j in enumerate(best) if j != end}


def alignment_error_rate(
    found: Iterable[Links], sure: Iterable[Links], possible: Iterable[Links] | None = None
) -> float:
    """AER = 1 − (|A ∩ S| + |A ∩ P|) / (|A| + |S|) over a corpus (Och & Ney 2003).

    Args:
        found: A, the links of each sentence.
        sure: S, the gold links.
        possible: P, which count as S too; absent, S alone.
    """
    sure = [set(links) for links in sure]
    possible = sure if possible is None else [set(p) | s for p, s in zip(possible, sure, strict=True)]
    agreed = total = 0
    for a, s, p in zip(map(set, found), sure, possible, strict=True):
        agreed += len(a & s) + len(a & p)
        total += len(a) + len(s)
    return 1 - agreed / total


def _spaced(tokens: tf.RaggedTensor) -> list[str]:
    joined = tf.strings.reduce_join(tokens, axis=1, separator=" ")
    return [line.decode() for line in joined.numpy()]
