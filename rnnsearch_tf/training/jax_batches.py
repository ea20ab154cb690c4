"""Batches for JAX: of few shapes, because each is compiled, and split over the devices."""

from collections.abc import Mapping

import jax
import keras
import numpy as np
from numpy.typing import ArrayLike

from rnnsearch_tf.provenance import hardware
from rnnsearch_tf.text.vocabulary import EOS

_SHAPES = 8  # at most, for sentences of up to the maximum length


def choose_devices(strategy: str) -> None:
    """Make Keras use the first device ("one"), or all devices of this machine ("mirrored")."""
    distribution = keras.distribution.DataParallel() if strategy == "mirrored" else None
    keras.distribution.set_distribution(distribution)


def jax_hardware() -> str:
    """Return the accelerators that a training run uses, else the processor, and their number."""
    used = jax.devices() if keras.distribution.distribution() else jax.devices()[:1]
    is_cpu = used[0].platform == "cpu"
    return hardware() if is_cpu else f"{len(used)} × {used[0].device_kind}"


class FixedShapes:
    """Pads batches to at most eight shapes [B, T], and splits their rows over the devices.

    B is the batch size, rounded up to a multiple of the number of devices. T is a multiple of a
    step that is itself a multiple of `bucket_width`. A row of padding has a source of `</s>` alone,
    so that its attention is defined, and no target: it adds 0 to losses and gradients.
    """

    def __init__(self, batch_size: int, max_length: int, bucket_width: int = 1):
        self._distribution = keras.distribution.distribution()
        devices = self._distribution.num_model_replicas if self._distribution else 1
        self._rows = -(-batch_size // devices) * devices
        buckets = -(-(max_length + 1) // bucket_width)
        self._step = -(-buckets // _SHAPES) * bucket_width

    def __call__(self, batch: Mapping[str, ArrayLike]) -> dict[str, jax.Array]:
        """Pad and place a batch of `training_batches`, or of `ordered_batches`."""
        arrays = {name: np.asarray(array) for name, array in batch.items()}
        longest = max(arrays["source"].shape[1], arrays["target"].shape[1])
        length = -(-longest // self._step) * self._step
        return {name: self._placed(self._padded(name, x, length)) for name, x in arrays.items()}

    def _padded(self, name: str, array: np.ndarray, length: int) -> np.ndarray:
        padded = np.zeros((self._rows, *[length] * (array.ndim - 1)), array.dtype)
        padded[tuple(map(slice, array.shape))] = array
        if name == "source":
            padded[len(array) :, 0] = EOS
        return padded

    def _placed(self, array: np.ndarray) -> jax.Array:
        if self._distribution is None:
            return jax.numpy.asarray(array)
        layout = self._distribution.get_data_layout(array.shape)
        return jax.device_put(array, layout.backend_layout)
