"""Measure training: target words and updates per second, memory, seconds of the first update.

One line of JSON. Forward, backward, clipping and update, by the trainer's own step, on batches
that are in memory; dropout 0.
"""

import tempfile

import measure
import numpy as np
import tensorflow as tf
from workloads import Workload

from rnnsearch_tf.config import Config, TrainingConfig
from rnnsearch_tf.dataset import Pairs
from rnnsearch_tf.model_directory import ModelDirectory
from rnnsearch_tf.models import TranslationModel
from rnnsearch_tf.training import Trainer

_LEARNING_RATES = {"adam": 1e-3, "adadelta": 1.0}


def main() -> None:
    """Run one measurement."""
    parser = measure.argument_parser(__doc__, "training")
    parser.add_argument("--optimizer", choices=list(_LEARNING_RATES), default="adam")
    arguments = parser.parse_args()
    harness = measure.start(arguments)
    workload = harness.load(arguments.workload)
    model = TranslationModel(workload.model)
    result = harness.time_training(workload, build_update(model, workload, arguments.optimizer))
    harness.report(
        {
            "what": "train",
            "workload": workload.name,
            "optimizer": arguments.optimizer,
            **result,
            "params": model.count_params(),
            **measure.circumstances(arguments.inter_op),
        }
    )


def build_update(model: TranslationModel, workload: Workload, optimizer: str) -> measure.Update:
    """The trainer's update, the gradient's norm held to 1.

    Args:
        model: to be trained.
        workload: to be trained on.
        optimizer: "adam" or "adadelta".
    """
    training = TrainingConfig(
        optimizer=optimizer, learning_rate=_LEARNING_RATES[optimizer], gradient_norm=1.0
    )
    # A trainer wants pairs, which only its `run` reads, and a folder, to which only `run` writes.
    pairs = Pairs(*(tf.RaggedTensor.from_tensor(ids, padding=0) for ids in workload.train[0]))
    with tempfile.TemporaryDirectory() as folder:
        trainer = Trainer(Config(workload.model, training), model, ModelDirectory(folder), pairs)

    def update(source: np.ndarray, target: np.ndarray) -> float:
        done = trainer.update(source, target)
        return float(done.nll) / int(done.words)

    return update


if __name__ == "__main__":
    main()
