"""The decoder and the readout, one target word at a time."""

from __future__ import annotations

from typing import Any, NamedTuple

from keras import ops

from rnnsearch_tf.layers.decoder import Decoder
from rnnsearch_tf.layers.deep_output import Columns, MaxoutDeepOutput
from rnnsearch_tf.layers.gated_recurrence import gated_update
from rnnsearch_tf.layers.precision import joined, product, spaced, split_columns
from rnnsearch_tf.tensor_types import Bool, Float, Int, Tensor

_MAX_TABLE = 1 << 24  # numbers: 64 MiB


class Candidates(NamedTuple):
    """The words that translations may use: those of all sentences together, and of each."""

    words: Int[Tensor, "C"]  # ids
    penalty: Float[Tensor, "B C"]  # 0 at the words of a sentence, -inf at those of others


class Memory(NamedTuple):
    """Source sentences, as the decoder reads them, and `Candidates.penalty` or ()."""

    keys: Float[Tensor, "B Tx _"]  # U_a h
    # C_z h, C_r h, C h and C_o h, and E x for a lexical model; h itself without `averages_only`.
    values: Float[Tensor, "B Tx _"]
    mask: Bool[Tensor, "B Tx"]  # false at padding
    penalty: Any = ()


class Carried(NamedTuple):
    """The part of a step's outputs that the next state is computed from."""

    state: Float[Tensor, "*rows n"]  # s: s_{i-1} or s_i, by the step order
    # C_z c_i and C_r c_i, and C c_i, in the order look_generate_update; otherwise ().
    gates: Float[Tensor, "*rows two_n"] | tuple[()] = ()
    candidate: Float[Tensor, "*rows n"] | tuple[()] = ()


class Parts(NamedTuple):
    """Products of a word or a context, or their weights, named after the sum that each enters."""

    gates: Float[Tensor, "*rows two_n"]
    candidate: Float[Tensor, "*rows n"]
    pairs: Float[Tensor, "*rows two_l"]  # t̃


class _Looked(NamedTuple):
    """The attention's results for a state."""

    products: Float[Tensor, "*rows _"]  # of c_i; then Σ_j α_ij E x_j of a lexical model
    parts: Parts  # of these
    alignment: Float[Tensor, "*rows Tx"]  # α_i


class StepOutputs(NamedTuple):
    """The outputs of a step, for the next word: [B, ...], or [B, Q, ...] for Q hypotheses each."""

    carried: Carried
    hidden: Float[Tensor, "*rows l"]  # t_i
    alignment: Float[Tensor, "*rows Tx"]  # α_i


class StepWeights(NamedTuple):
    """A step's weights, joined or a single variable; matrices have the dtype of its products."""

    # E W + b of all words [K, _], in the dtype of the variables; None: each step computes its rows.
    word_tables: Parts | None
    vectors: Any  # E [K, m]
    word_matrices: Parts | None  # W_z and W_r, W, V_o [m, _]; None with tables
    biases: Parts  # in the dtype of the variables
    # The next four are from `spaced`, which may append columns.
    U_gates: Any  # U_z and U_r [n, 2n]
    U: Any  # of the proposed state [n, n]
    U_o: Any  # [n, 2l]
    context_matrix: Any  # C_z, C_r, C and C_o [2n, 3n + 2l]
    columns: Columns | None  # of all words; None if they are of candidates
    rows: Any  # W_oᵀ [K, l], for candidates; None: each search gathers columns of W_o

    @classmethod
    def of(
        cls,
        decoder: Decoder,
        readout: MaxoutDeepOutput,
        bfloat16: bool,
        all_words: bool,
        tabulate: bool = False,
    ) -> StepWeights:
        """Compute a step's weights from a model's; see `TranslationModel.step_weights`."""
        dtype = "bfloat16" if bfloat16 else decoder.compute_dtype

        def factor(*weights: Any) -> Any:
            if len(weights) == 1 and weights[0].dtype == dtype:
                return weights[0]
            return ops.cast(joined(*weights), dtype)

        cell, E = decoder.cell, decoder.embedding.E
        matrices = Parts(factor(cell.W_z, cell.W_r), factor(cell.W), factor(readout.V_o))
        biases = Parts(joined(cell.b_z, cell.b_r), cell.b, readout.b_o)
        has_tables = tabulate and E.shape[0] * sum(b.shape[0] for b in biases) <= _MAX_TABLE
        return cls(
            word_tables=_products(decoder.wide(E), matrices, biases) if has_tables else None,
            # All of E is cast here: TensorFlow would move a cast of the vectors ahead of their
            # lookup and cast all of E at each step.
            vectors=None if has_tables else factor(E),
            word_matrices=None if has_tables else matrices,
            biases=biases,
            U_gates=spaced(factor(cell.U_z, cell.U_r)),
            U=spaced(factor(cell.U)),
            U_o=spaced(factor(readout.U_o)),
            context_matrix=spaced(factor(cell.C_z, cell.C_r, cell.C, readout.C_o)),
            columns=Columns(factor(readout.W_o), readout.b) if all_words else None,
            rows=factor(readout.rows) if tabulate and not all_words else None,
        )


def _products(vectors: Float[Tensor, "*rows m"], matrices: Parts, biases: Parts) -> Parts:
    return Parts(*(product(vectors, W, b) for W, b in zip(matrices, biases, strict=True)))


class TranslationStep:
    """A model bound to the source sentences that it translates, by `TranslationModel.bind`.

    Greedy search, by `predict_token` and `advance` in turn:

        outputs = step.start()
        for _ in range(max_length):
            words = ops.argmax(step.predict_token(outputs), axis=-1)
            outputs = step.advance(outputs.carried, words)

    It computes what `Decoder` and `MaxoutDeepOutput` do, with fewer and smaller products. Contexts
    are only used in products, and C c_i = Σ_j α_ij (C h_j): the annotations are multiplied once per
    sentence, and the attention averages the results (see `layers.attention`). Products are in the
    dtype of the matrices in `StepWeights`, whatever the policy of the layers, except those of the
    attention's query and of the lexical model, which are in the policy's.
    """

    def __init__(
        self,
        decoder: Decoder,
        readout: MaxoutDeepOutput,
        annotations: Float[Tensor, "B Tx two_n"],  # h
        summary: Float[Tensor, "B n"],  # that s_0 is made from
        mask: Bool[Tensor, "B Tx"],  # false at padding
        candidates: Candidates | None = None,  # the words that are predicted; None: all
        weights: StepWeights | None = None,  # by default computed here, in the policy's dtype
    ):
        if weights is None:
            weights = StepWeights.of(decoder, readout, False, all_words=candidates is None)
        self._decoder = decoder
        self._readout = readout
        self._units = decoder.cell.units  # n
        self._summary = summary
        self._weights = weights
        self._columns = weights.columns
        if candidates is not None:
            self._columns = readout.columns(candidates.words, weights.U.dtype, weights.rows)
        self._has_penalty = candidates is not None
        # Not inherited: a subclass may use the annotations in another way.
        self._averages_only = vars(type(decoder.attention)).get("averages_only", False)
        keys = decoder.attention.keys(annotations)
        penalty = () if candidates is None else decoder.wide(candidates.penalty)
        values = self._context_products(annotations) if self._averages_only else annotations
        self.memory = Memory(keys, values, mask, penalty)

    def start(self) -> StepOutputs:
        """Return the outputs from which y_1 is predicted, [B, ...]."""
        state = self._decoder.initial_state(self._summary)
        word = self._weights.biases  # as E y_0 = 0
        if self._decoder.updates_first:
            return self._step(Carried(state), word, self.memory)
        return self._look_and_predict(state, word, self.memory)

    @staticmethod
    def carried(outputs: StepOutputs) -> Carried:
        """Return the part of the outputs that `advance` reads."""
        return outputs.carried

    def advance(
        self, previous: Carried, word: Int[Tensor, "*rows"], memory: Memory | None = None
    ) -> StepOutputs:
        """Return the outputs from which y_{i+1} is predicted.

        Args:
            previous: `carried` of the outputs that y_i was predicted from.
            word: ids of y_i, [B] or [B, Q].
            memory: of some sentences; by default of all.
        """
        memory = self.memory if memory is None else memory
        return self._step(previous, self._word_products(word), memory)

    def predict_token(
        self, outputs: StepOutputs, memory: Memory | None = None
    ) -> Float[Tensor, "*rows K_or_C"]:
        """Return the logits of the next token, of all K words or of the C candidates."""
        logits = self._readout.logits(outputs.hidden, self._columns)
        if not self._has_penalty:
            return logits
        penalty = (self.memory if memory is None else memory).penalty
        return logits + (ops.expand_dims(penalty, 1) if len(logits.shape) == 3 else penalty)

    def _word_products(self, word: Int[Tensor, "*rows"]) -> Parts:
        """[W_z W_r] E y, W E y and V_o E y, with the biases."""
        weights = self._weights
        if weights.word_tables is not None:
            return Parts(*(ops.take(table, word, axis=0) for table in weights.word_tables))
        vectors = self._decoder.wide(ops.take(weights.vectors, word, axis=0))
        assert weights.word_matrices is not None
        return _products(vectors, weights.word_matrices, weights.biases)

    def _step(self, previous: Carried, word: Parts, memory: Memory) -> StepOutputs:
        """Take a step in the decoder's order, with the products of the last word y_i."""
        before = previous.state
        if self._decoder.updates_first:  # c_{i+1} by s_i, then s_{i+1} with it
            looked = self._look(before, memory)
            state = self._update(before, word, looked.parts.gates, looked.parts.candidate)
            return self._outputs(Carried(state), word, looked)
        # s_i with c_i, then c_{i+1} by s_i
        state = self._update(before, word, previous.gates, previous.candidate)
        return self._look_and_predict(state, word, memory)

    def _look_and_predict(self, state: Tensor, word: Parts, memory: Memory) -> StepOutputs:
        looked = self._look(state, memory)
        carried = Carried(state, looked.parts.gates, looked.parts.candidate)
        return self._outputs(carried, word, looked)

    def _update(self, state: Tensor, word: Parts, gates: Tensor, candidate: Tensor) -> Tensor:
        """f(s, E y, c), with [C_z C_r] c and C c."""
        weights = self._weights
        products = product(state, weights.U_gates, columns=2 * self._units)
        gate_inputs = products + word.gates + gates
        return gated_update(gate_inputs, word.candidate + candidate, state, weights.U)[0]

    def _outputs(self, carried: Carried, word: Parts, looked: _Looked) -> StepOutputs:
        products = product(carried.state, self._weights.U_o, columns=2 * self._readout.units)
        pairs = products + word.pairs + looked.parts.pairs  # t̃_i
        hidden = self._readout.activate(pairs, looked.products)
        return StepOutputs(carried, hidden, looked.alignment)

    def _look(self, state: Tensor, memory: Memory) -> _Looked:
        """Return Σ_j α_ij [C_z C_r C C_o] h_j, a lexical model's Σ_j α_ij E x_j, and α_i."""
        context, alignment = self._decoder.attention(
            state, memory.values, keys=memory.keys, annotations_mask=memory.mask
        )
        context = self._decoder.wide(context)
        if not self._averages_only:
            context = self._context_products(context)
        return _Looked(context, self._split(context), self._decoder.wide(alignment))

    def _context_products(self, context: Tensor) -> Tensor:
        """Compute [C_z C_r C C_o] c, or of h_j; a lexical model's E x stays at the end."""
        columns = 3 * self._units + 2 * self._readout.units
        products = product(context, self._weights.context_matrix, columns=columns)
        if self._readout.lexical is None:
            return products
        return ops.concatenate([products, context[..., -self._readout.units :]], axis=-1)

    def _split(self, products: Tensor) -> Parts:
        """Split the products of a context."""
        gates, candidate, pairs = split_columns(products, 2 * self._units, 3 * self._units)
        if self._readout.lexical is not None:
            pairs, _ = split_columns(pairs, 2 * self._readout.units)
        return Parts(gates, candidate, pairs)
