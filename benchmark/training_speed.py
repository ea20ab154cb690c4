"""Measure training: target words/s, updates/s, memory, seconds of the first update.

Prints one line of JSON. The update is the trainer's own `TrainStep`: forward, backward, clipping
and optimizer, on batches in memory, without dropout.
"""

import dataclasses
from typing import Any

import keras
import measure
import numpy as np
import one_line
import workloads

from rnnsearch_tf import threads
from rnnsearch_tf.allocation import keep_freed_memory
from rnnsearch_tf.config import OptimizerName, TrainingConfig
from rnnsearch_tf.models.translation_model import TranslationModel
from rnnsearch_tf.training.train_step import TrainStep

_LEARNING_RATES = {"adam": 1e-3, "adadelta": 1.0}


def main() -> None:
    """Run one measurement."""
    parser = measure.argument_parser(__doc__, "training")
    parser.add_argument("--optimizer", choices=list(_LEARNING_RATES), default="adam")
    parser.add_argument("--jit_compile", action="store_true", help="compile the update by XLA")
    arguments = parser.parse_args()
    keep_freed_memory()  # as `rnnsearch-train`
    harness = measure.start(arguments)
    workload = harness.load(arguments.workload)
    if not arguments.jit_compile:
        threads.limit_for_halves()
    model = TranslationModel(workload.model)
    length = workloads.settings_of(workload.name)["training"].get("length")
    update = build_update(model, arguments.optimizer, arguments.jit_compile, length)
    result = harness.time_training(workload, update)
    harness.report(
        {
            "what": "train",
            "workload": workload.name,
            "optimizer": arguments.optimizer,
            "backend": keras.config.backend(),
            "jit_compile": arguments.jit_compile,
            **result,
            "params": model.count_params(),
            **measure.circumstances(),
        }
    )


def build_update(
    model: TranslationModel,
    optimizer: OptimizerName,
    jit_compile: bool = False,
    length: int | None = None,
) -> measure.Update:
    """Build the trainer's update, with the gradient's norm clipped to 1.

    Args:
        model: to be trained.
        optimizer: "adam" or "adadelta".
        jit_compile: whether XLA compiles it.
        length: of every sentence, to which JAX then pads; otherwise it pads to one of a few shapes.
    """
    training = TrainingConfig(
        optimizer=optimizer,
        learning_rate=_LEARNING_RATES[optimizer],
        clip_norm=1.0,
        jit_compile=jit_compile,
    )
    if length:
        training = dataclasses.replace(training, max_length=length - 1, bucket_width=length)
    train_step = _train_step(model, training)

    def update(source: np.ndarray, target: np.ndarray) -> float:
        nll = train_step({"source": source, "target": target}, 0).losses["nll"]
        return float(nll.sum) / int(nll.count)

    return update


def _train_step(model: TranslationModel, training: TrainingConfig) -> Any:
    """Build the train step of Keras's backend."""
    if keras.config.backend() == "jax":
        from rnnsearch_tf.training.jax_train_step import JaxTrainStep

        return JaxTrainStep(model, training, total_updates=1)
    return TrainStep(model, training, total_updates=1)


if __name__ == "__main__":
    one_line.run(main)
