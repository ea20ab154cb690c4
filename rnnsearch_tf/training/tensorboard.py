"""The curves of a training run in TensorBoard, and sample translations."""

import html
import math
import re
import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from rnnsearch_tf.errors import first_line
from rnnsearch_tf.evaluation.likelihood import perplexity
from rnnsearch_tf.extras import is_installed
from rnnsearch_tf.inference.translator import Translator
from rnnsearch_tf.progress import say
from rnnsearch_tf.results import Translation
from rnnsearch_tf.tables import read_tables

TRAIN, VALIDATION = "train", "validation"
Logs = dict[str, float]  # of `trainer.Trainer`

_UPDATES_BETWEEN_POINTS = 50
# What is averaged over the updates since the last point, by what it is counted in.
_AVERAGED = {"loss": "sentences", "nll_per_token": "tokens", "gradient_norm": None}
_CHARTS = {  # by the names of the Keras logs: group, and description with unit
    name: (group, description)
    for name, group, description in read_tables(__package__, "charts")["charts"]
}
_AUXILIARY = "quality", "Auxiliary loss, mean since the last evaluation; nats"


class Summaries(keras.callbacks.Callback):
    """Two runs of TensorBoard, train and validation, whose curves share their charts.

    Loss and NLL of the training pairs are means over the sentences, or tokens, since the previous
    point, without skipped updates; auxiliary losses are means since the last evaluation. A file
    that cannot be written is reported once; this ends the curves, not the training.
    """

    def __init__(
        self,
        folder: str | Path,
        translator: Translator | None = None,  # of the model in training
        samples: Sequence[tuple[str, str]] = (),  # pairs to show; the first's alignment is drawn
    ):
        super().__init__()
        self.folder = Path(folder)
        self.has_failed = False
        self._translator = translator
        self._samples = samples
        self._writers: dict[str, tf.summary.SummaryWriter] = {}
        self._since: list[Logs] = []  # logs of the updates since the last point

    def on_train_batch_end(self, batch: int, logs: Logs) -> None:
        """Write the scalars of training, at intervals."""
        if not self.has_failed:
            self._since.append(logs)
            if logs["updates"] % _UPDATES_BETWEEN_POINTS == 0:
                self._until_error(self._write_updates)

    def on_epoch_end(self, epoch: int, logs: Logs) -> None:
        """Write the scalars of the evaluation, translations and an image."""
        if self.has_failed:
            return
        results: list[Translation] = []
        if self._translator and self._samples:
            sources = [source for source, _ in self._samples]
            results = self._translator.translate(sources, return_alignment=True, progress=False)
        self._until_error(self._write_evaluation, logs, results)

    def on_train_end(self, logs: Logs | None = None) -> None:
        """Close the files."""
        for writer in self._writers.values():
            self._until_error(writer.close)
        self._writers.clear()

    def _until_error(self, write: Callable[..., None], *args: Any) -> None:
        """Write; show an error, and write nothing after it: training goes on without it."""
        if self.has_failed:
            return
        try:
            write(*args)
        except (tf.errors.OpError, OSError) as error:
            self.has_failed = True
            say(f"{self.folder}: nothing more is written for TensorBoard: {first_line(error)}")

    def _write_evaluation(self, logs: Logs, results: list[Translation]) -> None:
        if self._since:
            self._write_updates()
        values = {name.removeprefix("val_"): x for name, x in logs.items() if name[:4] == "val_"}
        if values:
            self._write_scalars(VALIDATION, int(logs["updates"]), values)
        if results:
            self._write_samples(results, int(logs["updates"]))
        for writer in self._writers.values():
            writer.flush()

    def _run(self, name: str) -> "tf.summary.SummaryWriter":
        if name not in self._writers:
            self._writers[name] = tf.summary.create_file_writer(str(self.folder / name))
        return self._writers[name]

    def _write_updates(self) -> None:
        last, counts = self._since[-1], _AVERAGED.values()
        values = {name.removeprefix("mean_"): x for name, x in last.items() if name not in counts}
        made = [logs for logs in self._since if math.isfinite(logs["gradient_norm"])]
        for name, count in _AVERAGED.items():
            weights = [logs[count] if count else 1 for logs in made]
            mean = np.average([logs[name] for logs in made], weights=weights) if made else math.nan
            values[name] = float(mean)
        values["perplexity"] = perplexity(values["nll_per_token"])
        self._since.clear()
        self._write_scalars(TRAIN, int(values.pop("updates")), values)

    def _write_scalars(self, run: str, step: int, values: Logs) -> None:
        with self._run(run).as_default(step):
            for name, value in values.items():
                group, description = _CHARTS.get(name, _AUXILIARY)
                tf.summary.scalar(f"{group}/{name}", value, description=description)

    def _write_samples(self, results: list[Translation], step: int) -> None:
        pairs = zip(self._samples, results, strict=True)
        rows = [(source, target, result.text) for (source, target), result in pairs]
        with self._run(VALIDATION).as_default(step):
            tf.summary.text("translations", _table(("source", "reference", "translation"), rows))
            if is_installed("matplotlib"):
                from rnnsearch_tf.visualization.alignment_matrix import paint_alignment

                first = results[0]
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # a letter that the font lacks becomes a box
                    image = paint_alignment(first.alignment, first.source_tokens, first.tokens)
                tf.summary.image("alignment", image[None])


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table, its cells shown as they are."""
    lines = [head, ["---"] * len(head), *([_escaped(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _escaped(text: str) -> str:
    return re.sub(r"([\\`*_\[\]|#])", r"\\\1", html.escape(text, quote=False))
