"""The checks of shapes are on, and the package runs without what they need."""

import jaxtyping
import keras
import numpy as np
import pytest
import tensorflow as tf

from rnnsearch_tf.decoding import model_search
from rnnsearch_tf.decoding.beam_search import beam_search
from rnnsearch_tf.decoding.continuations import best_continuations
from rnnsearch_tf.decoding.scoring import LengthNormalization
from rnnsearch_tf.layers import attention as attention_module
from rnnsearch_tf.layers import precision
from rnnsearch_tf.layers.attention import BahdanauAttention
from rnnsearch_tf.layers.decoder import Decoder, DecoderOutputs
from rnnsearch_tf.layers.deep_output import MaxoutDeepOutput
from rnnsearch_tf.layers.gru import GRUCell
from rnnsearch_tf.models import losses
from rnnsearch_tf.models.translation_model import TranslationModel
from rnnsearch_tf.models.translation_step import TranslationStep

B, TX, N = 2, 3, 5


def normal(*shape: int) -> np.ndarray:
    return np.ones(shape, "float32")


@pytest.fixture
def attention() -> BahdanauAttention:
    layer = BahdanauAttention(7)
    layer.build((None, N), (None, TX, 2 * N))
    return layer


def call(attention: BahdanauAttention, mask: object) -> tuple:
    return attention.call(normal(B, N), normal(B, TX, 2 * N), annotations_mask=mask)


def test_right_shapes_pass(attention):
    call(attention, np.ones([B, TX], bool))


@pytest.mark.parametrize("shape", [(B, 1), (1, TX)], ids=str)  # TensorFlow would broadcast both
def test_a_wrong_size_is_caught(attention, shape):
    with pytest.raises(jaxtyping.TypeCheckError, match="annotations_mask"):
        call(attention, np.ones(shape, bool))


def test_a_wrong_dtype_is_caught(attention):
    with pytest.raises(jaxtyping.TypeCheckError, match="annotations_mask"):
        call(attention, np.ones([B, TX], "float32"))


def test_a_wrong_rank_is_caught(attention):
    with pytest.raises(jaxtyping.TypeCheckError, match="target"):
        Decoder(11, 3, N, attention).call(np.ones([B], "int32"), None, None, None)


def test_a_wrong_result_is_caught(attention, monkeypatch):
    monkeypatch.setattr(attention_module, "product", lambda x, matrix: x[:, 1:])
    with pytest.raises(jaxtyping.TypeCheckError, match="return value"):
        attention.keys(normal(B, TX, 2 * N))


def trace(attention: BahdanauAttention, *shape: int | None) -> None:
    graph = tf.function(lambda mask: call(attention, mask), autograph=False)
    graph.get_concrete_function(tf.TensorSpec(shape, tf.bool))


def test_wrong_sizes_are_caught_in_a_graph(attention):
    with pytest.raises(jaxtyping.TypeCheckError, match="annotations_mask"):
        trace(attention, None, TX + 1)


@pytest.mark.parametrize("shape", [(None, TX), (B, None), (None, None)], ids=str)
def test_sizes_that_a_graph_does_not_know_agree_with_all(attention, shape):
    trace(attention, *shape)


def test_wrong_sizes_are_caught_in_symbolic_tensors(attention):
    states, annotations = keras.Input((N,)), keras.Input((TX, 2 * N))
    attention(states, annotations, annotations_mask=keras.Input((TX,), dtype="bool"))
    with pytest.raises(jaxtyping.TypeCheckError, match="annotations_mask"):
        attention.call(states, annotations, None, keras.Input((TX + 1,), dtype="bool"))


def test_fields_of_named_tuples_are_checked():
    decoder = Decoder(11, 3, N, BahdanauAttention(7))
    inputs = normal(B, TX, 2 * N), normal(B, N), np.ones([B, TX], bool)
    outputs = decoder(np.ones([B, 4], "int32"), *inputs)
    assert isinstance(outputs, DecoderOutputs)
    readout = MaxoutDeepOutput(4, 11)
    readout(outputs.state, outputs.words, outputs.context)
    step = TranslationStep(decoder, readout, *inputs)
    carried = step.advance(step.start().carried, tf.constant([4, 6])).carried
    with pytest.raises(jaxtyping.TypeCheckError, match="previous"):
        step.advance(carried._replace(gates=carried.gates[:1]), tf.constant([4, 6]))


def test_named_axes_in_front_agree():
    with pytest.raises(jaxtyping.TypeCheckError, match="state"):
        GRUCell(N).call(normal(2, 4, 3), normal(2, 1, N))
    logits, before = tf.zeros([2, 3, 11]), tf.zeros([2, 3])
    found = best_continuations(logits, before, before, k=4, eos_id=1)
    assert found.words.shape == [2, 4]
    with pytest.raises(jaxtyping.TypeCheckError, match="before_eos"):
        best_continuations(logits, before, before[:1], k=4, eos_id=1)


@pytest.mark.parametrize(
    "function",
    [
        LengthNormalization.score,
        beam_search,
        model_search.search,
        TranslationStep.predict_token,
        TranslationModel.token_losses,
        losses.output_cross_entropy,
        losses.SentenceLoss.call,
        precision.product,
    ],
    ids=lambda function: function.__qualname__,
)
def test_models_losses_and_search_are_checked_too(function):
    assert hasattr(function, "__wrapped__")
