"""A training run by `model.fit`, on any devices."""

from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

from rnnsearch_tf.config import ModelConfig, TrainingConfig
from rnnsearch_tf.models.losses import SentenceLoss
from rnnsearch_tf.models.translation_model import TranslationModel
from rnnsearch_tf.training.distribution import build_strategy
from rnnsearch_tf.training.optimizers import build_optimizer


def build() -> TranslationModel:
    return TranslationModel(ModelConfig("rnnsearch", 20, 20, 3, 5, 7, 2))


def fit(strategy: str) -> tuple[TranslationModel, float]:
    """Train, and return the model and the loss of the last epoch."""
    rng = np.random.default_rng(1)
    source, target = rng.integers(3, 20, (2, 24, 5)).astype("int32")
    source[:, 4] = target[:, 4] = 1
    source[::3, 3:] = target[::2, 2:] = 0  # padding
    source[::3, 2] = target[::2, 1] = 1
    keras.utils.set_random_seed(1)
    with build_strategy(strategy).scope():
        model = build()
        model.compile(build_optimizer(TrainingConfig(clip_norm=0.1), 1), SentenceLoss())
    pairs = tf.data.Dataset.from_tensor_slices({"source": source, "target": target})
    history = model.fit(pairs.batch(8), epochs=3, verbose=0)
    return model, history.history["loss"][-1]


def save(folder: Path, model: TranslationModel, loss: float) -> None:
    """Write what `load` reads."""
    folder.mkdir()
    model.save_weights(folder / "model.weights.h5")
    (folder / "loss").write_text(str(loss))


def load(folder: Path) -> tuple[TranslationModel, float]:
    """Read a model and its loss."""
    model = build()
    model.load_weights(folder / "model.weights.h5")
    return model, float((folder / "loss").read_text())
