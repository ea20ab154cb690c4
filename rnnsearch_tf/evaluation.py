"""How good translations are."""

import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import sacrebleu
import tensorflow as tf

from rnnsearch_tf.dataset import ordered_batches
from rnnsearch_tf.pairs import Pairs, tokenize
from rnnsearch_tf.tokenizers import Tokenizer


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


class Scores(NamedTuple):
    """All that is said of a set of translations."""

    sentences: int
    bleu: Bleu
    tokenized_bleu: Bleu
    by_length: list[LengthBin]

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "sentences": self.sentences,
            "bleu": self.bleu._asdict(),
            "tokenized_bleu": self.tokenized_bleu._asdict(),
            "by_length": [length_bin._asdict() for length_bin in self.by_length],
        }

    def table(self) -> str:
        """For people."""
        lines = [
            f"BLEU            {self.bleu.score:6.2f}   {self.bleu.signature}",
            f"BLEU, tokenised {self.tokenized_bleu.score:6.2f}   {self.tokenized_bleu.signature}"
            " (Moses tokens, cased)",
            "",
            "source tokens  sentences    BLEU",
        ]
        for b in self.by_length:
            lines.append(f"{f'{b.low}-{b.high}':>13}  {b.sentences:9,}  {b.bleu:6.2f}")
        return "\n".join([*lines, f"{'all':>13}  {self.sentences:9,}  {self.bleu.score:6.2f}", ""])


class Nll(NamedTuple):
    """−log p(y|x), `</s>` counted."""

    per_token: float  # nats
    per_sentence: float  # nats


def bleu(translations: Sequence[str], references: Sequence[str]) -> Bleu:
    """sacreBLEU: cased, detokenised text, its own 13a tokens."""
    metric = sacrebleu.BLEU(force=True)  # no advice on standard error
    score = metric.corpus_score(translations, [references]).score
    return Bleu(score, str(metric.get_signature()))


def bleu_signature() -> str:
    """SacreBLEU's signature of what `bleu` computes."""
    return bleu(["a"], ["a"]).signature


def bleu_interval(
    translations: Sequence[str], references: Sequence[str], samples: int = 1_000
) -> float | None:
    """Half the width of the 95% confidence interval of `bleu`, by sacreBLEU's bootstrap.

    Args:
        translations: detokenised text.
        references: likewise.
        samples: how many sets of as many sentences are drawn.

    Returns:
        BLEU points, or None where no word is right.
    """
    metric = sacrebleu.BLEU(force=True)
    score = metric.corpus_score(translations, [references], n_bootstrap=samples)
    fields = json.loads(score.format(width=6, signature=str(metric.get_signature()), is_json=True))
    return fields.get("confidence_var")


def tokenized_bleu(
    translations: Sequence[str], references: Sequence[str], tokenizer: Tokenizer
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
    bounds: Sequence[int] | None = None,
) -> list[LengthBin]:
    """BLEU of each bin of source lengths (Fig. 2); empty bins are left out.

    Args:
        translations: detokenised text.
        references: likewise.
        lengths: Moses tokens of each source sentence, without `</s>`.
        width: tokens to a bin: 1–10, 11–20, …
        bounds: the longest length of each bin, rising, instead of bins of one width; sentences
            longer than the last are left out.
    """
    highs = bounds if bounds is not None else range(width, max([1, *lengths]) + width, width)
    bins = np.searchsorted(highs, lengths)  # the first bin that is not too short
    found = []
    for b in range(len(highs)):
        chosen = np.flatnonzero(bins == b).tolist()
        if chosen:
            low = highs[b - 1] + 1 if b else 1
            score = bleu([translations[i] for i in chosen], [references[i] for i in chosen]).score
            found.append(LengthBin(low, highs[b], len(chosen), score))
    return found


def evaluate_translations(
    translations: Sequence[str],
    references: Sequence[str],
    lengths: Sequence[int],
    tokenizer: Tokenizer,
) -> Scores:
    """Score translations against references.

    Args:
        translations: detokenised text.
        references: likewise.
        lengths: Moses tokens of each source sentence, without `</s>`.
        tokenizer: of the target language.
    """
    return Scores(
        len(references),
        bleu(translations, references),
        tokenized_bleu(translations, references, tokenizer),
        bleu_by_length(translations, references, lengths),
    )


def nll(word_losses: Callable[..., tf.Tensor], pairs: Pairs, batch_size: int = 80) -> Nll:
    """−log p of given pairs by teacher forcing, without dropout.

    Args:
        word_losses: a model's method of this name, as it is or as a `tf.function`.
        pairs: ids.
        batch_size: pairs at a time.
    """
    total, words = 0.0, 0
    for source, target in ordered_batches(pairs, batch_size):
        losses = word_losses(source, target)
        total += float(tf.reduce_sum(losses))
        words += int(tf.size(losses))
    return Nll(total / words, total / len(pairs))


def _spaced(tokens: tf.RaggedTensor) -> list[str]:
    joined = tf.strings.reduce_join(tokens, axis=1, separator=" ")
    return [line.decode() for line in joined.numpy()]
