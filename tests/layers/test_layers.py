"""Each layer by itself: shapes, config round trip, and numbers worked out by hand."""

import contextlib
import inspect
import json
import re
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops, tree

from rnnsearch_tf.layers.attention import BahdanauAttention, LastAnnotation, masked_softmax
from rnnsearch_tf.layers.decoder import Decoder, InitialState
from rnnsearch_tf.layers.deep_output import MaxoutDeepOutput
from rnnsearch_tf.layers.embedding import WordEmbedding
from rnnsearch_tf.layers.encoder import Encoder
from rnnsearch_tf.layers.gru import ContextGRUCell, GRUCell
from rnnsearch_tf.layers.lexical import LexicalModel
from rnnsearch_tf.layers.precision import (
    dtype_policy,
    executed_graph,
    is_executed_graph,
    product,
    spaced,
)
from rnnsearch_tf.models.translation_step import TranslationStep

# Sentences, states for each, source and target positions, m, n, n', l, words.
B, Q, TX, TY, M, N, N_ALIGN, L, K = 2, 3, 5, 7, 11, 13, 17, 19, 23
ATTENTIONS = [lambda: BahdanauAttention(N_ALIGN, "glorot"), LastAnnotation]
SURE = 100.0  # a gate with this bias is 1, with its negative 0


def normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(shape).normal(0, 0.5, shape)


def ids(*shape: int) -> np.ndarray:
    return np.random.default_rng(shape).integers(1, K, shape).astype("int32")


def mask(*lengths: int, width: int = TX) -> np.ndarray:
    return np.arange(width) < np.array(lengths)[:, None]


def put(layer: keras.layers.Layer, **values: object) -> None:
    """Set the weights named to these values, all others to zero."""
    names = [weight.name for weight in layer.weights]
    assert set(values) <= set(names)
    layer.set_weights(
        [np.broadcast_to(values.get(w.name, 0.0), w.shape) for w in layer.weights],
    )


def array(x: object) -> np.ndarray:
    return np.asarray(ops.convert_to_numpy(x))


def close(actual: object, expected: object) -> None:
    np.testing.assert_allclose(array(actual), expected, atol=1e-6)


def attention() -> BahdanauAttention:
    return BahdanauAttention(N_ALIGN, name="attention")


LAYERS = {
    "word_embedding": (lambda: WordEmbedding(K, M), [ids(B, TX)], [(B, TX, M)]),
    "gru_cell": (lambda: GRUCell(N), [normal(B, M), normal(B, N)], [(B, N), (B, N)]),
    "context_gru_cell": (
        lambda: ContextGRUCell(N),
        [normal(B, M), normal(B, N), normal(B, 2 * N)],
        [(B, N)],
    ),
    "attention": (
        lambda: BahdanauAttention(N_ALIGN),
        [normal(B, N), normal(B, TX, 2 * N)],
        [(B, 2 * N), (B, TX)],
    ),
    "attention_of_sentences": (
        lambda: BahdanauAttention(N_ALIGN),
        [normal(B, TY, N), normal(B, TX, 2 * N)],
        [(B, TY, 2 * N), (B, TY, TX)],
    ),
    "last_annotation_of_sentences": (
        LastAnnotation,
        [normal(B, TY, N), normal(B, TX, N)],
        [(B, TY, N), (B, TY, TX)],
    ),
    "last_annotation": (
        LastAnnotation,
        [normal(B, N), normal(B, TX, N)],
        [(B, N), (B, TX)],
    ),
    "deep_output": (
        lambda: MaxoutDeepOutput(L, K),
        [normal(B, TY, N), normal(B, TY, M), normal(B, TY, 2 * N)],
        [(B, TY, K)],
    ),
    "lexical_model": (LexicalModel, [normal(B, TY, M)], [(B, TY, M)]),
    "deep_output_with_words": (
        lambda: MaxoutDeepOutput(M, K, lexical=True),
        [normal(B, TY, N), normal(B, TY, M), normal(B, TY, 2 * N + M)],
        [(B, TY, K)],
    ),
    "encoder": (lambda: Encoder(K, M, N), [ids(B, TX)], [(B, TX, 2 * N), (B, N)]),
    "encoder_with_words": (
        lambda: Encoder(K, M, N, with_words=True),
        [ids(B, TX)],
        [(B, TX, 2 * N + M), (B, N)],
    ),
    "forward_encoder": (
        lambda: Encoder(K, M, N, bidirectional=False),
        [ids(B, TX)],
        [(B, TX, N), (B, N)],
    ),
    "initial_state": (lambda: InitialState(N), [normal(B, N)], [(B, N)]),
    "decoder": (
        lambda: Decoder(K, M, N, attention()),
        [ids(B, TY), normal(B, TX, 2 * N), normal(B, N), mask(TX, 3)],
        [(B, TY, N), (B, TY, M), (B, TY, 2 * N), (B, TY, TX)],
    ),
    "decoder_that_updates_first": (
        lambda: Decoder(K, M, N, attention(), "look_update_generate"),
        [ids(B, TY), normal(B, TX, 2 * N), normal(B, N), mask(TX, 3)],
        [(B, TY, N), (B, TY, M), (B, TY, 2 * N), (B, TY, TX)],
    ),
    "decoder_without_attention": (
        lambda: Decoder(K, M, N, LastAnnotation(name="attention")),
        [ids(B, TY), normal(B, TX, N), normal(B, N), mask(TX, 3)],
        [(B, TY, N), (B, TY, M), (B, TY, N), (B, TY, TX)],
    ),
}


@pytest.fixture(params=["float32", "float64", "mixed_bfloat16"])
def policy(request):
    """Set a dtype policy; it gives the dtype of weights, inputs and outputs."""
    with dtype_policy(request.param):
        yield keras.DTypePolicy(request.param).variable_dtype


@pytest.fixture
def mixed_bfloat16():
    with dtype_policy("mixed_bfloat16"):
        yield


@pytest.mark.parametrize("name", LAYERS)
def test_shapes_dtypes_and_config_round_trip(policy, name):
    make: Any
    make, inputs, shapes = LAYERS[name]
    inputs = [x if x.dtype.kind != "f" else x.astype(policy) for x in inputs]
    layer = make()
    layer(*inputs)
    layer.set_weights([normal(*w.shape) for w in layer.get_weights()])
    outputs = [array(x) for x in tree.flatten(layer(*inputs))]
    assert [x.shape for x in outputs] == shapes
    assert {x.dtype.name for x in outputs} == {policy}

    stored = json.loads(json.dumps(keras.layers.serialize(layer)))
    assert stored["registered_name"] == f"rnnsearch_tf>{type(layer).__name__}"
    stored.pop("build_config")  # that builds it under another path
    copy = keras.layers.deserialize(stored)
    assert type(copy) is type(layer)
    copy(*inputs)
    assert [w.path for w in copy.weights] == [w.path for w in layer.weights]
    copy.set_weights(layer.get_weights())
    for again, output in zip(tree.flatten(copy(*inputs)), outputs, strict=True):
        np.testing.assert_array_equal(array(again), output)


# --- gated hidden units ---------------------------------------------------------------------------


def gru(**weights: object) -> GRUCell:
    cell = GRUCell(2)
    cell.build((None, 1))
    put(cell, **weights)
    return cell


STATE = np.array([[0.3, 0.5]], "float32")
WORD = np.array([[1.0]], "float32")


def test_gru_without_an_update_keeps_its_state():
    cell = gru(b_z=-SURE, W=2.0, U=3.0, b=4.0)
    close(cell(WORD, STATE)[0], STATE)


def test_gru_resets_before_the_recurrent_matrix():
    swap = [[0, 1], [1, 0]]
    cell = gru(b_z=SURE, b_r=[-SURE, SURE], U=swap)  # r = (0, 1); swap (0, 0.5)
    close(cell(WORD, STATE)[0], np.tanh([[0.5, 0.0]]))


def test_context_reaches_gates_and_candidate():
    cell = ContextGRUCell(2)
    cell.build((None, 1), (None, 3))
    context = np.array([[1.0, 2.0, 4.0]], "float32")
    put(cell, C_z=-SURE, C=1.0)
    close(cell(WORD, STATE, context), STATE)
    put(cell, b_z=SURE, C=[[0.1, 0], [0.1, 0], [0, 0.1]])
    close(cell(WORD, STATE, context), np.tanh([[0.3, 0.4]]))
    put(cell, b_z=SURE, C_r=-SURE, U=1.0)
    close(cell(WORD, STATE, context), [[0, 0]])


# --- attention ------------------------------------------------------------------------------------


def test_alignment_without_v_a_is_uniform_over_real_words():
    attention = BahdanauAttention(N_ALIGN)
    attention.build((None, N), (None, TX, 2))
    put(attention, W_a=1.0, U_a=1.0)
    annotations = np.array([[[1, 10], [2, 20], [6, 60], [99, 99], [99, 99]]] * B, "float32")
    annotations[1] *= 2
    context, alignment = attention(normal(B, Q, N), annotations, annotations_mask=mask(3, 2))
    close(alignment, [[[1 / 3, 1 / 3, 1 / 3, 0, 0]] * Q, [[1 / 2, 1 / 2, 0, 0, 0]] * Q])
    close(context, [[[3, 30]] * Q] * B)


def test_keys_computed_in_advance_change_nothing():
    attention = BahdanauAttention(N_ALIGN)
    state, annotations = normal(B, N), normal(B, TX, 2 * N)
    attention(state, annotations)
    attention.set_weights([normal(*w.shape) for w in attention.get_weights()])
    keys = attention.keys(annotations.astype("float32"))
    assert keys.shape == (B, TX, N_ALIGN)
    for given, computed in zip(
        attention(state, annotations, keys=keys), attention(state, annotations), strict=True
    ):
        close(given, array(computed))


def test_last_annotation_is_that_of_the_last_real_word():
    # A forward encoder repeats the last real state over padding.
    annotations = np.array([[[1.0], [2.0], [3.0], [3.0], [3.0]], [[5.0]] + [[6.0]] * 4])
    layer, states = LastAnnotation(), normal(B, Q, N)
    context, alignment = layer(states, annotations, annotations_mask=mask(3, 2))
    close(context, [[[3]] * Q, [[6]] * Q])
    close(alignment, [[[0, 0, 1, 0, 0]] * Q, [[0, 1, 0, 0, 0]] * Q])
    close(LastAnnotation()(normal(B, N), annotations)[1], [[0, 0, 0, 0, 1]] * B)


# --- embedding and readout ------------------------------------------------------------------------


def test_embedding_looks_rows_up():
    embedding = WordEmbedding(3, 2)
    embedding.build((None, None))
    put(embedding, E=[[0, 0], [1, 10], [2, 20]])
    close(embedding(np.array([[2, 1], [0, 2]])), [[[2, 20], [1, 10]], [[0, 0], [2, 20]]])


def test_embedding_dropout_acts_in_training_alone():
    embedding = WordEmbedding(2, 1009, dropout=0.5)
    embedding.build((None, None))
    put(embedding, E=1.0)
    words = np.array([[1]])
    close(embedding(words), np.ones([1, 1, 1009]))
    assert set(np.unique(array(embedding(words, training=True)))) == {0.0, 2.0}


def readout(**weights: object) -> MaxoutDeepOutput:
    layer = MaxoutDeepOutput(3, 2)
    layer.build((None, 1), (None, 1), (None, 1))
    put(layer, **weights)
    return layer


@pytest.mark.parametrize(
    ("columns", "dtype", "padded"),
    [(512, "float32", 528), (1024, "float32", 1040), (500, "float32", 500), (512, "bfloat16", 512)],
)
def test_columns_that_a_product_drops_again(columns, dtype, padded):
    x = np.random.default_rng(0).normal(size=(2, 3, 4)).astype("float32")
    matrix = ops.cast(np.arange(4 * columns, dtype="float32").reshape(4, columns) / 1e3, dtype)
    y = product(x, spaced(matrix), columns=columns)
    assert spaced(matrix).shape == (4, padded)
    np.testing.assert_allclose(y, product(x, matrix), rtol=1e-5, atol=1e-5)


def test_maxout_takes_adjacent_pairs():
    layer = readout(b_o=[1, 4, 3, 2, -5, -6])
    close(layer.maxout(*np.zeros([3, 1, 1], "float32")), [[4, 3, -5]])


def test_initial_state_is_a_tanh_with_a_bias():
    layer = InitialState(2)
    layer.build((None, 3))
    put(layer, W_s=[[1, 0], [0, 1], [1, 1]], b_s=[0.0, 0.5])
    close(layer(np.array([[0.1, 0.2, 0.4]])), np.tanh([[0.5, 1.1]]))


# --- encoder and decoder --------------------------------------------------------------------------


def random_layer(layer: keras.layers.Layer, *inputs: np.ndarray) -> keras.layers.Layer:
    layer(*inputs)
    layer.set_weights([normal(*w.shape) for w in layer.get_weights()])
    return layer


def test_encoder_keeps_its_state_over_padding():
    padded = np.array([[4, 9, 1, 0, 0], [3, 8, 5, 7, 1]])
    encoder = random_layer(Encoder(K, M, N, bidirectional=False), padded)
    annotations, summary = map(array, encoder(padded))
    close(annotations[0, 3:], annotations[0, [2, 2]])
    close(summary, annotations[:, -1])
    close(encoder(padded[:1, :3])[1], summary[:1])


def test_summary_is_the_backward_state_of_the_first_word():
    padded = np.array([[4, 9, 1, 0, 0], [3, 8, 5, 7, 1]])
    encoder = random_layer(Encoder(K, M, N), padded)
    annotations, summary = map(array, encoder(padded))
    close(summary, annotations[:, 0, N:])
    alone = array(encoder(padded[:1, :3])[0])
    close(annotations[:1, :3], alone)
    close(annotations[0, 3:, N:], np.zeros([2, N]))  # reading begins at the last real word


def test_backward_reading_is_forward_reading_of_the_reversed_sentence():
    sentence = np.array([[4, 9, 6, 3, 1]])
    encoder = random_layer(Encoder(K, M, N), sentence)
    encoder.backward_cell.set_weights(encoder.forward_cell.get_weights())
    annotations, mirrored = array(encoder(sentence)[0]), array(encoder(sentence[:, ::-1])[0])
    close(annotations[..., N:], mirrored[:, ::-1, :N])


@keras.saving.register_keras_serializable("tests")
class MeanAnnotation(keras.layers.Layer):
    """An attention of someone else's: all source words alike."""

    def build(self, state_shape, annotations_shape):
        pass

    def keys(self, annotations):
        return annotations

    def call(self, state, annotations, keys=None, annotations_mask=None):
        real = ops.cast(annotations_mask, annotations.dtype)
        alignment = real / ops.sum(real, axis=1, keepdims=True)
        context = ops.sum(alignment[:, :, None] * annotations, axis=1)
        if len(state.shape) == 2:
            return context, alignment
        states_each = ops.shape(state)[1]
        return tuple(ops.repeat(x[:, None], states_each, axis=1) for x in (context, alignment))


def test_what_keras_casts_goes_with_what_it_does_not(mixed_bfloat16):
    """Outside a model: the gradient of a decoder, another's attention, and Keras's own loop."""
    inputs = ids(B, TY), normal(B, TX, 2 * N), normal(B, N), mask(TX, 3)
    for layer in (attention(), MeanAnnotation()):
        decoder = random_layer(Decoder(K, M, N, layer), *inputs)
        with tf.GradientTape() as tape:
            outputs = decoder(*inputs)
            total = sum(ops.sum(x) for x in outputs)
        assert {x.dtype.name for x in outputs} == {"float32"}
        gradients = tape.gradient(total, [weight.value for weight in decoder.weights])
        assert all(tf.convert_to_tensor(gradient).dtype == "float32" for gradient in gradients)
        read = outputs.state, outputs.words, outputs.context
        readout = random_layer(MaxoutDeepOutput(L, K), *read)
        step = TranslationStep(decoder, readout, *inputs[1:])
        second = step.predict_token(step.advance(step.start().carried, inputs[0][:, 0]))
        np.testing.assert_allclose(second, readout(*read)[:, 1], atol=0.05)
    bare = random_layer(Encoder(K, M, N), inputs[0])
    exact = array(bare.forward_cell.b_z)
    assert exact.dtype == "float32" and (exact != exact.astype("bfloat16")).any()
    states = tf.function(keras.layers.RNN(GRUCell(N)))(normal(B, TX, M), mask=mask(TX, 3))
    assert states.shape == (B, N)
    stacked = keras.layers.RNN([GRUCell(2), GRUCell(3)])
    # Each cell's own list, or Keras's loop on JAX takes the first cell's states for all.
    shapes = [[tuple(x.shape) for x in own] for own in stacked.get_initial_state(B)]
    assert shapes == [[(B, 2)], [(B, 3)]]
    close(stacked(normal(B, TX, M), mask=mask(2, 2)), array(stacked(normal(B, TX, M)[:, :2])))


@keras.saving.register_keras_serializable("tests")
class DotAnnotation(MeanAnnotation):
    """Its energies read the annotations, not the keys, in slices that products M h also have."""

    def call(self, state, annotations, keys=None, annotations_mask=None):
        states = state if len(state.shape) == 3 else state[:, None]
        energies = ops.matmul(states, ops.transpose(annotations[..., :N], (0, 2, 1)))
        alignment = ops.softmax(ops.where(ops.expand_dims(annotations_mask, 1), energies, -1e9))
        outputs = ops.matmul(alignment, annotations), alignment
        return outputs if len(state.shape) == 3 else tuple(x[:, 0] for x in outputs)


@pytest.mark.parametrize("layer", [attention(), DotAnnotation()])  # a loop, also of layers
def test_weights_are_joined_once_in_each_graph(layer):
    inputs = ids(B, TY), normal(B, TX, 2 * N), normal(B, N), mask(TX, 3)
    decoder = random_layer(Decoder(K, M, N, layer), *inputs)
    reads = []
    for context in (executed_graph(), contextlib.nullcontext()):

        def twice(context: Any = context) -> tuple[Any, Any]:
            with context:
                return decoder(*inputs).state, decoder(*inputs).state

        graph_function = tf.function(twice).get_concrete_function()
        for states in graph_function():
            close(states, array(decoder(*inputs).state))
        operations = graph_function.graph.get_operations()
        reads.append(sum(operation.type == "ReadVariableOp" for operation in operations))
    assert reads[0] < reads[1]


def test_a_thread_does_not_join_weights_for_another():
    with ThreadPoolExecutor(1) as other, executed_graph():
        assert is_executed_graph()
        assert not other.submit(is_executed_graph).result()
    assert not is_executed_graph()


def test_a_decoder_attends_as_it_is_told():
    inputs = ids(B, TY), normal(B, TX, 2 * N), normal(B, N), mask(TX, 3)
    outputs = random_layer(Decoder(K, M, N, MeanAnnotation()), *inputs)(*inputs)
    close(outputs.alignment[0], np.full([TY, TX], 1 / TX))
    close(outputs.context[1], [inputs[1][1, :3].mean(axis=0)] * TY)


@pytest.mark.parametrize(
    "attention",
    [
        MeanAnnotation(),
        DotAnnotation(),
        BahdanauAttention(N_ALIGN, dtype="float64"),
        LastAnnotation(dtype="float64"),
    ],
)
def test_a_decoder_takes_any_attention(attention):
    inputs = ids(B, TY), normal(B, TX, 2 * N), normal(B, N), mask(TX, 3)
    decoder = random_layer(Decoder(K, M, N, attention), *inputs)
    outputs = decoder(*inputs)
    read = outputs.state, outputs.words, outputs.context
    readout = random_layer(MaxoutDeepOutput(L, K), *read)
    step = TranslationStep(decoder, readout, *inputs[1:])
    first = step.start().carried
    each = step.advance(first, inputs[0][:, 0])
    np.testing.assert_allclose(step.predict_token(each), readout(*read)[:, 1], rtol=1e-4, atol=1e-5)
    hypotheses = tree.map_structure(lambda x: ops.repeat(x[:, None], Q, axis=1), first)
    words = np.tile(inputs[0][:, :1], [1, Q])
    together = step.predict_token(step.advance(hypotheses, words))
    np.testing.assert_allclose(together[:, Q - 1], step.predict_token(each), rtol=1e-4, atol=1e-5)

    again = Decoder.from_config(json.loads(json.dumps(decoder.get_config())))
    again(*inputs)
    again.set_weights(decoder.get_weights())
    close(again(*inputs).state, outputs.state)


# --- Keras's habits -------------------------------------------------------------------------------


def masked(x: np.ndarray, *lengths: int) -> Any:
    """The same numbers with a Keras mask, in a Keras model's input."""
    return keras.layers.Masking()(np.where(mask(*lengths)[..., None], x, 0.0))


def test_sizes_of_numpy_and_an_input_without_a_dtype():
    words = keras.Input((None,), dtype="int32")
    encoder = Encoder(np.int64(K), M, np.int32(N))
    model = keras.Model(words, encoder(words)[0])
    again = keras.models.clone_model(model)
    again.set_weights(model.get_weights())
    close(again(ids(B, TX)), model(ids(B, TX)))
    with pytest.raises(ValueError, match="the source is float32: make it"):
        encoder(keras.Input((None,)))


class Sharp(BahdanauAttention):
    """Without a `get_config` of its own; `Sharper` has one, by Keras's pattern."""

    def __init__(self, units: int, temperature: float = 1.0, **options: Any):
        super().__init__(units, **options)
        self.temperature = temperature


class Sharper(Sharp):
    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "temperature": self.temperature}


@pytest.mark.parametrize("layer_type", [Sharp, Sharper])
def test_the_config_of_a_subclass_has_all_arguments(layer_type):
    layer = layer_type(5, temperature=3.0, initial_weights="glorot", dtype="mixed_bfloat16")
    again = layer_type.from_config(json.loads(json.dumps(layer.get_config())))
    assert (again.units, again.temperature, again.initial_weights) == (5, 3.0, "glorot")
    assert again.dtype_policy == layer.dtype_policy


def test_objects_among_the_arguments():
    encoder = Encoder(K, M, N, activity_regularizer=keras.regularizers.L2(1e-3))
    assert Encoder.from_config(encoder.get_config()).activity_regularizer.l2 == 1e-3
    readout = MaxoutDeepOutput(M, K, tied_to=encoder.embedding)
    with pytest.raises(NotImplementedError, match="tied_to needs a get_config of its own"):
        readout.get_config()


def test_ids_of_small_dtypes():
    encoder = Encoder(K, M, N)
    expected = encoder(ids(B, TX))[0]
    close(encoder(ids(B, TX).astype("int8"))[0], expected)


def test_keys_before_the_layer_is_built_are_told():
    with pytest.raises(ValueError, match=r"no weights yet: build\(state_shape, annotations_shape"):
        BahdanauAttention(N_ALIGN).keys(normal(B, TX, N))


@pytest.mark.parametrize("make", ATTENTIONS)
def test_an_attention_takes_the_mask_of_its_annotations(make):
    annotations, states = masked(normal(B, TX, N), 3, 2), normal(B, TY, N)
    layer = make()
    context, alignment = layer(states, annotations)
    given = layer(states, array(annotations), annotations_mask=mask(3, 2))
    close(context, array(given[0]))
    close(alignment, array(given[1]))
    assert (array(alignment)[:, :, 3:] == 0).all()
    assert (array(alignment)[1, :, 2] == 0).all()


@pytest.mark.filterwarnings("error")  # of Keras, where a layer drops a mask
def test_contexts_and_logits_carry_the_mask_of_the_states():
    states, annotations = masked(normal(B, TX, N), 4, 1), normal(B, TX, M)
    LastAnnotation()(states, annotations)
    context, _ = BahdanauAttention(N_ALIGN, "glorot")(states, annotations)
    logits = MaxoutDeepOutput(L, K, initial_weights="glorot")(states, normal(B, TX, M), context)
    for x in (context, logits):
        mean = keras.layers.GlobalAveragePooling1D()(x)  # over real positions
        close(mean[1], array(x)[1, 0])


@pytest.mark.parametrize("make", ATTENTIONS)
def test_several_states_of_a_sentence_attend_as_each_does(make):
    layer = make()
    annotations, states = normal(B, TX, 2 * N), normal(B, Q, N)
    layer(states, annotations)
    layer.set_weights([normal(*w.shape) for w in layer.get_weights()])
    for several, one in zip(
        layer(states, annotations), layer(states[:, 1], annotations), strict=True
    ):
        close(array(several)[:, 1], array(one))


def test_more_states_than_sentences_are_an_error():
    with pytest.raises(Exception, match=r"[Bb]roadcast|[Ii]ncompatible"):
        LastAnnotation()(normal(B * Q, N), normal(B, TX, 2 * N))


def test_the_encoder_honors_a_keras_mask_and_hands_its_own_on():
    source = np.array([[4, 9, 1, 8, 5], [3, 8, 5, 7, 1]])
    encoder = random_layer(Encoder(K, M, N), source)
    ids = keras.ops.convert_to_tensor(source)
    annotations, summary = encoder(ids, mask=mask(3, 5))
    padded = encoder(np.where(mask(3, 5), source, 0))
    close(annotations, array(padded[0]))
    close(summary, array(padded[1]))
    attention = BahdanauAttention(N_ALIGN)
    alignment = array(attention(normal(B, N), encoder(np.where(mask(3, 4), source, 0))[0])[1])
    assert (alignment > 0).tolist() == mask(3, 4).tolist()
    decoder = Decoder(K, M, N, BahdanauAttention(N_ALIGN, name="attention"))
    assert (array(decoder(ids, *padded).alignment) > 0)[:, 0].tolist() == mask(3, 5).tolist()


@pytest.mark.filterwarnings("error")
def test_a_source_of_one_token_has_all_the_attention():
    attention = BahdanauAttention(N_ALIGN)
    context, alignment = attention(normal(B, N), annotations := normal(B, 1, 2 * N))
    assert array(alignment).tolist() == [[1.0]] * B
    close(context, annotations[:, 0])


@pytest.mark.parametrize("backwards", [False, True])
def test_the_cell_in_keras_rnn_reads_as_the_encoder(backwards):
    source = np.array([[4, 9, 1, 0, 0], [3, 8, 5, 7, 1]])
    encoder = random_layer(Encoder(K, M, N), source)
    annotations = array(encoder(source)[0])
    cell = encoder.backward_cell if backwards else encoder.forward_cell
    layer = keras.layers.RNN(cell, return_sequences=True, go_backwards=backwards)
    states = array(layer(encoder.embedding(source), mask=source > 0))
    half = slice(N, None) if backwards else slice(N)
    close(states[:, ::-1] if backwards else states, annotations[:, :, half])


# --- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("state", "annotations", "said"),
    [
        ((B, TX, 2 * N), (B, N), "not [B, n] or [B, Ty, n] and [B, Tx, 2n]: the two are swapped"),
        ((N,), (B, TX, 2 * N), f"shapes are ({N},) and ({B}, {TX}, {2 * N}), not [B, n] or"),
        ((B, N), (TX, 2 * N), "and [B, Tx, 2n]"),
    ],
)
@pytest.mark.parametrize("make", ATTENTIONS)
def test_an_attention_names_wrong_shapes(make, state, annotations, said):
    layer = make()
    with pytest.raises(ValueError, match=re.escape(said)) as caught:
        layer(normal(*state), normal(*annotations))
    assert f"{type(layer).__name__}(state, annotations)" in str(caught.value)


def test_an_attention_that_is_built_knows_its_widths():
    layer = BahdanauAttention(N_ALIGN)
    layer(normal(B, TY, N), normal(B, TX, 2 * N))
    with pytest.raises(ValueError, match=re.escape(f"[B, Ty, {N}] and [B, Tx, {2 * N}]: the two")):
        layer(normal(B, TX, 2 * N), normal(B, TY, N))
    with pytest.raises(ValueError, match=re.escape(f"({B}, {M}) and")) as caught:
        layer(normal(B, M), normal(B, TX, 2 * N))
    assert "swapped" not in str(caught.value)


@pytest.mark.parametrize("make", ATTENTIONS)
def test_a_mask_of_each_state_is_refused(make):
    layer = make()
    layer.build((B, TY, N), (B, TX, 2 * N))
    call = inspect.unwrap(type(layer).call)  # without the tests' own checks of shapes
    mask = np.ones((B, TY, TX), bool)
    with pytest.raises(
        ValueError, match=re.escape(f"annotations_mask is [B, Tx], not ({B}, {TY},")
    ):
        call(layer, normal(B, TY, N), normal(B, TX, 2 * N), annotations_mask=mask)


def test_a_mask_in_the_place_of_the_keys_is_refused():
    layer = BahdanauAttention(N_ALIGN)
    layer.build((B, N), (B, TX, 2 * N))
    call = inspect.unwrap(type(layer).call)
    with pytest.raises(
        ValueError, match=re.escape(f"keys are [B, Tx, {N_ALIGN}], not ({B}, {TX})")
    ):
        call(layer, normal(B, N), normal(B, TX, 2 * N), np.ones((B, TX), bool))


def test_weights_do_not_become_constants_of_a_functional_model():
    attention, cell = BahdanauAttention(N_ALIGN), GRUCell(N)
    attention.build((B, N), (B, TX, 2 * N))
    cell.build((B, M))
    for compute, width in ((attention.keys, 2 * N), (cell.project, M)):
        with pytest.raises(ValueError, match="in a functional model, call the layer itself"):
            compute(keras.Input((TX, width)))


UNKNOWN: Any = "best"


def test_unknown_step_order_is_an_error():
    with pytest.raises(ValueError, match="'best': choose one of look_generate_update, "):
        Decoder(K, M, N, attention(), UNKNOWN)


def test_unknown_initial_weights_are_an_error():
    with pytest.raises(ValueError, match="'best': choose one of paper, glorot"):
        WordEmbedding(K, M, initial_weights=UNKNOWN).build((None,))


def test_a_layer_is_saved_with_a_policy_that_was_given_as_an_object():
    policy = keras.DTypePolicy("mixed_bfloat16")
    config = json.loads(json.dumps(keras.layers.serialize(Encoder(K, M, N, dtype=policy))))
    again = keras.layers.deserialize(config)
    assert again.compute_dtype == again.forward_cell.compute_dtype == "bfloat16"
    assert again.variable_dtype == "float32"


def test_a_mask_that_keras_would_not_hand_on_is_refused():
    source = np.array([[4, 9, 1, 8, 5], [3, 8, 5, 7, 1]])
    encoder = random_layer(Encoder(K, M, N), source)
    with pytest.raises(TypeError):
        encoder(source, mask(3, 5))


def test_a_lexical_model_has_word_vectors_of_its_size():
    readout = MaxoutDeepOutput(M + 1, K, lexical=True)
    with pytest.raises(ValueError, match=f"as many units .* {M + 1} is not {M}"):
        readout(normal(B, N), normal(B, M), normal(B, 2 * N))


def test_decoders_share_an_attention():
    attention = BahdanauAttention(N_ALIGN, name="attention")
    annotations, target = normal(B, 4, 2 * N), np.array([[4, 1], [3, 1]])
    attention(normal(B, N), annotations)
    for name in ("first", "second"):
        decoder = Decoder(K, M, N, attention, name=name)
        assert decoder(target, annotations, normal(B, N)).alignment.shape == (B, 2, 4)


# --- frozen, swapped, half ------------------------------------------------------------------------


def reader(**options: Any) -> keras.Model:
    source = keras.Input((None,), dtype="int32")
    summary = Encoder(11, 3, 5, initial_weights="glorot", name="encoder", **options)(source)[1]
    return keras.Model(source, keras.layers.Dense(3)(summary))


def test_a_frozen_encoder_stays_frozen(tmp_path):
    model = reader()
    model.get_layer("encoder").trainable = False
    model.save(tmp_path / "model.keras")
    others = [
        keras.models.load_model(tmp_path / "model.keras"),
        keras.models.clone_model(model),
        keras.Model.from_config(model.get_config()),
        reader(trainable=False),
    ]
    for other in others:
        assert len(other.trainable_weights) == 2  # of the Dense
        other.get_layer("encoder").trainable = True
        assert len(other.trainable_weights) == 21


def test_a_frozen_decoder_and_readout_stay_frozen():
    attention = BahdanauAttention(7, name="attention")
    decoder = Decoder(11, 3, 5, attention, trainable=False)
    decoder.build((2, 4), (2, 3, 10), (2, 5))
    readout = MaxoutDeepOutput(3, 11, lexical=True, trainable=False)
    readout.build((2, 5), (2, 3), (2, 10))
    assert not decoder.trainable_weights and not attention.trainable_weights
    assert not readout.trainable_weights
    assert readout.lexical is not None and not readout.lexical.trainable_weights


def test_a_cell_is_trained_in_a_model_that_fit_builds():
    """In a `tf.function`, where initial weights cannot depend on new variables."""
    cell = keras.layers.RNN(GRUCell(4))
    model = keras.Sequential([keras.layers.Embedding(9, 8), cell, keras.layers.Dense(2)])
    model.compile("sgd", "mse")
    model.fit(np.ones((4, 3), "int32"), np.ones((4, 2)), verbose=0)
    first, second = (weights.numpy() for weights in (cell.cell.U_z, cell.cell.U_r))
    assert np.abs(first - second).max() > 0.1


def test_swapped_inputs_of_the_readout_are_told():
    readout = MaxoutDeepOutput(4, 11)
    state, words, context = (np.ones((2, size), "float32") for size in (5, 3, 10))
    readout(state, words, context)
    said = re.escape("(state, words, context): widths are [3, 5, 10], not [5, 3, 10]")
    with pytest.raises(ValueError, match=said):
        readout(words, state, context)
    with pytest.raises(ValueError, match=said):
        readout(*(keras.Input((size,)) for size in (3, 5, 10)))


def test_a_row_of_padding_has_an_alignment_in_float16():
    attention = BahdanauAttention(4, "glorot", dtype="float16")
    states, annotations = np.ones((2, 3, 8), "float16"), np.ones((2, 5, 6), "float16")
    mask = np.array([[1, 1, 1, 0, 0], [0] * 5], bool)
    context, alignment = attention(states, annotations, annotations_mask=mask)
    assert np.isfinite(ops.convert_to_numpy(context)).all()
    rows = ops.convert_to_numpy(alignment)[:, 0]
    np.testing.assert_allclose(rows, [[1 / 3] * 3 + [0] * 2, [1 / 5] * 5], atol=1e-3)


def test_energies_of_padding_are_below_all_others():
    energies = np.full((1, 1, 2), -1e5, "float32")
    rows = masked_softmax(ops.convert_to_tensor(energies), np.array([[True, False]]))
    np.testing.assert_array_equal(array(rows), [[[1, 0]]])


def test_what_makes_no_attention_is_told():
    for layer in (GRUCell, lambda units: MaxoutDeepOutput(units, K)):
        with pytest.raises(ValueError, match="units 0: must be at least 1"):
            layer(0)
    with pytest.raises(ValueError, match="units 0: must be at least 1"):
        BahdanauAttention(0)
    others: tuple[Any, ...] = (7, keras.layers.AdditiveAttention())
    for other in others:
        with pytest.raises(ValueError, match="attention: expected a layer with keys and call"):
            Decoder(11, 3, 5, other)
