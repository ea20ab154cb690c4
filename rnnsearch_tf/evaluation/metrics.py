"""How good translations are."""

import json
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import sacrebleu
import tensorflow as tf

from rnnsearch_tf.data.batching import ordered_batches
from rnnsearch_tf.data.sentence_pairs import Pairs, tokenize
from rnnsearch_tf.text.tokenizers import Tokenizer

LEAST_TO_RESAMPLE = 10  # sentences of a bin
SAMPLES = 1_000  # that a bootstrap draws, each of as many sentences as there are


class Score(NamedTuple):
    """What a metric says of a set of translations."""

    score: float
    signature: str  # sacreBLEU's: what was computed, and by which version
    interval: float | None = None  # half of the 95% confidence interval, where asked for; not of 0


class LengthBin(NamedTuple):
    """BLEU of the sentences whose source has `low` to `high` tokens."""

    low: int
    high: int
    sentences: int
    bleu: float  # 0 to 100
    interval: float | None = None  # half of the 95% confidence interval of `bleu`, where asked for
    p_value: float | None = None  # of its difference from another system's, where compared


class Nll(NamedTuple):
    """−log p(y|x), `</s>` counted."""

    per_token: float  # nats
    per_sentence: float  # nats


def metrics() -> dict[str, sacrebleu.metrics.base.Metric]:
    """SacreBLEU's BLEU, chrF2 and TER by name, as its command has them by default."""
    # `force`: no advice on standard error about text that looks tokenised.
    return {"bleu": sacrebleu.BLEU(force=True), "chrf": sacrebleu.CHRF(), "ter": sacrebleu.TER()}


def bleu(translations: Sequence[str], references: Sequence[str], intervals: bool = False) -> Score:
    """sacreBLEU: cased, detokenised text, its own 13a tokens; 0 to 100.

    Args:
        translations: detokenised text.
        references: likewise.
        intervals: compute the confidence interval, by sacreBLEU's bootstrap (1,000 samples).
    """
    return _score(metrics()["bleu"], translations, references, intervals)


def chrf(translations: Sequence[str], references: Sequence[str], intervals: bool = False) -> Score:
    """chrF2 (Popović 2015): F-score of character 1- to 6-grams, recall twice as heavy; 0 to 100.

    Args: as of `bleu`.
    """
    return _score(metrics()["chrf"], translations, references, intervals)


def ter(translations: Sequence[str], references: Sequence[str], intervals: bool = False) -> Score:
    """TER (Snover et al. 2006): edits for each 100 words of the reference; less is better.

    Args: as of `bleu`.
    """
    return _score(metrics()["ter"], translations, references, intervals)


def bleu_signature() -> str:
    """SacreBLEU's signature of what `bleu` computes."""
    return bleu(["a"], ["a"]).signature


def tokenized_bleu(
    translations: Sequence[str],
    references: Sequence[str],
    tokenizer: Tokenizer,
    intervals: bool = False,
) -> Score:
    """The paper's way: cased BLEU over Moses tokens."""
    metric = sacrebleu.BLEU(tokenize="none", force=True)
    lines = [_spaced(tokenize(text, tokenizer)) for text in (translations, references)]
    return _score(metric, lines[0], lines[1], intervals)


def _score(
    metric: sacrebleu.metrics.base.Metric,
    translations: Sequence[str],
    references: Sequence[str],
    intervals: bool,
) -> Score:
    samples = SAMPLES if intervals else 1
    found = metric.corpus_score(translations, [references], n_bootstrap=samples)
    signature = str(metric.get_signature())
    fields = json.loads(found.format(width=6, signature=signature, is_json=True))
    return Score(found.score, signature, fields.get("confidence_var"))


def length_bins(
    lengths: Sequence[int], width: int = 10, bounds: Sequence[int] | None = None
) -> dict[tuple[int, int], list[int]]:
    """Which sentences are in each bin of source lengths; empty bins are left out.

    Args:
        lengths: tokens of each source sentence, without `</s>`.
        width: tokens to a bin: 1–10, 11–20, …
        bounds: the longest length of each bin, rising, instead of bins of one width; sentences
            longer than the last are left out.

    Returns:
        (shortest, longest) to places of sentences, from 0; rising.
    """
    highs = bounds if bounds is not None else range(width, max([1, *lengths]) + width, width)
    bins = np.searchsorted(highs, lengths)  # the first bin that is not too short
    spans = [(highs[b - 1] + 1 if b else 1, highs[b]) for b in range(len(highs))]
    found = {span: np.flatnonzero(bins == b).tolist() for b, span in enumerate(spans)}
    return {span: chosen for span, chosen in found.items() if chosen}


def bleu_by_length(
    translations: Sequence[str],
    references: Sequence[str],
    lengths: Sequence[int],
    width: int = 10,
    bounds: Sequence[int] | None = None,
    intervals: bool = False,
) -> list[LengthBin]:
    """BLEU of each bin of source lengths (Fig. 2); empty bins are left out.

    Args:
        translations: detokenised text.
        references: likewise.
        lengths: tokens of each source sentence, without `</s>`.
        width: as of `length_bins`.
        bounds: as of `length_bins`.
        intervals: compute the confidence interval of each bin of 10 sentences or more; resampling
            fewer says little.
    """
    found = []
    for span, chosen in length_bins(lengths, width, bounds).items():
        ours, right = ([side[i] for i in chosen] for side in (translations, references))
        score = bleu(ours, right, intervals and len(chosen) >= LEAST_TO_RESAMPLE)
        found.append(LengthBin(*span, len(chosen), score.score, score.interval))
    return found


def nll(token_losses: Callable[..., tf.Tensor], pairs: Pairs, batch_size: int = 80) -> Nll:
    """−log p of given pairs by teacher forcing, without dropout.

    Args:
        token_losses: a model's method of this name, as it is or as a `tf.function`.
        pairs: ids.
        batch_size: pairs at a time.
    """
    total, words = 0.0, 0
    for batch in ordered_batches(pairs, batch_size):
        losses = token_losses(batch["source"], batch["target"])
        total += float(tf.reduce_sum(losses))
        words += int(tf.size(losses))
    return Nll(total / words, total / len(pairs))


def _spaced(tokens: tf.RaggedTensor) -> list[str]:
    joined = tf.strings.reduce_join(tokens, axis=1, separator=" ")
    return [line.decode() for line in joined.numpy()]
