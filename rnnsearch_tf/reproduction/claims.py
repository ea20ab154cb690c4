"""What the paper says of its models (sections 5.1 and 6), put to the test of results."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from rnnsearch_tf.evaluation.metrics import LengthBin
from rnnsearch_tf.reproduction.results import ModelResults

TOLERANCE = 0.1  # share of its best bin that a model may lose and still count as not falling

Results = Mapping[str, ModelResults]


class Claim(NamedTuple):
    """A claim of the paper, and whether the results bear it out."""

    text: str
    holds: bool | None  # None: the test set cannot tell
    evidence: str


class Fall(NamedTuple):
    """How far BLEU falls from a model's best bin to its worst bin of longer sentences."""

    best: LengthBin
    worst: LengthBin

    @property
    def points(self) -> float:
        """BLEU points, at least 0."""
        return max(self.best.bleu - self.worst.bleu, 0.0)

    @property
    def share(self) -> float:
        """Part of the best bin's BLEU that is lost, 0 to 1."""
        return self.points / self.best.bleu if self.best.bleu else 0.0

    def __str__(self) -> str:
        return (
            f"{self.best.bleu:.2f} at {_span(self.best)} to {self.worst.bleu:.2f} at "
            f"{_span(self.worst)} tokens, −{self.points:.2f} BLEU ({self.share:.0%})"
        )


def claims(results: Results) -> list[Claim]:
    """The claims that can be asked of these models.

    Args:
        results: by the paper's names, "RNNsearch-50", …; any of the four.
    """
    return [*_overall(results), *_in_every_bin(results), *_falls(results), *_flat(results)]


def fall(model: ModelResults) -> Fall | None:
    """The best bin against the worst bin past the training length; None without such a bin."""
    past = [b for b in model.by_length if b.low > model.max_length]
    if not past:
        return None
    return Fall(max(model.by_length, key=_bleu), min(past, key=_bleu))


def _overall(results: Results) -> Iterator[Claim]:
    for better, worse in (
        ("RNNsearch-30", "RNNencdec-30"),
        ("RNNsearch-50", "RNNencdec-50"),
        ("RNNsearch-30", "RNNencdec-50"),
    ):
        if better in results and worse in results:
            yield _better(results[better], results[worse])


def _better(better: ModelResults, worse: ModelResults) -> Claim:
    """Above in both of Table 1's columns."""
    columns = {"all": (better.all, worse.all)}
    if better.no_unknown is not None and worse.no_unknown is not None:
        columns["no UNK"] = (better.no_unknown, worse.no_unknown)
    evidence = "; ".join(f"{name}: {a} against {b}" for name, (a, b) in columns.items())
    holds = all(a.bleu > b.bleu for a, b in columns.values())
    return Claim(f"{better.name} is better than {worse.name}", holds, evidence)


def _in_every_bin(results: Results) -> Iterator[Claim]:
    for length in (30, 50):
        names = (f"RNNsearch-{length}", f"RNNencdec-{length}")
        if all(name in results for name in names):
            bins = zip(*(results[name].by_length for name in names), strict=True)
            leads = [(a.bleu - b.bleu, a) for a, b in bins]
            text = f"{names[0]} is better than {names[1]} at every source length"
            yield Claim(text, min(leads)[0] > 0, _leads(leads))


def _leads(leads: list[tuple[float, LengthBin]]) -> str:
    """Every bin, for the smallest lead may be the one that matters."""
    return "; ".join(f"{_span(b)}: {lead:+.2f}" for lead, b in leads).replace("-", "−")


def _falls(results: Results) -> Iterator[Claim]:
    """RNNencdec drops with length, and more than RNNsearch does."""
    for length in (30, 50):
        encdec, search = (results.get(f"{kind}-{length}") for kind in ("RNNencdec", "RNNsearch"))
        if encdec is None:
            continue
        fallen = fall(encdec)
        if fallen is None:
            yield _cannot_tell(f"{encdec.name} deteriorates past {length} tokens", length)
            continue
        yield Claim(
            f"{encdec.name} deteriorates past {length} tokens (by more than {TOLERANCE:.0%})",
            fallen.share > TOLERANCE,
            str(fallen),
        )
        other = fall(search) if search is not None else None
        if search is not None and other is not None:
            yield Claim(
                f"{search.name} is more robust to length than {encdec.name}: it loses less",
                other.share < fallen.share,
                f"{search.name} loses {other.share:.0%}, {encdec.name} {fallen.share:.0%}",
            )


def _flat(results: Results) -> Iterator[Claim]:
    model = results.get("RNNsearch-50")
    if model is None:
        return
    fallen = fall(model)
    text = f"{model.name} does not deteriorate past {model.max_length} tokens"
    if fallen is None:
        yield _cannot_tell(text, model.max_length)
    else:
        text = f"{text} (by at most {TOLERANCE:.0%})"
        yield Claim(text, fallen.share <= TOLERANCE, str(fallen))


def _cannot_tell(text: str, length: int) -> Claim:
    return Claim(text, None, f"no test sentence is longer than {length} tokens")


def _bleu(length_bin: LengthBin) -> float:
    return length_bin.bleu


def _span(length_bin: LengthBin) -> str:
    return f"{length_bin.low}–{length_bin.high}"
