"""Measure how the time for a word grows with sentence length, vocabulary, batch and corpus.

Prints one line of JSON for each point, and draws them with `--chart`. The floor is the time that
the products alone take at the rate of large products on this machine. Each series varies one size;
the others are those of the workload `multi30k`, with random words and beam 5. Reading a corpus
means preparing its text and making the batches of an epoch.
"""

import argparse
import concurrent.futures
import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import measure
import numpy as np
import one_line
import search_speed
import tensorflow as tf
import training_speed
import workloads

from rnnsearch_tf import threads
from rnnsearch_tf.config import ModelConfig, TrainingConfig
from rnnsearch_tf.data.batching import training_batches
from rnnsearch_tf.data.parallel_corpus import ParallelFiles
from rnnsearch_tf.data.preparation import prepare
from rnnsearch_tf.extras import require_package
from rnnsearch_tf.models.translation_model import TranslationModel
from rnnsearch_tf.synthetic.grammar import generate
from rnnsearch_tf.text.moses import MosesTokenizer
from rnnsearch_tf.visualization.image_files import figure_style, image_format, save_figure

_LENGTH, _BEAM, _SEARCH_BATCH = 20, 5, 32
_SIZES = {
    "sentence length, tokens": (5, 10, 20, 40, 80),
    "vocabulary, words": (2_500, 5_000, 10_000, 20_000, 40_000),
    "batch, sentences": (8, 16, 32, 64, 128),
    "corpus, pairs": (5_000, 20_000, 80_000, 320_000),
}
_LABELS = {"training": "training", "search": "search, beam 5", "reading": "reading text"}


class Point(NamedTuple):
    """Microseconds for a target word."""

    quantity: str  # what is varied
    size: int
    what: str  # "training", "search" or "reading"
    measured: float
    floor: float | None  # None if the work is not products


def main() -> None:
    """Measure all points."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chart", type=Path, help=".svg, .png or .pdf")
    arguments = parser.parse_args()
    if arguments.chart:  # before an hour's work
        require_package("matplotlib")
        image_format(arguments.chart)
    measure.start(argparse.Namespace(peers=None, wait=0.0, dtype_policy="float32", gpu=False))
    threads.limit_operations(1)
    rate = product_rate()
    print(json.dumps({"what": "products", "gflops": rate / 1e9, **measure.circumstances()}))
    points = []
    for point in measured_points(rate):
        print(json.dumps(point._asdict()), flush=True)
        points.append(point)
    if arguments.chart:
        draw(arguments.chart, points)


def product_rate(size: int = 2048, seconds: float = 3.0) -> float:
    """Measure the highest rate of large float32 products, one on each core, in FLOP/s."""
    x = tf.random.normal([size, size])
    product = tf.function(lambda: tf.reduce_sum(tf.matmul(x, x)))

    def rate(_: int) -> float:
        best, end = np.inf, time.perf_counter() + seconds
        while (begin := time.perf_counter()) < end:
            product().numpy()
            best = min(best, time.perf_counter() - begin)
        return 2 * size**3 / best

    product()
    with concurrent.futures.ThreadPoolExecutor(threads.cores()) as pool:
        return sum(pool.map(rate, range(threads.cores())))


def measured_points(rate: float) -> Iterator[Point]:
    """Measure all points.

    Args:
        rate: FLOP/s, for the floor.
    """
    for quantity, sizes in _SIZES.items():
        for size in sizes:
            if quantity.startswith("corpus"):
                yield Point(quantity, size, "reading", _reading(size), None)
                continue
            workload = _workload(quantity, size)
            model = TranslationModel(workload.model)
            search = search_speed.build_search(model, _BEAM)
            update = training_speed.build_update(model, "adam")
            words = {
                "training": measure.time_training(workload, update, 0.0)["words_s"],
                "search": measure.time_search(workload, _BEAM, search, 0.0)["words_s"],
            }
            for what, per_second in words.items():
                floor = operations(workload.model, _length(quantity, size), what) / rate
                yield Point(quantity, size, what, 1e6 / per_second, 1e6 * floor)


def operations(model: ModelConfig, length: int, what: str) -> float:
    """Count the FLOPs of the products for a target word; the source is as long as the target.

    With W = 3n + 2l, the width of what a word, a state and a context are multiplied by for the
    gates and the maxout layer, there are for a word, in pairs of multiplication and addition,

        encoder    6n(m + n) + 2nn'
        decoder    mW + nW + nn' + T(n' + 2n) + 2nW     training
                   mW + nW + nn' + T(n' + W)            search, and 2nW for a source word
        output     lK

    The backward pass takes twice the forward pass. A search has one hypothesis at its first step.
    Elementwise work is not counted.
    """
    n, m, keys = model.hidden_size, model.embedding_size, model.attention_size
    width = 3 * n + 2 * model.maxout_size
    encoder = 6 * n * (m + n) + 2 * n * keys
    step = (m + n) * width + n * keys + model.maxout_size * model.target_vocabulary_size
    if what == "training":
        return 3 * 2 * (encoder + step + length * (keys + 2 * n) + 2 * n * width)
    hypotheses = _BEAM - (_BEAM - 1) / length  # of a step, on average
    return 2 * (encoder + 2 * n * width + hypotheses * (step + length * (keys + width)))


def draw(path: Path, points: list[Point]) -> None:
    """Draw a panel for each quantity, with logarithmic axes; the floors are dashed."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator, StrMethodFormatter

    with figure_style():
        figure = Figure((9, 6), layout="constrained")
        for axes, quantity in zip(figure.subplots(2, 2).flat, _SIZES, strict=True):
            for color, what in zip(("#2a7fc0", "#d55e00", "#009e73"), _LABELS, strict=True):
                some = [p for p in points if (p.quantity, p.what) == (quantity, what)]
                sizes = [p.size for p in some]
                if not some:
                    continue
                axes.plot(sizes, [p.measured for p in some], "o-", color=color, label=_LABELS[what])
                if some[0].floor is not None:
                    floors = [p.floor for p in some]
                    axes.plot(sizes, floors, "--", color=color, label=f"{what}, products alone")
            axes.set(xlabel=quantity, xscale="log", yscale="log")
            axes.set_xticks(_SIZES[quantity], [f"{size:,}" for size in _SIZES[quantity]])
            axes.minorticks_off()
            axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 3, 5)))
            axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
            axes.grid(alpha=0.3)
        labels = {
            label: line
            for axes in figure.axes
            for line, label in zip(*axes.get_legend_handles_labels(), strict=True)
        }
        figure.legend(labels.values(), labels, loc="outside upper center", ncols=3, frameon=False)
        figure.supylabel("µs per target word")
        save_figure(figure, path)


def _length(quantity: str, size: int) -> int:
    return size if quantity.startswith("sentence") else _LENGTH


def _workload(quantity: str, size: int) -> workloads.Workload:
    """Random sentences, of the sizes of `multi30k` but for one."""
    settings: dict[str, Any] = workloads.settings_of("multi30k")
    del settings["text"]
    length = _length(quantity, size)
    settings["training"].update(length=length, warm=1, timed=3)
    settings["search"].update(length=length, batches=2, batch=_SEARCH_BATCH)
    if quantity.startswith("vocabulary"):
        settings["model"]["vocabulary_size"] = size
    if quantity.startswith("batch"):
        settings["training"]["batch"] = settings["search"]["batch"] = size
    return workloads.make(f"{quantity} {size}", settings)


def _reading(pairs: int) -> float:
    """Measure the preparation of a made-up corpus and an epoch of its batches."""
    some = list(generate(min(pairs, 5_000), seed=1, min_length=5, max_length=30))
    with tempfile.TemporaryDirectory() as folder:
        for side in ("source", "target"):
            lines = "".join(f"{getattr(pair, side)}\n" for pair in some)
            Path(folder, side).write_text(lines * (pairs // len(some)), "utf-8")
        begin = time.perf_counter()
        prepared = prepare(
            ParallelFiles([Path(folder, "source")], [Path(folder, "target")]),
            MosesTokenizer("en"),
            MosesTokenizer("fr"),
            folder,
        )
        sides = (side.vocabulary(10_000) for side in (prepared.source, prepared.target))
        batches = training_batches(prepared.pairs(*sides), TrainingConfig(), epoch=1)
        words = sum(np.count_nonzero(batch["target"]) for batch in batches)
        return 1e6 * (time.perf_counter() - begin) / words


if __name__ == "__main__":
    one_line.run(main)
