"""Selection of in-domain pairs from a sharded pool (see `data.selection.moore_lewis`)."""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import apache_beam as beam
import numpy as np
from apache_beam.pvalue import AsDict, AsIter, AsList, AsSingleton
from apache_beam.utils.shared import Shared

from rnnsearch_tf.data.parallel_corpus import BLOCK_PAIRS, ParallelText
from rnnsearch_tf.data.sampling import two_samples_of_rows
from rnnsearch_tf.data.selection.moore_lewis import PairScorer
from rnnsearch_tf.data.selection.pairs import pair_digest
from rnnsearch_tf.errors import InputError
from rnnsearch_tf.pipelines.jobs import count
from rnnsearch_tf.pipelines.shards import read_lines, write_lines
from rnnsearch_tf.windows import windows

_DIGIT_BITS = 16  # of a score's 64, found at a time
_SHIFTS = (48, 32, 16, 0)

Pairs = tuple[list[str], list[str]]
# Leading bits of the last score that is kept, and the number of pairs to keep among the scores with
# these bits: uint64 [2], because Beam's integers are signed.
Cut: TypeAlias = np.ndarray
# First row of each shard in the pool; sample, 0 or 1, of each row that is drawn.
Plan: TypeAlias = tuple[dict[int, int], dict[int, int]]
# Number of a shard, its scores, and its scores again, with inf for pairs that are never chosen.
Scored: TypeAlias = tuple[int, np.ndarray, np.ndarray]


class Shard(NamedTuple):
    """A part of the pool, and the files that are written for it; `scores` may be empty."""

    number: int
    source: str
    target: str
    kept_source: str
    kept_target: str
    scores: str


class Selection(NamedTuple):
    """In-domain files, number of pairs to keep, model settings, and whether to drop duplicates."""

    in_domain_source: str
    in_domain_target: str
    keep: int
    languages: tuple[str, str]
    order: int
    seed: int
    drop_duplicates: bool = False


def select_shards(
    pipeline: beam.Pipeline, shards: Sequence[Shard], selection: Selection, unfinished: str
) -> beam.PCollection:
    """Add to a pipeline: score all pairs, and write the kept ones of each shard, in order.

    Scores and choice are those of `score_pairs` and `best_pairs` for the concatenated shards, but
    a pair that is not UTF-8 is not an error: it counts as blank and is never chosen. Each shard is
    read four times. A worker holds the in-domain text, the samples, and the scores of a shard in
    memory; the last score to keep in the pool is found digit by digit from histograms. Returns the
    number of kept pairs of each shard.
    """
    pool = pipeline | "Shards" >> beam.Create(shards) | "Share" >> beam.Reshuffle()
    sizes = pool | "Count" >> beam.Map(_size)
    once = pipeline | "Once" >> beam.Create([selection])
    plan = AsSingleton(once | "Plan" >> beam.Map(_planned, AsIter(sizes)))
    samples = AsList(pool | "Sample" >> beam.FlatMap(_sampled, plan))
    read = pool | "Read" >> beam.FlatMap(_blocks)
    blocks = (
        read | "ToWorkers" >> beam.Reshuffle() | "Score" >> beam.ParDo(_Score(selection), samples)
    )
    parts = {"sizes": sizes, "blocks": blocks}
    if selection.drop_duplicates:
        parts["firsts"] = (
            read
            | "Digest" >> beam.FlatMap(_digests)
            | "First" >> beam.CombinePerKey(min)
            | "Place" >> beam.Values()
        )
    scores = parts | "ByShard" >> beam.CoGroupByKey() | "Join" >> beam.MapTuple(_joined)
    cut: Any = np.array([0, selection.keep], np.uint64)
    for shift in _SHIFTS:
        histogram = (
            scores
            | f"Digits{shift}" >> beam.Map(_histogram, shift, cut)
            | f"Sum{shift}" >> beam.CombineGlobally(_total)
        )
        cut = AsSingleton(histogram | f"Narrow{shift}" >> beam.Map(_narrowed, cut))
    ties = scores | "Ties" >> beam.Map(_ties, cut)
    earlier = AsDict(once | "Earlier" >> beam.FlatMap(_earlier, AsIter(ties)))
    by_number = AsDict(pool | "ByNumber" >> beam.Map(lambda shard: (shard.number, shard)))
    return scores | "Write" >> beam.Map(_write, by_number, cut, earlier, unfinished)


class _Score(beam.DoFn):
    """Scores blocks of pairs; each process builds its n-gram models once."""

    def __init__(self, selection: Selection):
        self._selection = selection
        self._shared = Shared()

    def process(
        self, block: tuple[tuple[int, int], Pairs], samples: list[tuple[int, str, str]]
    ) -> Iterator[tuple[int, tuple[int, np.ndarray]]]:
        (number, start), pairs = block
        scorer = self._shared.acquire(lambda: self._scorer(samples))
        scores = scorer(ParallelText(*pairs))
        count("pairs", len(scores))
        yield number, (start, scores)

    def _scorer(self, samples: list[tuple[int, str, str]]) -> PairScorer:
        chosen = self._selection
        texts = ParallelText([], []), ParallelText([], [])
        for sample, source, target in samples:
            texts[sample].source.append(source)
            texts[sample].target.append(target)
        return PairScorer(_in_domain(chosen), texts, chosen.languages, chosen.order)


def _pairs(source: str, target: str) -> Iterator[tuple[str, str]]:
    """Read pairs; one that is not UTF-8 is blank."""
    for lines in itertools.zip_longest(read_lines(source), read_lines(target)):
        if None in lines:
            raise InputError(f"{source} and {target} have different numbers of lines")
        try:
            yield lines[0].decode(), lines[1].decode()
        except UnicodeDecodeError:
            yield "", ""


def _blocks(shard: Shard) -> Iterator[tuple[tuple[int, int], Pairs]]:
    pairs = _pairs(shard.source, shard.target)
    for number, block in enumerate(windows(pairs, BLOCK_PAIRS)):
        source, target = zip(*block, strict=True)
        yield (shard.number, number * BLOCK_PAIRS), ([*source], [*target])


def _digests(block: tuple[tuple[int, int], Pairs]) -> Iterator[tuple[bytes, tuple[int, int]]]:
    """Yield the digests of pairs, each with its shard and row."""
    (number, start), pairs = block
    for row, pair in enumerate(zip(*pairs, strict=True), start):
        yield pair_digest(*pair), (number, row)


def _in_domain(selection: Selection) -> ParallelText:
    pairs = list(_pairs(selection.in_domain_source, selection.in_domain_target))
    return ParallelText([source for source, _ in pairs], [target for _, target in pairs])


def _size(shard: Shard) -> tuple[int, int]:
    return shard.number, sum(1 for _ in _pairs(shard.source, shard.target))


def _planned(selection: Selection, sizes: Iterable[tuple[int, int]]) -> Plan:
    starts, row = {}, 0
    for number, size in sorted(sizes):
        starts[number] = row
        row += size
    samples = two_samples_of_rows(row, len(_in_domain(selection).source), selection.seed)
    return starts, {row: sample for sample, rows in enumerate(samples) for row in rows}


def _sampled(shard: Shard, plan: Plan) -> Iterator[tuple[int, str, str]]:
    """Yield the shard's pairs that are in a sample, 0 or 1."""
    starts, sample_of = plan
    pairs = _pairs(shard.source, shard.target)
    for row, (source, target) in enumerate(pairs, starts[shard.number]):
        if row in sample_of:
            yield sample_of[row], source, target


def _joined(number: int, parts: Mapping[str, Iterable[Any]]) -> Scored:
    """Join the scores of a shard's blocks, after a check that each pair is there once.

    "firsts", if given, has the rows that are not duplicates of earlier rows in the pool.
    """
    [size] = parts["sizes"]
    blocks = dict(parts["blocks"])
    scores = np.concatenate([np.zeros(0), *(blocks[start] for start in sorted(blocks))])
    if sorted(start for start, _ in parts["blocks"]) != [*range(0, size, BLOCK_PAIRS)]:
        raise RuntimeError(f"shard {number}: blocks are missing, or there twice")
    if len(scores) != size:
        raise RuntimeError(f"shard {number}: {len(scores):,} scores of {size:,} pairs")
    if "firsts" not in parts:
        return number, scores, scores
    eligible = np.full_like(scores, np.inf)
    firsts = np.array([*parts["firsts"]], np.int64)
    eligible[firsts] = scores[firsts]
    return number, scores, eligible


def _sortable(scores: np.ndarray) -> np.ndarray:
    """Return unsigned integers in the order of the scores."""
    bits = (scores + 0.0).view(np.uint64)  # −0 is 0
    sign = np.uint64(1 << 63)
    return np.where(bits & sign, ~bits, bits | sign)


def _histogram(scored: Scored, shift: int, cut: Cut) -> np.ndarray:
    """Count the next digits of the finite scores that begin with the cut's bits."""
    _, _, eligible = scored
    keys = _sortable(eligible[np.isfinite(eligible)])
    digits = keys >> np.uint64(shift)
    digits = digits[digits >> np.uint64(_DIGIT_BITS) == cut[0]]
    return np.bincount(
        (digits & np.uint64((1 << _DIGIT_BITS) - 1)).astype(np.int64), minlength=1 << _DIGIT_BITS
    )


def _total(histograms: Iterable[np.ndarray]) -> np.ndarray:
    return sum(histograms, np.zeros(1 << _DIGIT_BITS, np.int64))


def _narrowed(histogram: np.ndarray, cut: Cut) -> Cut:
    """Add a digit to the cut: that of the last pair to keep; the greatest, if there are fewer."""
    bits, keep = map(int, cut)
    counts = np.cumsum(histogram)
    digit = min(int(np.searchsorted(counts, keep)), len(counts) - 1)
    is_enough = counts[-1] >= keep
    before = int(counts[digit - 1]) if digit and is_enough else 0
    return np.array([(bits << _DIGIT_BITS) | digit, keep - before], np.uint64)


def _ties(scored: Scored, cut: Cut) -> tuple[int, int]:
    """Count the shard's pairs with the last score that is kept."""
    number, _, eligible = scored
    return number, int(np.count_nonzero(_sortable(eligible) == cut[0]))


def _earlier(selection: Selection, ties: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Sum the ties of all shards before each one."""
    total = 0
    for number, own in sorted(ties):
        yield number, total
        total += own


def _is_kept(scored: Scored, cut: Cut, earlier: Mapping[int, int]) -> np.ndarray:
    """Mark the shard's kept pairs; of equal scores at the cut, the first in the pool are kept."""
    number, _, eligible = scored
    keys, last = _sortable(eligible), cut[0]
    left = max(0, int(cut[1]) - earlier[number])
    is_kept = keys < last
    is_kept[np.flatnonzero(keys == last)[:left]] = True
    return is_kept & np.isfinite(eligible)


def _write(
    scored: Scored,
    shards: Mapping[int, Shard],
    cut: Cut,
    earlier: Mapping[int, int],
    unfinished: str,
) -> int:
    """Write a shard's kept pairs, and return their number."""
    number, scores, _ = scored
    shard, is_kept = shards[number], _is_kept(scored, cut, earlier)
    for path, kept in ((shard.source, shard.kept_source), (shard.target, shard.kept_target)):
        write_lines(kept, itertools.compress(read_lines(path), is_kept), unfinished)
    if shard.scores:
        write_lines(shard.scores, (f"{score:.6f}".encode() for score in scores), unfinished)
    size = int(np.count_nonzero(is_kept))
    count("kept_pairs", size)
    count("blank_pairs", int(np.count_nonzero(np.isinf(scores))))
    return size
