"""`model.fit` on as many logical CPUs as the first argument says; weights to the second."""

import sys

import keras
import logical_cpus
import numpy as np
import tensorflow as tf

from rnnsearch_tf.config import ModelConfig, TrainingConfig
from rnnsearch_tf.losses import SentenceLoss
from rnnsearch_tf.models import TranslationModel
from rnnsearch_tf.optimizer import build_optimizer
from rnnsearch_tf.strategy import build_strategy

if __name__ == "__main__":
    logical_cpus.use(int(sys.argv[1]))
    rng = np.random.default_rng(1)
    source, target = rng.integers(3, 20, (2, 24, 5)).astype("int32")
    source[:, 4] = target[:, 4] = 1
    source[::3, 3:] = target[::2, 2:] = 0  # padding
    source[::3, 2] = target[::2, 1] = 1
    keras.utils.set_random_seed(1)
    strategy = build_strategy("one" if sys.argv[1] == "1" else "mirrored")
    with strategy.scope():
        model = TranslationModel(ModelConfig("rnnsearch", 20, 20, 3, 5, 7, 2))
        config = TrainingConfig(gradient_norm=0.1)
        model.compile(build_optimizer(config, 1), SentenceLoss())
    pairs = tf.data.Dataset.from_tensor_slices(({"source": source, "target": target}, target))
    history = model.fit(pairs.batch(8), epochs=3, verbose=0)
    model.save_weights(sys.argv[2])
    print(history.history["loss"][-1])
