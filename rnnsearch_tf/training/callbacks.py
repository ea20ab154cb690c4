"""Keras callbacks that report a training run; `trainer.Trainer` documents their logs."""

import keras

from rnnsearch_tf.progress import Bar
from rnnsearch_tf.training.logs import update_notes

Logs = dict[str, float]


class ProgressBar(keras.callbacks.Callback):
    """The bar of a training run: updates, time left, `update_notes`; to be closed."""

    def __init__(self) -> None:
        super().__init__()
        self._bar: Bar | None = None

    def on_train_begin(self, logs: Logs | None = None) -> None:
        """Show the bar: the first update traces the graph, which takes long."""
        begins_at = int(logs["updates"]) if logs else 0
        self._bar = Bar("update", self.params["updates"], begins_at)

    def on_train_batch_end(self, batch: int, logs: Logs | None = None) -> None:
        """Redraw the bar when it is due."""
        if logs and self._bar:
            self._bar.update(int(logs["updates"]), *update_notes(logs))

    def close(self) -> None:
        """Erase the bar."""
        if self._bar:
            self._bar.close()
