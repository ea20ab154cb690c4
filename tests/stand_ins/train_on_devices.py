"""Training runs, and `model.fit`, on logical CPUs in place of GPUs."""

import shutil
from collections.abc import Sequence
from pathlib import Path

import fit_on_devices
import keras
import logical_cpus
import numpy as np
import pytest
import tensorflow as tf
import traced_once

from rnnsearch_tf.config import TrainingConfig
from rnnsearch_tf.scripts import train
from rnnsearch_tf.training.distribution import build_strategy
from rnnsearch_tf.training.optimizers import Adadelta, build_optimizer


def run(
    devices: int,
    trainings: Sequence[list[str]],
    resumed: Path | None = None,
    fit_folder: Path | None = None,
) -> int:
    """Run `rnnsearch-train` with each of these flags, one after the other, and a fit.

    Args:
        devices: number of logical CPUs; no operation has run in this process yet.
        trainings: the flags of each; the last is --model_dir.
        resumed: for a copy of the last training, with its last checkpoint damaged, that runs again
            (see `traced_once`); None: none.
        fit_folder: for the weights and the loss of `fit_on_devices.fit`; None: no fit.

    Returns:
        The exit status of the first that failed, or 0.
    """
    logical_cpus.use(devices)
    with pytest.MonkeyPatch.context() as patch:
        traced_once.use(patch)
        for flags in trainings:
            if status := train.run(flags):
                return status
        if resumed is not None:
            *flags, model_dir = trainings[-1]
            shutil.copytree(model_dir.partition("=")[2], resumed)
            max(resumed.glob("checkpoints/*.data-*")).write_bytes(b"damaged")
            if status := train.run([*flags, f"--model_dir={resumed}"]):
                return status
    if fit_folder is not None:
        fit_on_devices.save(fit_folder, *fit_on_devices.fit("mirrored"))
    return 0


def run_own_rates(devices: int, path: Path) -> int:
    """Update a weight of 1 whose replicas have learning rates of 1, 2, …; write all its copies."""

    class OwnRates(Adadelta):
        """As if a callback had set the rates, which it does on one machine of several."""

        def _get_current_learning_rate(self) -> tf.Tensor:
            replica = tf.distribute.get_replica_context().replica_id_in_sync_group
            return tf.cast(replica, tf.float32) + 1.0

    logical_cpus.use(devices)
    strategy = build_strategy("mirrored")
    with strategy.scope():
        weight = keras.Variable([1.0])
        settings = build_optimizer(TrainingConfig(), 1).get_config()
        optimizer = OwnRates.from_config(settings)
        optimizer.build([weight])
    strategy.run(lambda: optimizer.update([tf.constant([1.0])], [weight]))
    np.save(path, strategy.experimental_local_results(weight.value))
    return 0
