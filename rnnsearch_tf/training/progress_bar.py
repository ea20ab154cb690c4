"""The progress bar of a training run, as a Keras callback."""

import keras

from rnnsearch_tf.progress import Bar
from rnnsearch_tf.training.logs import update_notes


class ProgressBar(keras.callbacks.Callback):
    """The bar of a training run: updates, time left, `update_notes`; close it at the end."""

    def __init__(self) -> None:
        super().__init__()
        self._bar: Bar | None = None

    def on_train_begin(self, logs: dict[str, float]) -> None:
        """Show the bar: the first update traces the graph, which takes long."""
        self._bar = Bar("update", self.params["updates"], int(logs["updates"]))

    def on_train_batch_end(self, batch: int, logs: dict[str, float]) -> None:
        """Redraw the bar when it is due."""
        if self._bar:
            self._bar.update(int(logs["updates"]), *update_notes(logs))

    def close(self) -> None:
        """Erase the bar."""
        if self._bar:
            self._bar.close()
