"""The decoder: look at the source, update the state (paper, section 3.1 and appendix A.2.2)."""

from __future__ import annotations

from typing import Any, NamedTuple

import keras
from keras import ops

from rnnsearch_tf.config import InitialWeights, StepOrder, check_choice, choices
from rnnsearch_tf.layers import initializers
from rnnsearch_tf.layers.attention import BahdanauAttention, LastAnnotation
from rnnsearch_tf.layers.attentive_recurrence import Outputs, Weights, attentive_recurrence
from rnnsearch_tf.layers.embedding import WordEmbedding
from rnnsearch_tf.layers.gru import ContextGRUCell
from rnnsearch_tf.layers.precision import PreciseLayer, joined, product
from rnnsearch_tf.layers.scan import scan
from rnnsearch_tf.tensor_types import Bool, Float, Int, Tensor


class DecoderOutputs(NamedTuple):
    """Outputs of the decoder, from which y_i is predicted."""

    state: Float[Tensor, "*rows n"]  # s_{i-1} or s_i, by the step order
    words: Float[Tensor, "*rows m"]  # E y_{i-1}, zero at i = 1
    context: Float[Tensor, "*rows two_n"]  # c_i
    alignment: Float[Tensor, "*rows Tx"]  # α_i


@keras.saving.register_keras_serializable("rnnsearch_tf")
class InitialState(PreciseLayer):
    """s_0 = tanh(W_s ←h_1 + b_s)  (appendix A.2.2); RNNencdec has →h_Tx in place of ←h_1.

    Weights, stored transposed: `W_s` [n, n], `b_s` [n]. `units` is n.
    """

    def __init__(self, units: int, initial_weights: InitialWeights = "paper", **kwargs: Any):
        super().__init__(**kwargs)
        self.units = units
        self.initial_weights = initial_weights

    def build(self, summary_shape: tuple) -> None:
        """Create the weights."""
        matrix = initializers.matrix(self.initial_weights)
        self.W_s = self.add_weight((summary_shape[-1], self.units), matrix, name="W_s")
        self.b_s = self.add_weight((self.units,), "zeros", name="b_s")

    def call(self, summary: Float[Tensor, "B _"]) -> Float[Tensor, "B n"]:
        """Return the initial states, from the encoder's summaries."""
        return ops.tanh(product(self.wide(summary), self.factor(self.W_s), self.b_s))


@keras.saving.register_keras_serializable("rnnsearch_tf")
class Decoder(PreciseLayer):
    """The recurrence of the target side, in one of two step orders.

    Both begin by looking: c_i = attention(s_{i-1}, h). Then

        look_generate_update (the authors' code, the default):
            y_i ~ g(s_{i-1}, y_{i-1}, c_i),  s_i = f(s_{i-1}, y_i, c_i)
        look_update_generate (section 3.1):
            s_i = f(s_{i-1}, y_{i-1}, c_i),  y_i ~ g(s_i, y_{i-1}, c_i)

    There is no start symbol: y_0 is the zero vector. g is `MaxoutDeepOutput`, a layer of its own.

    This is teacher forcing; `models.translation_step` takes the same step one word at a time.

    Args:
        vocabulary_size: K, the number of target words.
        embedding_size: m.
        units: n, the number of hidden units.
        attention: `BahdanauAttention`, `LastAnnotation` (RNNencdec), or another layer with their
            methods (see `layers.attention`). Its name prefixes those of its weights
            (`attention/W_a`). Use it in this decoder alone: the outputs include α, and a model that
            also calls it elsewhere cannot be loaded from a `.keras` file.
        step_order: "look_generate_update" or "look_update_generate".
        dropout: dropout rate of the embeddings.
        initial_weights: "paper" (appendix B.1) or "glorot".

    Raises:
        ValueError: units below 1, an unknown step order, or an `attention` without a `keys` method.

    Examples:
        Two sentences, n = 5: annotations of three words, summaries, four target words.

        >>> from rnnsearch_tf.layers import BahdanauAttention, LastAnnotation
        >>> decoder = Decoder(11, 3, 5, BahdanauAttention(7, name="attention"))
        >>> target = keras.ops.array([[4, 9, 6, 1], [7, 1, 0, 0]])
        >>> annotations, summary = keras.random.normal([2, 3, 10]), keras.random.normal([2, 5])
        >>> outputs = decoder(target, annotations, summary, keras.ops.ones([2, 3], "bool"))
        >>> print(outputs.state.shape, outputs.alignment.shape)
        (2, 4, 5) (2, 4, 3)
    """

    def __init__(
        self,
        vocabulary_size: int,
        embedding_size: int,
        units: int,
        attention: keras.layers.Layer,
        step_order: StepOrder = "look_generate_update",
        dropout: float = 0.0,
        initial_weights: InitialWeights = "paper",
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        check_choice("step order", step_order, choices(StepOrder))
        if not hasattr(attention, "keys"):
            raise ValueError(f"attention: expected a layer with keys and call, not {attention!r}")
        self.updates_first = step_order == "look_update_generate"
        shared: dict[str, Any] = {"initial_weights": initial_weights, "dtype": self.dtype_policy}
        self.embedding = WordEmbedding(
            vocabulary_size, embedding_size, dropout, name="target_embedding", **shared
        )
        self.initial_state = InitialState(units, name="initial_state", **shared)
        self.attention = attention
        self.cell = ContextGRUCell(units, name="decoder", **shared)

    def build(
        self,
        target_shape: tuple,
        annotations_shape: tuple,
        summary_shape: tuple,
        annotations_mask_shape: tuple | None = None,  # Keras 3.12 passes no shape of a mask
    ) -> None:
        """Create the weights."""
        self.embedding.build(target_shape)
        self.initial_state.build(summary_shape)
        if not self.attention.built:
            self.attention.build((None, self.cell.units), annotations_shape)
        self.cell.build((None, self.embedding.size), (None, annotations_shape[-1]))
        self.freeze_parts(self.embedding, self.initial_state, self.attention, self.cell)

    def call(
        self,
        target: Int[Tensor, "B Ty"],
        annotations: Float[Tensor, "B Tx two_n"],
        summary: Float[Tensor, "B n"],
        annotations_mask: Bool[Tensor, "B Tx"] | None = None,
        training: bool = False,
        positions_first: bool = False,
    ) -> DecoderOutputs:
        """Read given target sentences (teacher forcing).

        Args:
            target: ids, each sentence ending in `</s>`, then padding 0; Ty ≥ 1.
            annotations: h.
            summary: what s_0 is made from.
            annotations_mask: false at padding; by default the Keras mask of `annotations`, if they
                have one.
            training: whether dropout acts.
            positions_first: whether the outputs are [Ty, B, ...], as they are computed.

        Returns:
            The outputs [B, Ty, ...]. Those at i depend on `target[:, :i]` only.
        """
        annotations, summary = self.wide(annotations), self.wide(summary)
        keys = self.attention.keys(annotations)
        start = self.initial_state(summary)
        words = self.embedding(ops.transpose(target[:, :-1]), training=training)  # [Ty-1, B, m]
        previous = ops.pad(words, ((1, 0), (0, 0), (0, 0)))  # [Ty, B, m]
        inputs = self.cell.project(previous if self.updates_first else words)
        # By the exact type: a subclass may compute other energies. Both loops have one dtype.
        ways = {
            (BahdanauAttention, self.variable_dtype): self._unroll_attentive,
            (LastAnnotation, self.variable_dtype): self._unroll_constant_context,
        }
        attention = type(self.attention), self.attention.variable_dtype
        unroll = ways.get(attention, self._unroll_step_by_step)
        given = annotations, keys, annotations_mask
        last, (states, contexts, alignments) = unroll(inputs, start, *given)
        if not self.updates_first:  # the last word is predicted from the last state: only look
            context, alignment = map(self.wide, self._look(last, *given))
            states = ops.concatenate([start[None], states])
            contexts = ops.concatenate([contexts, context[None]])
            alignments = ops.concatenate([alignments, alignment[None]])
        outputs = DecoderOutputs(states, previous, contexts, alignments)
        if positions_first:
            return outputs
        return DecoderOutputs(*(ops.transpose(x, (1, 0, 2)) for x in outputs))

    def compute_output_spec(self, target: Any, annotations: Any, *_: Any, **named: Any) -> Any:
        """Return the outputs of a functional model, without tracing `call`."""
        _, positions, context_size = annotations.shape
        sizes = (self.cell.units, self.embedding.size, context_size, positions)
        rows = target.shape[::-1] if named.get("positions_first") else target.shape
        return DecoderOutputs(*(self.symbol(*rows, size) for size in sizes))

    def _look(self, state: Any, annotations: Any, keys: Any, mask: Any) -> tuple[Any, Any]:
        return self.attention(state, annotations, keys=keys, annotations_mask=mask)

    def _unroll_step_by_step(
        self, inputs: Any, start: Any, annotations: Any, keys: Any, mask: Any
    ) -> tuple[Any, Outputs]:
        """Look, then update: the step of the paper, with automatic gradients."""
        recurrent = self.cell.recurrent_weights  # joined once, outside the loop

        def step(state: Any, word_inputs: Any) -> tuple[Any, Outputs]:
            context, alignment = map(self.wide, self._look(state, annotations, keys, mask))
            state = self.cell.update(
                word_inputs + self.cell.project_context(context), state, recurrent
            )
            return state, Outputs(state, context, alignment)

        outputs_like = Outputs(start, annotations[:, 0], annotations[:, :, 0])
        return scan(step, start, inputs, outputs_like, differentiable=True)

    def _unroll_attentive(
        self, inputs: Any, start: Any, annotations: Any, keys: Any, mask: Any
    ) -> tuple[Any, Outputs]:
        """Unroll with `BahdanauAttention`, by a recurrence that has a gradient of its own."""
        attention, cell = self.attention, self.cell
        U_gates, U = cell.recurrent_weights
        weights = Weights(
            W_a_U_gates=joined(attention.W_a, U_gates),
            C=joined(cell.C_z, cell.C_r, cell.C),
            U=U,
            v_a=joined(attention.v_a),
        )
        return attentive_recurrence(
            inputs, start, annotations, keys, weights, mask, self.compute_dtype
        )

    def _unroll_constant_context(
        self, inputs: Any, start: Any, annotations: Any, keys: Any, mask: Any
    ) -> tuple[Any, Outputs]:
        """Unroll with an attention that ignores the states, so that the context is the same."""
        looked = self._look(start, annotations, keys, mask)
        states = self.cell.unroll(inputs + self.cell.project_context(looked[0]), start)
        steps = ops.shape(inputs)[0]
        outputs = Outputs(states, *(ops.repeat(x[None], steps, axis=0) for x in looked))
        return start, outputs  # in place of the last state, which this attention does not read

    def get_config(self) -> dict[str, Any]:
        """Return the arguments of the constructor."""
        attention = keras.saving.serialize_keras_object(self.attention)
        attention.pop("build_config", None)  # the decoder builds it, for the paths of its weights
        return {**super().get_config(), "attention": attention}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Decoder:
        """Rebuild a decoder from `get_config`, with fresh weights."""
        attention = keras.saving.deserialize_keras_object(config["attention"])
        return cls(**{**config, "attention": attention})
