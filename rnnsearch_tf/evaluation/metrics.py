"""Metrics of translations, in one table.

A new metric is one more entry of `METRICS`: scores, confidence intervals, p-values, JSON, tables,
the report and the page of samples go over that table.
"""

import dataclasses
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import sacrebleu
from sacrebleu.metrics.ter import TERSignature

from rnnsearch_tf.errors import InputError
from rnnsearch_tf.text.composed_form import composed
from rnnsearch_tf.text.unspaced import HAN, SOUTHEAST_ASIAN, UNSPACED

SAMPLES = 1_000  # that a bootstrap draws, each of as many sentences as there are
MIN_TO_RESAMPLE = 10  # sentences; a bootstrap of fewer says little
_SPACED = "13a"  # sacreBLEU's tokens by default, of languages with spaces between words

# The reference translation of a sentence, or several of it.
Reference = str | tuple[str, ...]


class Score(NamedTuple):
    """Score of a set of translations by one metric."""

    score: float
    signature: str  # sacreBLEU's: what was computed, and by which version
    interval: float | None = None  # half of the 95% confidence interval, if there is one

    def __str__(self) -> str:
        """Return the score as tables show it: "26.75 ± 0.81"."""
        return with_interval(self.score, self.interval)


@dataclasses.dataclass(frozen=True)
class Metric:
    """Corpus metric, computed by sacreBLEU."""

    title: str  # in tables
    # Makes sacreBLEU's, or a subclass, from what `language_tokens` returns.
    make: Callable[[str], sacrebleu.metrics.base.Metric]
    # The same with the settings for single sentences, where these differ.
    make_for_sentence: Callable[[str], sacrebleu.metrics.base.Metric] | None = None
    note: str = ""  # in tables, such as "lower is better"
    on_words: bool = False  # whether it reads words (`scores.in_words`), not detokenized text

    def with_note(self, text: str) -> str:
        """Return a text, a title or a signature, with the note behind it."""
        return f"{text} ({self.note})" if self.note else text

    def new(self, tokens: str) -> sacrebleu.metrics.base.Metric:
        """Return a new metric object, of `language_tokens`, whose scores are Python's numbers.

        sacreBLEU's (2.6.0) are NumPy's except for 0, and its bootstrap fails on a mixture.
        """
        metric = self.make(tokens)
        compute = metric._compute_score_from_stats

        def compute_plain(statistics: Any) -> Any:
            result = compute(statistics)
            result.score = float(result.score)
            return result

        metric._compute_score_from_stats = compute_plain
        return metric

    def score(
        self,
        translations: Sequence[str],
        references: Sequence[Reference],
        intervals: bool = False,
        tokens: str = "",  # of the test set, where these are a part of it (see `language_tokens`)
    ) -> Score:
        """Score a set of translations.

        The confidence interval is by sacreBLEU's bootstrap (1,000 samples). There is none of fewer
        than 10 sentences, nor of a BLEU of 0. Errors as in `sides`.
        """
        references, translations = sides(references=references, translations=translations)
        metric = self.new(tokens or language_tokens(references))
        samples = SAMPLES if intervals and len(references) >= MIN_TO_RESAMPLE else 1
        result = metric.corpus_score(translations, reference_sets(references), n_bootstrap=samples)
        signature = str(metric.get_signature())
        fields = json.loads(result.format(width=6, signature=signature, is_json=True))
        return Score(result.score, signature, fields.get("confidence_var"))

    def sentence_scores(
        self, translations: Sequence[str], references: Sequence[str], tokens: str = ""
    ) -> list[float]:
        """Score each translation by itself; `tokens` and errors as in `score`."""
        references, translations = sides(references=references, translations=translations)
        metric = (self.make_for_sentence or self.make)(tokens or language_tokens(references))
        pairs = zip(translations, references, strict=True)
        return [metric.sentence_score(ours, [theirs]).score for ours, theirs in pairs]


class _CharacterTERSignature(TERSignature):
    def __init__(self, args: dict[str, Any]):
        super().__init__(args)
        self.info["tok"] = "tercom-char"


class _CharacterTER(sacrebleu.TER):
    """TER over characters, also of the scripts without spaces that sacreBLEU does not split."""

    _SIGNATURE_TYPE = _CharacterTERSignature

    def _preprocess_segment(self, sent: str) -> str:
        return super()._preprocess_segment(re.sub(f"({SOUTHEAST_ASIAN})", r" \1 ", sent))


def _ter(tokens: str) -> sacrebleu.TER:
    make = _CharacterTER if tokens == "char" else sacrebleu.TER
    return make(normalized=tokens != _SPACED, asian_support=tokens != _SPACED)


# `force`: no advice on standard error about text that looks tokenized.
METRICS: dict[str, Metric] = {
    # Papineni et al. (2002); cased; 0 to 100. A sentence without a 4-gram in common has no BLEU
    # but by its effective order.
    "bleu": Metric(
        "BLEU",
        lambda tokens: sacrebleu.BLEU(tokenize=tokens, force=True),
        make_for_sentence=lambda tokens: sacrebleu.BLEU(tokenize=tokens, effective_order=True),
    ),
    # Popović (2015): F-score of character 1- to 6-grams, recall twice as heavy; 0 to 100.
    "chrf": Metric("chrF2", lambda _: sacrebleu.CHRF()),
    # Snover et al. (2006): edits for each 100 words of the reference.
    "ter": Metric("TER", _ter, note="lower is better"),
    # The paper's: cased BLEU over Moses tokens.
    "tokenized_bleu": Metric(
        "BLEU, tokenized",
        lambda _: sacrebleu.BLEU(tokenize="none", force=True),
        note="words, cased",
        on_words=True,
    ),
    "lowercased_bleu": Metric(
        "BLEU, lowercased",
        lambda _: sacrebleu.BLEU(tokenize="none", lowercase=True, force=True),
        note="words, lowercased",
        on_words=True,
    ),
}


def sides(**given: Sequence[Any]) -> list[list[Any]]:
    """Return the sides of a test set as lists: a pandas column is indexed by labels, not positions.

    Text is brought into composed form (NFC), so that a letter and its marks have one encoding, and
    loses invisible characters, which no model writes.
    InputError if the sides have different numbers of sentences, which sacreBLEU would ignore, or
    none, or if sentences have different numbers of references. TypeError for a single string, for
    what is not text, and for references in lists, which is sacreBLEU's form.
    """
    for name, side in given.items():
        if isinstance(side, str):
            raise TypeError(f"{name}: expected a list of str, not a str")
    lists = {name: list(side) for name, side in given.items()}
    if any(isinstance(one, list) for one in lists.get("references", ())):
        raise TypeError("references are a str for each sentence, or a tuple of several, not a list")
    if len({len(side) for side in lists.values()}) > 1:
        counts = (f"{len(side):,} {name}" for name, side in lists.items())
        raise InputError(f"{', '.join(counts)}: there must be one for each sentence")
    if not all(lists.values()):
        raise InputError("there is no sentence to score")
    several = {len(one) if isinstance(one, tuple) else 1 for one in lists.get("references", ())}
    if len(several) > 1 or 0 in several:
        raise InputError("each sentence needs as many references as the others, one or more")
    return [
        side if name == "lengths" else list(map(_composed, side)) for name, side in lists.items()
    ]


def _composed(item: Any) -> Any:
    """Compose a text, or the several references of a sentence."""
    if isinstance(item, tuple):
        return tuple(map(_composed, item))
    if not isinstance(item, str):
        raise TypeError(f"expected a str, such as the text of a result, not {type(item).__name__}")
    return composed(item)


def reference_sets(references: Sequence[Reference]) -> list[list[str]]:
    """Return what sacreBLEU takes: all sentences' first references, all second ones, and so on."""
    each = ((one,) if isinstance(one, str) else one for one in references)
    return [list(chosen) for chosen in zip(*each, strict=True)]


def language_tokens(references: Sequence[Reference]) -> str:
    """Name sacreBLEU's tokens for the references' language.

    "13a"; but if more than a fifth of the letters are of scripts without spaces between words, in
    which a line would be one word and have no BLEU, "zh" for Chinese and "char" for others: each
    character is a token.
    """
    text = "".join("".join(reference) for reference in references)
    unspaced = len(re.findall(UNSPACED, text))
    if unspaced <= sum(map(str.isalpha, text)) / 5:  # names and terms are often in Latin
        return _SPACED
    return "zh" if len(re.findall(HAN, text)) > 0.9 * unspaced else "char"


def with_interval(score: float, interval: float | None) -> str:
    """Return a score with half of its confidence interval, if it has one, for tables."""
    return f"{score:.2f}" + ("" if interval is None else f" ± {interval:.2f}")


def text_metrics() -> Mapping[str, Metric]:
    """Return the metrics of detokenized text, which any two systems can be compared by."""
    return {name: metric for name, metric in METRICS.items() if not metric.on_words}


bleu = METRICS["bleu"].score  # of detokenized text, 0 to 100
