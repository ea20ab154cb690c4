"""Claims of the paper about its models (sections 5.1 and 7), tested on results.

A claim holds, or fails, if the numbers differ by more than the 95% confidence interval of their
difference; otherwise the test set cannot tell. The interval is that of independent samples, the
root of the sum of squares; for the same sentences, the true interval is narrower.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from rnnsearch_tf.evaluation.length_bins import LengthBin
from rnnsearch_tf.evaluation.metrics import MIN_TO_RESAMPLE, with_interval
from rnnsearch_tf.reproduction.results import ModelResults

TOLERANCE = 0.1  # fraction of its BLEU that a model may lose and still count as not falling
SHORT = 10  # words; sentences up to there are the easiest for every model

Results = Mapping[str, ModelResults]  # any of the four, by the paper's names, "RNNsearch-50"


class Claim(NamedTuple):
    """Claim of the paper, and whether the results bear it out."""

    text: str
    holds: bool | None  # None: the test set cannot tell
    evidence: str


class Mean(NamedTuple):
    """Mean BLEU of adjacent bins, weighted by their sentences."""

    low: int  # words
    high: int
    bleu: float
    interval: float  # half of its 95% confidence interval

    def __str__(self) -> str:
        """Return it as evidence: "22.50 ± 1.20 at 11–50 words"."""
        return f"{with_interval(self.bleu, self.interval)} at {self.low}–{self.high} words"


class Fall(NamedTuple):
    """BLEU of lengths that training had, and of longer ones."""

    within: Mean
    past: Mean

    @property
    def loss(self) -> float:
        """Fraction of the BLEU that is lost; negative where it rises."""
        return 1 - self.past.bleu / self.within.bleu

    @property
    def interval(self) -> float:
        """Half of the 95% confidence interval of `loss`."""
        points = math.hypot((1 - self.loss) * self.within.interval, self.past.interval)
        return points / self.within.bleu

    def __str__(self) -> str:
        """Return it as evidence."""
        return f"{self.within}, {self.past}: {_loss(self)}"


def claims(results: Results) -> list[Claim]:
    """Test the claims about these models."""
    return [*_overall(results), *_in_every_bin(results), *_falls(results)]


def fall(model: ModelResults) -> Fall | None:
    """Compare BLEU at lengths within and past training.

    None if either has no bin, or if BLEU within training is 0, which leaves nothing to lose.
    Sentences of up to `SHORT` words are left out, unless no bin within training is longer.
    """
    bins = _telling(model)
    within = [b for b in bins if b.high <= model.max_length]
    past = [b for b in bins if b.low > model.max_length]
    if not (within and past):
        return None
    mean = _mean([b for b in within if b.low > SHORT] or within)
    return Fall(mean, _mean(past)) if mean.bleu else None


def _mean(bins: Sequence[LengthBin]) -> Mean:
    sentences = sum(b.sentences for b in bins)
    bleu = sum(b.sentences * b.bleu for b in bins) / sentences
    interval = math.hypot(*(b.sentences * (b.interval or 0) for b in bins)) / sentences
    return Mean(bins[0].low, bins[-1].high, bleu, interval)


def _telling(model: ModelResults) -> list[LengthBin]:
    """Return the bins that have enough sentences to tell."""
    return [b for b in model.by_length if b.sentences >= MIN_TO_RESAMPLE]


def _is_above(lead: float, *intervals: float | None) -> bool | None:
    """Whether a difference of numbers with these intervals is above 0; None: cannot tell."""
    interval = math.hypot(*(one or 0 for one in intervals))
    return None if abs(lead) <= interval else lead > 0


def _all(verdicts: Iterable[bool | None]) -> bool | None:
    """Whether all hold: False if one fails; None if one is unknown, or there is none."""
    each = list(verdicts)
    if False in each:
        return False
    return True if each and None not in each else None


def _overall(results: Results) -> Iterator[Claim]:
    """Claim that a model is above another in both of Table 1's columns."""
    for names in (
        ("RNNsearch-30", "RNNencdec-30"),
        ("RNNsearch-50", "RNNencdec-50"),
        ("RNNsearch-30", "RNNencdec-50"),
    ):
        better, worse = map(results.get, names)
        if better is None or worse is None:
            continue
        sets = {"all": (better.all, worse.all), "no UNK": (better.no_unknown, worse.no_unknown)}
        columns = {
            name: (ours["bleu"], theirs["bleu"])
            for name, (ours, theirs) in sets.items()
            if ours and theirs and ours.sentences >= MIN_TO_RESAMPLE
        }
        yield Claim(
            f"{better.name} is better than {worse.name}",
            _all(_is_above(a.score - b.score, a.interval, b.interval) for a, b in columns.values()),
            "; ".join(f"{name}: {a} against {b}" for name, (a, b) in columns.items()),
        )


def _in_every_bin(results: Results) -> Iterator[Claim]:
    for length in (30, 50):
        names = (f"RNNsearch-{length}", f"RNNencdec-{length}")
        if all(name in results for name in names):
            bins = list(zip(*(_telling(results[name]) for name in names), strict=True))
            text = f"{names[0]} is better than {names[1]} at every source length"
            # Each of them is listed, for the smallest lead may be the one that matters.
            listed = "; ".join(f"{a.low}–{a.high}: {a.bleu - b.bleu:+.2f}" for a, b in bins)
            holds = _all(_is_above(a.bleu - b.bleu, a.interval, b.interval) for a, b in bins)
            yield Claim(text, holds, listed.replace("-", "−"))


def _falls(results: Results) -> Iterator[Claim]:
    """Claim that RNNencdec degrades with length, RNNsearch less, and RNNsearch-50 not at all."""
    for length in (30, 50):
        encdec, search = (results.get(f"{name}-{length}") for name in ("RNNencdec", "RNNsearch"))
        if encdec is None:
            continue
        yield _of_fall(encdec, deteriorates=True)
        ours, theirs = (fall(model) if model else None for model in (search, encdec))
        if search is not None and ours and theirs:
            yield Claim(
                f"{search.name} is more robust to length than {encdec.name}: it loses less",
                _is_above(theirs.loss - ours.loss, ours.interval, theirs.interval),
                f"{search.name}: {_loss(ours)}; {encdec.name}: {_loss(theirs)}",
            )
    if model := results.get("RNNsearch-50"):
        yield _of_fall(model, deteriorates=False)


def _of_fall(model: ModelResults, deteriorates: bool) -> Claim:
    said, limit = ("deteriorates", "over") if deteriorates else ("does not deteriorate", "at most")
    text = f"{model.name} {said} past {model.max_length} tokens"
    own = fall(model)
    if own is None:
        few = f"no bins of {MIN_TO_RESAMPLE} test sentences within and past {model.max_length}"
        return Claim(text, None, f"{few} words, or a BLEU of 0 within")
    beyond = own.loss - TOLERANCE
    holds = _is_above(beyond if deteriorates else -beyond, own.interval)
    return Claim(f"{text} (it loses {limit} {TOLERANCE:.0%})", holds, str(own))


def _loss(one: Fall) -> str:
    return f"{'loses' if one.loss >= 0 else 'gains'} {abs(one.loss):.0%} ± {one.interval:.0%}"
