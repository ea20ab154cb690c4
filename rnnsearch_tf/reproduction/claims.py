"""Claims of the paper about its models (sections 5.1 and 7), tested on results."""

import operator
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from rnnsearch_tf.evaluation.length_bins import LengthBin
from rnnsearch_tf.evaluation.metrics import MIN_TO_RESAMPLE
from rnnsearch_tf.reproduction.results import ModelResults

TOLERANCE = 0.1  # fraction of its best bin that a model may lose and still count as not falling

Results = Mapping[str, ModelResults]  # any of the four, by the paper's names, "RNNsearch-50"


class Claim(NamedTuple):
    """Claim of the paper, and whether the results bear it out."""

    text: str
    holds: bool | None  # None: the test set cannot tell
    evidence: str


def claims(results: Results) -> list[Claim]:
    """Test the claims about these models."""
    return [*_overall(results), *_in_every_bin(results), *_falls(results)]


def fall(model: ModelResults) -> tuple[float, str] | None:
    """Compare the best bin with the worst past the training length; None without such a bin.

    Returns the fraction of the best bin's BLEU that is lost, 0 to 1, and the numbers in words.
    """
    bins = _telling(model)
    past = [b for b in bins if b.low > model.max_length]
    if not past:
        return None
    bleu = operator.attrgetter("bleu")
    best, worst = max(bins, key=bleu), min(past, key=bleu)
    points = max(best.bleu - worst.bleu, 0.0)
    fraction = points / best.bleu if best.bleu else 0.0
    return fraction, (
        f"{best.bleu:.2f} at {_span(best)} to {worst.bleu:.2f} at {_span(worst)} words, "
        f"−{points:.2f} BLEU ({fraction:.0%})"
    )


def _telling(model: ModelResults) -> list[LengthBin]:
    """Return the bins that have enough sentences to tell."""
    return [b for b in model.by_length if b.sentences >= MIN_TO_RESAMPLE]


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
        columns = {"all": (better.all["bleu"], worse.all["bleu"])}
        both = better.no_unknown, worse.no_unknown
        if both[0] and both[1] and both[0].sentences >= MIN_TO_RESAMPLE:
            columns["no UNK"] = (both[0]["bleu"], both[1]["bleu"])
        evidence = "; ".join(f"{name}: {a} against {b}" for name, (a, b) in columns.items())
        holds = all(a.score > b.score for a, b in columns.values())
        yield Claim(f"{better.name} is better than {worse.name}", holds, evidence)


def _in_every_bin(results: Results) -> Iterator[Claim]:
    for length in (30, 50):
        names = (f"RNNsearch-{length}", f"RNNencdec-{length}")
        if all(name in results for name in names):
            bins = zip(*(_telling(results[name]) for name in names), strict=True)
            leads = [(a.bleu - b.bleu, a) for a, b in bins]
            text = f"{names[0]} is better than {names[1]} at every source length"
            # Each of them is listed, for the smallest lead may be the one that matters.
            listed = "; ".join(f"{_span(b)}: {lead:+.2f}" for lead, b in leads)
            holds = all(lead > 0 for lead, _ in leads) if leads else None
            yield Claim(text, holds, listed.replace("-", "−"))


def _falls(results: Results) -> Iterator[Claim]:
    """Claim that RNNencdec degrades with length, RNNsearch less, and RNNsearch-50 not at all."""
    for length in (30, 50):
        encdec, search = (results.get(f"{name}-{length}") for name in ("RNNencdec", "RNNsearch"))
        if encdec is None:
            continue
        yield _of_fall(encdec, "deteriorates", lambda fraction: fraction > TOLERANCE, "more than")
        falls = [fall(model) for model in (search, encdec) if model is not None]
        if search is not None and all(falls):
            ours, theirs = (one[0] for one in falls if one)
            yield Claim(
                f"{search.name} is more robust to length than {encdec.name}: it loses less",
                ours < theirs,
                f"{search.name} loses {ours:.0%}, {encdec.name} {theirs:.0%}",
            )
    if model := results.get("RNNsearch-50"):
        said = "does not deteriorate"
        yield _of_fall(model, said, lambda fraction: fraction <= TOLERANCE, "at most")


def _of_fall(model: ModelResults, said: str, holds: Callable[[float], bool], limit: str) -> Claim:
    text = f"{model.name} {said} past {model.max_length} tokens"
    own = fall(model)
    if own is None:
        few = f"no bin of {MIN_TO_RESAMPLE} test sentences is past {model.max_length} tokens"
        return Claim(text, None, few)
    fraction, numbers = own
    return Claim(f"{text} (by {limit} {TOLERANCE:.0%})", holds(fraction), numbers)


def _span(length_bin: LengthBin) -> str:
    return f"{length_bin.low}–{length_bin.high}"
