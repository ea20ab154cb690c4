"""Measure an export with one caller: latency beside the package's own, size, load time, dtypes.

One process calls in turns an export and the `TextModel` that rnnsearch-translate runs, with the
same beam; an export with a beam of one, the greedy minimum; and, if the model has a lexicon, both
exports with candidate words: with one sentence at a time, and in batches of 32. Then it measures
size, load time and BLEU for each dtype of the weights. Prints one line of JSON for each.
"""

import argparse
import dataclasses
import functools
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import one_line
import tensorflow as tf
from measure import say

from rnnsearch_tf.data.parallel_corpus import ParallelFiles
from rnnsearch_tf.evaluation.metrics import bleu
from rnnsearch_tf.inference.loading import load_text_model
from rnnsearch_tf.inference.weight_storage import WEIGHT_DTYPES
from rnnsearch_tf.models.model_directory import ModelDirectory
from rnnsearch_tf.serving.export import export
from rnnsearch_tf.serving.signatures import signatures

BATCH = 32
CANDIDATES = 1000
Translate = Callable[[tf.Tensor], Any]


def latencies(systems: dict[str, Translate], batches: Sequence[tf.Tensor]) -> dict[str, list]:
    """Measure the seconds of each call; the systems take turns, so that disturbances hit all."""
    for translate in systems.values():
        for batch in batches[:3]:
            translate(batch)
    seconds: dict[str, list] = {name: [] for name in systems}
    for batch in batches:
        for name, translate in systems.items():
            begin = time.perf_counter()
            translate(batch)
            seconds[name].append(time.perf_counter() - begin)
    return seconds


def loaded(path: Path) -> tuple[Any, float]:
    """Load a SavedModel, and measure the seconds that it takes."""
    begin = time.perf_counter()
    model = tf.saved_model.load(str(path))
    return model, time.perf_counter() - begin


def _called(model: Any, text: tf.Tensor) -> Any:
    return model.signatures["serving_default"](text=text)


def measure_latency(model_dir: Path, folder: Path, lines: Sequence[str], beam: int) -> None:
    """Export with this beam, greedy and with candidate words, and time calls."""
    decoding = dataclasses.replace(ModelDirectory(model_dir).load_config().decoding, beam_size=beam)
    exported = {"export": decoding, "export, greedy": dataclasses.replace(decoding, beam_size=1)}
    if ModelDirectory(model_dir).find_lexicon():
        for name, options in list(exported.items()):
            few = dataclasses.replace(options, candidate_words=CANDIDATES)
            exported[f"{name}, {CANDIDATES} candidates"] = few
    systems: dict[str, Translate] = {
        "in the package": signatures(load_text_model(model_dir, decoding))["serving_default"]
    }
    for name, options in exported.items():
        model, _ = loaded(export([model_dir], folder, None, options))
        systems[name] = functools.partial(_called, model)
    for size in (1, BATCH):
        starts = range(0, len(lines) - size + 1, size)
        batches = [tf.constant(lines[i : i + size]) for i in starts][:100]
        for name, seconds in latencies(systems, batches).items():
            say(
                {
                    "system": name,
                    "beam": 1 if "greedy" in name else beam,
                    "batch": size,
                    "calls": len(seconds),
                    "p50_s": statistics.median(seconds),
                    "sentences_s": size * len(seconds) / sum(seconds),
                }
            )


def measure_weights(
    model_dir: Path, folder: Path, source: Sequence[str], reference: Sequence[str], beam: int
) -> None:
    """Measure size, load time and BLEU for each dtype of the weights."""
    decoding = dataclasses.replace(ModelDirectory(model_dir).load_config().decoding, beam_size=beam)
    for dtype in WEIGHT_DTYPES:
        path = export([model_dir], folder, None, decoding, weights_dtype=dtype)
        model, seconds = loaded(path)
        serve = model.signatures["serving_default"]
        translations: list[str] = []
        for start in range(0, len(source), 256):
            texts = serve(text=tf.constant(source[start : start + 256]))["translation"].numpy()
            translations += [text.decode() for text in texts]
        sizes = [file.stat().st_size for file in path.rglob("*") if file.is_file()]
        score = bleu(translations, reference)
        say(
            {
                "weights_dtype": dtype,
                "mib": sum(sizes) / 2**20,
                "load_s": seconds,
                "bleu": score.score,
                "signature": score.signature,
                "beam": beam,
            }
        )


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model_dir", type=Path, required=True)
    parser.add_argument("--source", type=Path, required=True, help="sentences of a test set")
    parser.add_argument("--reference", type=Path, required=True, help="their translations")
    parser.add_argument("--beam_size", type=int, default=5)
    parser.add_argument(
        "--threads", type=int, default=0, help="of an operation; 0: as many as there are cores"
    )
    arguments = parser.parse_args()
    tf.config.threading.set_intra_op_parallelism_threads(arguments.threads)
    source, reference = ParallelFiles([arguments.source], [arguments.reference]).read()
    if len(source) < BATCH:
        parser.error(f"--source {arguments.source}: fewer than {BATCH} lines")
    with tempfile.TemporaryDirectory() as name:
        measure_latency(arguments.model_dir, Path(name) / "a", source, arguments.beam_size)
        measure_weights(
            arguments.model_dir, Path(name) / "b", source, reference, arguments.beam_size
        )


if __name__ == "__main__":
    one_line.run(main)
