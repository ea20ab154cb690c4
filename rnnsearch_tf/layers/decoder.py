"""The decoder: look at the source, update the state (paper, section 3.1 and appendix A.2.2)."""

from typing import Any, NamedTuple

import keras
from keras import ops

from rnnsearch_tf.layers import initializers
from rnnsearch_tf.layers.attention import BahdanauAttention, LastAnnotation
from rnnsearch_tf.layers.embedding import WordEmbedding
from rnnsearch_tf.layers.gru import ContextGRUCell
from rnnsearch_tf.layers.precision import wide
from rnnsearch_tf.layers.scan import scan

LOOK_GENERATE_UPDATE = "look_generate_update"
LOOK_UPDATE_GENERATE = "look_update_generate"
STEP_ORDERS = (LOOK_GENERATE_UPDATE, LOOK_UPDATE_GENERATE)


class DecoderState(NamedTuple):
    """All that word y_i is predicted from; R rows, Q of them for each sentence."""

    state: Any  # s_{i-1} or s_i, by the step order, [R, n]
    words: Any  # E y_{i-1}, zero at i = 1, [R, m]
    context: Any  # c_i, [R, 2n]
    alignment: Any  # α_i, float32 [R, Tx]


class InitialState(keras.layers.Layer):
    """s_0 = tanh(W_s ←h_1 + b_s)  (appendix A.2.2).

    Weights, stored transposed: `W_s` [n, n], `b_s` [n].

    Args:
        units: n, the number of hidden units of the decoder.
        initial_weights: "paper" (appendix B.1) or "glorot".
    """

    def __init__(self, units: int, initial_weights: str = "paper", **kwargs: Any):
        super().__init__(**kwargs)
        self.units = units
        self.initial_weights = initial_weights

    def build(self, summary_shape: tuple) -> None:
        """Create the weights for summaries [B, n]."""
        matrix = initializers.matrix(self.initial_weights)
        self.W_s = self.add_weight((summary_shape[-1], self.units), matrix, name="W_s")
        self.b_s = self.add_weight((self.units,), "zeros", name="b_s")

    def call(self, summary: Any) -> Any:
        """Summaries [B, n] to initial states [B, n]."""
        return ops.tanh(ops.matmul(summary, self.W_s) + self.b_s)

    def get_config(self) -> dict[str, Any]:
        """What rebuilds this layer."""
        return {
            **super().get_config(),
            "units": self.units,
            "initial_weights": self.initial_weights,
        }


class Decoder(keras.layers.Layer):
    """The recurrence of the target side, under one of two step orders.

    Both begin by looking: c_i = attention(s_{i-1}, h). Then

        look_generate_update (the authors' code, the default):
            y_i ~ g(s_{i-1}, y_{i-1}, c_i),  s_i = f(s_{i-1}, y_i, c_i)
        look_update_generate (section 3.1):
            s_i = f(s_{i-1}, y_{i-1}, c_i),  y_i ~ g(s_i, y_{i-1}, c_i)

    There is no start symbol: y_0 is the zero vector. g is `MaxoutDeepOutput`, a layer of its own.

    Teacher forcing is `call`; one word at a time is `bind`, then `start` and `advance`. Both take
    the same step, and no state is kept on the layer.

    Args:
        vocabulary_size: K, the number of target words.
        embedding_size: m.
        units: n, the number of hidden units.
        attention_units: n' of `BahdanauAttention`; None fixes the context to the last
            annotation (RNNencdec).
        step_order: "look_generate_update" or "look_update_generate".
        dropout: share of the embeddings put to zero in training.
        initial_weights: "paper" (appendix B.1) or "glorot".
    """

    def __init__(
        self,
        vocabulary_size: int,
        embedding_size: int,
        units: int,
        attention_units: int | None,
        step_order: str = LOOK_GENERATE_UPDATE,
        dropout: float = 0.0,
        initial_weights: str = "paper",
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        if step_order not in STEP_ORDERS:
            raise ValueError(f"step order {step_order!r}: choose one of {', '.join(STEP_ORDERS)}")
        self._settings = {
            "vocabulary_size": vocabulary_size,
            "embedding_size": embedding_size,
            "units": units,
            "attention_units": attention_units,
            "step_order": step_order,
            "dropout": dropout,
            "initial_weights": initial_weights,
        }
        self.updates_first = step_order == LOOK_UPDATE_GENERATE
        self.embedding = WordEmbedding(
            vocabulary_size, embedding_size, dropout, initial_weights, name="target_embedding"
        )
        self.initial_state = InitialState(units, initial_weights, name="initial_state")
        self.attention = (
            LastAnnotation(name="attention")
            if attention_units is None
            else BahdanauAttention(attention_units, initial_weights, name="attention")
        )
        self.cell = ContextGRUCell(units, initial_weights, name="decoder")

    def build(
        self,
        target_shape: tuple,
        annotations_shape: tuple,
        summary_shape: tuple,
        source_mask_shape: tuple | None = None,  # Keras 3.12 gives none to a name with "mask"
    ) -> None:
        """Create the weights."""
        self.embedding.build(target_shape)
        self.initial_state.build(summary_shape)
        if isinstance(self.attention, BahdanauAttention):
            self.attention.build((None, self.cell.units), annotations_shape)
        else:
            self.attention.build((None, self.cell.units))
        self.cell.build((None, self.embedding.size), (None, annotations_shape[-1]))

    def call(
        self, target: Any, annotations: Any, summary: Any, source_mask: Any, training: bool = False
    ) -> DecoderState:
        """Read a given target sentence (teacher forcing).

        Args:
            target: ids int32 [B, Ty], each sentence ending in `</s>`, then padding 0.
            annotations: h, [B, Tx, 2n].
            summary: what s_0 is made from, [B, n].
            source_mask: bool [B, Tx], false at padding.
            training: whether dropout acts.

        Returns:
            For each i, what y_i is predicted from, with axes [B, Ty, ...]. Position i depends
            on `target[:, :i]` only.
        """
        step = self.bind(annotations, summary, source_mask)
        words = self.embedding(ops.transpose(target), training=training)  # [Ty, B, m]
        previous = ops.concatenate([ops.zeros_like(words[:1]), words[:-1]])
        read = previous if self.updates_first else words

        def look_and_update(carry: tuple, projected: Any) -> tuple:
            context, alignment = step.look(carry[0])
            return step.update(projected, carry[0], context), context, alignment

        first = self.initial_state(summary)
        no_context = ops.zeros_like(annotations[:, 0])
        no_alignment = ops.zeros_like(annotations[:, :, 0], dtype=wide(annotations.dtype))
        carry = (first, no_context, no_alignment)
        states, contexts, alignments = scan(look_and_update, carry, self.cell.project(read))
        if not self.updates_first:
            states = ops.concatenate([ops.expand_dims(first, 0), states[:-1]])
        outputs = DecoderState(states, previous, contexts, alignments)
        return DecoderState(*(ops.transpose(x, (1, 0, 2)) for x in outputs))

    def bind(self, annotations: Any, summary: Any, mask: Any) -> "DecoderStep":
        """The decoder before given source sentences, for one word at a time."""
        return DecoderStep(self, annotations, summary, mask)

    def get_config(self) -> dict[str, Any]:
        """What rebuilds this layer."""
        return {**super().get_config(), **self._settings}


class DecoderStep:
    """A decoder and the sentences it translates, with all that stays the same between words.

    U_a h and the joined matrices are computed here, once, outside any loop.

    Args:
        decoder: the layer.
        annotations: h, [B, Tx, 2n].
        summary: what s_0 is made from, [B, n].
        mask: bool [B, Tx], false at padding.
    """

    def __init__(self, decoder: Decoder, annotations: Any, summary: Any, mask: Any):
        self._decoder = decoder
        self._annotations = annotations
        self._keys = decoder.attention.keys(annotations)
        self._summary = summary
        self._mask = mask
        self.update = decoder.cell.bind()

    def look(self, state: Any) -> tuple[Any, Any]:
        """States [R, n] to contexts [R, 2n] and alignments [R, Tx]."""
        attention = self._decoder.attention
        return attention(state, self._annotations, keys=self._keys, source_mask=self._mask)

    def start(self) -> DecoderState:
        """What y_1 is predicted from: one row for each sentence."""
        state = self._decoder.initial_state(self._summary)
        size = self._decoder.embedding.size
        no_word = ops.zeros((ops.shape(state)[0], size), dtype=state.dtype)
        return self._see(state, no_word)

    def advance(self, previous: DecoderState, word: Any) -> DecoderState:
        """What y_{i+1} is predicted from, once y_i is chosen.

        Args:
            previous: what y_i was predicted from, R = B·Q rows.
            word: the ids of y_i, int32 [R].
        """
        words = self._decoder.embedding(word)
        state = previous.state
        if not self._decoder.updates_first:
            state = self.update(self._decoder.cell.project(words), state, previous.context)
        return self._see(state, words)

    def _see(self, state: Any, words: Any) -> DecoderState:
        context, alignment = self.look(state)
        if self._decoder.updates_first:
            state = self.update(self._decoder.cell.project(words), state, context)
        return DecoderState(state, words, context, alignment)
