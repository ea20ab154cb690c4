"""Keras's own loop and files: `fit` on training batches, `.keras` files, other backends refused."""

import dataclasses
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from known_pairs import pairs_of_lengths

from rnnsearch_tf.config import Config, ModelConfig, TrainingConfig
from rnnsearch_tf.data.batching import training_batches
from rnnsearch_tf.data.parallel_corpus import ParallelText
from rnnsearch_tf.errors import InputError
from rnnsearch_tf.inference.translator import Translator
from rnnsearch_tf.layers.precision import dtype_policy
from rnnsearch_tf.models.losses import SentenceLoss
from rnnsearch_tf.models.model_directory import ModelDirectory
from rnnsearch_tf.models.translation_model import TranslationModel
from rnnsearch_tf.text.vocabulary import SPECIAL_TOKENS, Vocabulary
from rnnsearch_tf.training.optimizers import Adadelta, build_optimizer
from rnnsearch_tf.training.run import train

SIZES = ModelConfig("rnnsearch", 20, 20, 3, 5, 7, 2)
TRAINING = TrainingConfig(
    batch_size=3, bucket_width=4, max_length=7, learning_rate_schedule="linear", clip_norm=0.5
)
PAIRS = pairs_of_lengths((1, 2), (3, 1), (6, 7), (2, 2), (5, 4), (7, 3), (2, 3))


def batches() -> Any:
    return training_batches(PAIRS, TRAINING, epoch=0)


def compiled() -> TranslationModel:
    model = TranslationModel(SIZES)
    accuracy = keras.metrics.SparseCategoricalAccuracy(name="accuracy")
    model.compile(build_optimizer(TRAINING, 100), SentenceLoss(), metrics=[accuracy])
    return model


@pytest.fixture(scope="module")
def trained() -> TranslationModel:
    model = compiled()
    model.fit(batches(), verbose=0)
    return model


def test_the_loss_on_training_batches_is_that_of_given_targets(trained):
    with_targets = batches().map(lambda batch: (batch, batch["target"]))
    assert trained.evaluate(batches(), verbose=0) == trained.evaluate(with_targets, verbose=0)


def test_a_guide_is_not_silently_left_out(trained):
    guided = batches().map(lambda batch: {**batch, "guide": 0})
    (arrays,) = guided.take(1)
    for x in (guided, guided.map(lambda batch: (batch, batch["target"])), arrays):
        for method in (trained.fit, trained.evaluate):
            with pytest.raises(ValueError, match="fit has no guided alignment loss"):
                method(x)


def test_smoothed_labels_are_not_silently_left_out(trained):
    config = dataclasses.replace(trained.config, label_smoothing=0.1)
    with pytest.raises(ValueError, match="fit has neither label smoothing nor R-Drop"):
        TranslationModel(config).fit(batches())
    with pytest.raises(ValueError, match="fit has neither label smoothing nor R-Drop"):
        TranslationModel(config).train_on_batch(next(iter(batches())))
    with pytest.raises(ValueError, match="fit has no weights of words"):
        trained.train_on_batch(next(iter(batches())), None, None, {1: 2.0})


def test_averages_of_weights_are_not_taken_for_the_weights(trained):
    model = TranslationModel(trained.config)
    model.compile(build_optimizer(TrainingConfig(weight_average=0.9), 10), SentenceLoss())
    with pytest.raises(ValueError, match="fit takes no average of the weights"):
        model.fit(batches())


def test_weights_of_sentences_count_without_y(trained):
    """After wrong calls: with them, TensorFlow would trace steps without optimizer variables."""
    (batch,) = batches().take(1)
    arrays = {name: ids.numpy() for name, ids in batch.items()}
    weights = np.arange(len(arrays["source"]), dtype="float32")
    model = compiled()
    with pytest.raises(ValueError, match="sample_weight must have one weight per sentence"):
        model.fit(arrays, sample_weight=np.ones(arrays["target"].shape), verbose=0)
    with pytest.raises(ValueError, match="batches need source and target, and have source"):
        model.fit({"source": arrays["source"]}, verbose=0)
    model.set_weights(trained.get_weights())
    given = model.evaluate(arrays, arrays["target"], sample_weight=weights, verbose=0)
    assert model.evaluate(arrays, sample_weight=weights, verbose=0) == given
    assert model.evaluate(arrays, verbose=0)[0] != given[0]
    history = model.fit(
        arrays, sample_weight=0 * weights, validation_data=(arrays, None, weights), verbose=0
    ).history
    assert history["loss"] == [0.0]
    np.testing.assert_allclose(history["val_loss"], given[0], rtol=1e-5)
    with pytest.raises(ValueError, match="fit has no weights of words"):
        model.fit(arrays, class_weight={2: 0.1})


def keras_methods(model):
    return model.fit, model.evaluate, model.train_on_batch, model.test_on_batch


def test_a_target_that_is_shifted_already_is_refused(trained):
    (batch,) = batches().take(1)
    arrays = {name: ids.numpy() for name, ids in batch.items()}
    target = arrays["target"]
    shifted = {**arrays, "target": target[:, :-1]}
    for x, y in ((shifted, target[:, 1:]), (arrays, target[::-1])):
        for method in keras_methods(trained):
            with pytest.raises(ValueError, match="the model shifts it itself"):
                method(x, y)


def test_the_targets_of_a_dataset_count_whatever_is_beside_them(trained):
    with_others = batches().map(lambda batch: (batch, tf.roll(batch["target"], -1, axis=1)))
    as_they_are = trained.evaluate(batches(), verbose=0, return_dict=True)
    assert trained.evaluate(with_others, verbose=0, return_dict=True) == as_they_are


def test_arrays_without_names_are_refused(trained):
    (batch,) = batches().take(1)
    source, target = batch["source"].numpy(), batch["target"].numpy()
    for x, y in (([source, target], None), ((source, target), target), (source, target)):
        for method in keras_methods(trained):
            with pytest.raises(ValueError, match="fit takes arrays as"):
                method(x, y)


def test_weights_of_tokens_are_refused(trained):
    weighted = batches().map(
        lambda batch: (batch, batch["target"], tf.cast(batch["target"] != 0, tf.float32))
    )
    with pytest.raises(ValueError, match="sample_weight must have one weight per sentence"):
        trained.evaluate(weighted, verbose=0)


def test_a_compiled_model_goes_on_training_after_it_was_loaded(trained, tmp_path):
    trained.save(tmp_path / "model.keras")
    again = keras.models.load_model(tmp_path / "model.keras")
    assert type(again) is TranslationModel
    assert type(again.optimizer) is Adadelta
    assert again.config == trained.config
    losses = [model.fit(batches(), verbose=0).history for model in (trained, again)]
    assert losses[0] == losses[1]
    assert int(again.optimizer.iterations) == int(trained.optimizer.iterations) == 8
    for a, b in zip(again.get_weights(), trained.get_weights(), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_clone_computes_the_same(trained):
    clone = keras.models.clone_model(trained)
    clone.set_weights(trained.get_weights())
    (batch,) = batches().take(1)
    np.testing.assert_array_equal(clone(batch), trained(batch))


def test_precision_and_frozen_layers_are_in_the_config():
    with dtype_policy("mixed_bfloat16"):
        model = TranslationModel(SIZES)
    model.encoder.trainable = False
    again = TranslationModel.from_config(model.get_config())
    assert again.decoder.cell.compute_dtype == "bfloat16"
    assert len(again.trainable_weights) == len(model.trainable_weights) < len(model.weights)
    assert keras.config.dtype_policy().name == "float32"
    encoder = keras.layers.deserialize(keras.layers.serialize(model.encoder))
    assert encoder.forward_cell.compute_dtype == "bfloat16"


@pytest.mark.parametrize("name", ["adadelta", "adam"])
def test_optimizers_are_serialized(name):
    optimizer = build_optimizer(TrainingConfig(optimizer=name, clip_norm=0.5), 10)
    stored = keras.saving.serialize_keras_object(optimizer)
    again = keras.saving.deserialize_keras_object(stored)
    assert (type(again), again.clip_norm) == (type(optimizer), 0.5)
    assert again.get_config() == optimizer.get_config()


def test_another_backend_is_refused_in_one_line(monkeypatch, tmp_path):
    monkeypatch.setattr(keras.config, "backend", lambda: "torch")
    said = r"set KERAS_BACKEND=tensorflow \(it is torch\) before Keras is imported$"
    with pytest.raises(InputError, match=said):
        Translator.load(Path("model"))
    with pytest.raises(InputError, match=said):
        train(Config(), tmp_path / "model", ParallelText(["a"], ["b"]))
    assert not list(tmp_path.iterdir())


def test_what_fit_has_trained_is_saved_in_a_model_directory(trained, tmp_path):
    vocabulary = Vocabulary([*SPECIAL_TOKENS, *(f"w{i}" for i in range(17))])
    directory = ModelDirectory(tmp_path)
    config = Config(model=SIZES, training=TRAINING)
    shorter = Vocabulary(vocabulary.tokens[:-1])
    with pytest.raises(InputError, match=r"of 20 and 19 tokens, but .* sizes of 20 and 20"):
        directory.create(config, vocabulary, shorter)
    assert not directory.is_complete()
    directory.create(config, vocabulary, vocabulary)
    directory.save_weights(trained, "best")
    for weight, kept in zip(trained.weights, directory.load_model().weights, strict=True):
        np.testing.assert_array_equal(weight, kept)
