"""The readout: a deep output with one maxout layer (paper, appendix A.2.2)."""

from __future__ import annotations

from typing import Any, NamedTuple

import keras
from keras import ops

from rnnsearch_tf.config import InitialWeights
from rnnsearch_tf.layers import initializers
from rnnsearch_tf.layers.embedding import WordEmbedding
from rnnsearch_tf.layers.lexical import LexicalModel
from rnnsearch_tf.layers.precision import PreciseLayer, check_units, joined, product, sizes
from rnnsearch_tf.tensor_types import Float, Int, Tensor


def maxout(pairs: Float[Tensor, "*rows two_l"]) -> Float[Tensor, "*rows l"]:
    """Return the maximum of each pair of adjacent units."""
    pairs = ops.reshape(pairs, (*sizes(pairs)[:-1], pairs.shape[-1] // 2, 2))
    return ops.maximum(*ops.unstack(pairs, axis=-1))


class Columns(NamedTuple):
    """The weights of C words."""

    W_o: Float[Tensor, "l C"]  # in the compute dtype
    b: Float[Tensor, "C"]


@keras.saving.register_keras_serializable("rnnsearch_tf")
class MaxoutDeepOutput(PreciseLayer):
    """Logits of the next word from the state, the previous word and the context.

        t̃_i = U_o s + V_o E y_{i-1} + C_o c_i + b_o
        t_i = [max(t̃_{i,2j-1}, t̃_{i,2j})]_{j=1..l}
        p(y_i | …) ∝ exp(y_iᵀ (W_o t_i + b))                 (appendix A.2.2)

    s is s_{i-1} or s_i by the step order.

    Weights, stored transposed: `U_o` [n, 2l], `V_o` [m, 2l], `C_o` [2n, 2l], `b_o` [2l],
    `W_o` [l, K], `b` [K].

    Args:
        units: l, the number of maxout units; ValueError below 1.
        vocabulary_size: K, the number of target words.
        dropout: dropout rate of the maxout units.
        initial_weights: "paper" (appendix B.1) or "glorot".
        tied_to: an embedding of the K words, m = l, whose E is used as W_o (Press & Wolf 2017). E
            is not a weight of this layer: it is trained and saved with its embedding. Of the Keras
            models with a tied readout, only `TranslationModel` can be saved as a `.keras` file; for
            others, use `save_weights`.
        lexical: whether contexts end in Σ_j α_ij E x_j, m = l, which a `LexicalModel` reads.

    Examples:
        Two states, n = 5, each with a word vector, m = 3, and a context of 2n numbers:

        >>> readout = MaxoutDeepOutput(units=4, vocabulary_size=11)
        >>> state, words, context = (keras.random.normal([2, size]) for size in (5, 3, 10))
        >>> print(readout(state, words, context).shape)
        (2, 11)
    """

    def __init__(
        self,
        units: int,
        vocabulary_size: int,
        dropout: float = 0.0,
        initial_weights: InitialWeights = "paper",
        tied_to: WordEmbedding | None = None,
        lexical: bool = False,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        check_units(units)
        self.units = units
        self.vocabulary_size = vocabulary_size
        self.initial_weights = initial_weights
        self.dropout = keras.layers.Dropout(dropout, dtype=self.variable_dtype)
        self.lexical = None
        if lexical:
            self.lexical = LexicalModel(initial_weights, name="lexical", dtype=self.dtype_policy)
        self._embedding = lambda: tied_to  # a function, so that its weights are not this layer's
        self.supports_masking = True  # logits carry the Keras mask of the states

    def build(self, state_shape: tuple, words_shape: tuple, context_shape: tuple) -> None:
        """Create the weights; ValueError if l is not m with a lexical model."""
        if self.lexical is not None and words_shape[-1] != self.units:
            raise ValueError(
                f"a lexical model needs as many units as a word vector has elements: "
                f"{self.units} is not {words_shape[-1]}"
            )
        matrix = initializers.matrix(self.initial_weights)
        self.U_o = self.add_weight((state_shape[-1], 2 * self.units), matrix, name="U_o")
        self.V_o = self.add_weight((words_shape[-1], 2 * self.units), matrix, name="V_o")
        self.C_o = self.add_weight((context_shape[-1], 2 * self.units), matrix, name="C_o")
        self.b_o = self.add_weight((2 * self.units,), "zeros", name="b_o")
        if self._embedding() is None:
            self._W_o = self.add_weight((self.units, self.vocabulary_size), matrix, name="W_o")
        self.b = self.add_weight((self.vocabulary_size,), "zeros", name="b")
        if self.lexical is not None:
            self.lexical.build((None, self.units))
        self.freeze_parts(self.lexical)

    @property
    def W_o(self) -> Any:
        """The output matrix [l, K]: a weight of this layer, or the word vectors it is tied to."""
        embedding = self._embedding()
        return self._W_o if embedding is None else ops.transpose(embedding.E)

    def maxout(
        self,
        state: Float[Tensor, "*rows n"],
        words: Float[Tensor, "*rows m"],
        context: Float[Tensor, "*rows two_n"],
        training: bool = False,
    ) -> Float[Tensor, "*rows l"]:
        """The hidden layer t_i."""
        inputs = ops.concatenate([state, words, context], axis=-1)
        matrix = ops.cast(joined(self.U_o, self.V_o, self.C_o, axis=0), self.compute_dtype)
        pairs = product(inputs, matrix, joined(self.b_o))
        return self.activate(pairs, context, training)

    def activate(
        self,
        pairs: Float[Tensor, "*rows _"],
        context: Float[Tensor, "*rows _"],  # with a lexical model, it ends in Σ_j α_ij E x_j
        training: bool = False,
    ) -> Float[Tensor, "*rows l"]:
        """The maximum of each pair of t̃_i, with dropout, plus the lexical model's part."""
        hidden = self.dropout(maxout(pairs), training=training)
        if self.lexical is None:
            return hidden
        return hidden + self.lexical(context[..., -self.units :])

    def logits(
        self, hidden: Float[Tensor, "*rows l"], columns: Columns | None = None
    ) -> Float[Tensor, "*rows _"]:
        """W_o t + b, of all words or of those that `columns` are of."""
        return product(hidden, *(columns or Columns(self.factor(self.W_o), self.b)))

    @property
    def rows(self) -> Any:
        """W_oᵀ [K, l]: a row for each word, which is fast to gather."""
        embedding = self._embedding()
        return ops.transpose(self._W_o) if embedding is None else embedding.E

    def columns(self, words: Int[Tensor, "C"], dtype: str, rows: Any = None) -> Columns:
        """Return the weights for the logits of the given words; call it once, outside a loop.

        `rows` is this layer's `rows`, if it has been computed already.
        """
        if rows is None and self._embedding() is not None:
            rows = self.rows
        if rows is None:  # to transpose all of W_o takes as long as a short search
            W_o = ops.take(self.W_o, words, axis=1)
        else:
            W_o = ops.transpose(ops.take(rows, words, axis=0))
        return Columns(ops.cast(W_o, dtype), ops.take(self.b, words))

    def call(
        self,
        state: Float[Tensor, "*rows n"],
        words: Float[Tensor, "*rows m"],
        context: Float[Tensor, "*rows two_n"],
        training: bool = False,
    ) -> Float[Tensor, "*rows K"]:
        """Return the logits of the next word, in the dtype of the weights.

        Args:
            state: s_{i-1} or s_i, by the step order of the decoder.
            words: E y_{i-1}.
            context: c_i.
            training: whether dropout acts.

        Raises:
            ValueError: other widths than those that the layer was built for.
        """
        self._check_widths(state, words, context)
        state, words, context = (self.wide(x) for x in (state, words, context))
        return self.logits(self.maxout(state, words, context, training))

    def compute_output_spec(self, state: Any, words: Any, context: Any, **_: Any) -> Any:
        """Return the logits of a functional model, without tracing `call`."""
        self._check_widths(state, words, context)
        return self.symbol(*state.shape[:-1], self.vocabulary_size)

    def _check_widths(self, *inputs: Any) -> None:
        """Raise a ValueError for, say, swapped inputs: their joint product would not notice."""
        expected = [matrix.shape[0] for matrix in (self.U_o, self.V_o, self.C_o)]
        given = [x.shape[-1] for x in inputs]
        if given != expected:
            raise ValueError(
                f"MaxoutDeepOutput(state, words, context): widths are {given}, not {expected}"
            )
