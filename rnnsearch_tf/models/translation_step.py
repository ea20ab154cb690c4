"""The decoder and the readout, one target word at a time."""

from __future__ import annotations

from typing import Any, NamedTuple

from keras import ops

from rnnsearch_tf.layers.decoder import Decoder
from rnnsearch_tf.layers.deep_output import Columns, MaxoutDeepOutput
from rnnsearch_tf.layers.gated_recurrence import gated_update
from rnnsearch_tf.layers.precision import joined, product, split_columns
from rnnsearch_tf.tensor_types import Bool, Float, Int, Tensor

_MAX_TABLE = 1 << 24  # numbers: 64 MiB


class Candidates(NamedTuple):
    """Words that translations are chosen from: those of all sentences, and whose they are."""

    words: Int[Tensor, "C"]  # ids
    penalty: Float[Tensor, "B C"]  # 0 at the words of a sentence, -inf at those of others


class Memory(NamedTuple):
    """Source sentences, as the decoder reads them, and `Candidates.penalty` or ()."""

    keys: Float[Tensor, "B Tx _"]  # U_a h
    # C_z h, C_r h, C h and C_o h, and E x for a lexical model; of other attentions, h.
    values: Float[Tensor, "B Tx _"]
    mask: Bool[Tensor, "B Tx"]  # false at padding
    penalty: Any = ()


class Carried(NamedTuple):
    """The part of a step's outputs that the next state is computed from."""

    state: Float[Tensor, "*rows n"]  # s: s_{i-1} or s_i, by the step order
    # Inputs of the next update, beside those of the next word: U_z s and U_r s; in the order
    # look_generate_update with C_z c_i and C_r c_i, and C c_i, otherwise ().
    gate_inputs: Float[Tensor, "*rows two_n"]
    candidate_inputs: Any


class _Parts(NamedTuple):
    """Products of a word or a context, by the sums that they are terms of."""

    gates: Float[Tensor, "*rows two_n"]
    candidate: Float[Tensor, "*rows n"]
    pairs: Float[Tensor, "*rows two_l"]  # t̃_i


class StepOutputs(NamedTuple):
    """The outputs of a step, for the next word: [B, ...], or [B, Q, ...] for Q hypotheses each."""

    carried: Carried
    hidden: Float[Tensor, "*rows l"]  # t_i
    alignment: Float[Tensor, "*rows Tx"]  # α_i


class StepWeights(NamedTuple):
    """Factors of a step, in the dtype of its products: joined weights, or a single variable."""

    word_table: Any  # E word_matrix + biases [K, 3n + 2l]; None: each step computes its rows
    vectors: Any  # E [K, m]
    word_matrix: Any  # W_z, W_r, W and V_o [m, 3n + 2l]
    biases: Any  # of the same columns, in the dtype of the variables
    state_matrix: Any  # U_z, U_r and U_o [n, 2n + 2l]
    U: Any  # of the proposed state [n, n]
    context_matrix: Any  # C_z, C_r, C and C_o [2n, 3n + 2l]
    columns: Columns | None  # of all words; None if they are of candidates

    @classmethod
    def of(
        cls,
        decoder: Decoder,
        readout: MaxoutDeepOutput,
        bfloat16: bool,
        all_words: bool,
        tabulate: bool = False,
    ) -> StepWeights:
        """Compute them from a model's weights; as `TranslationModel.step_weights`."""
        dtype = "bfloat16" if bfloat16 else decoder.compute_dtype

        def factor(*weights: Any) -> Any:
            if len(weights) == 1 and weights[0].dtype == dtype:
                return weights[0]
            return ops.cast(joined(*weights), dtype)

        cell, E = decoder.cell, decoder.embedding.E
        word_matrix = factor(cell.W_z, cell.W_r, cell.W, readout.V_o)
        biases = joined(cell.b_z, cell.b_r, cell.b, readout.b_o)
        has_table = tabulate and E.shape[0] * word_matrix.shape[1] <= _MAX_TABLE
        return cls(
            word_table=product(decoder.wide(E), word_matrix, biases) if has_table else None,
            # All of E is cast here: TensorFlow would move a cast of the vectors ahead of their
            # lookup and cast all of E at each step.
            vectors=None if has_table else factor(E),
            word_matrix=None if has_table else word_matrix,
            biases=biases,
            state_matrix=factor(cell.U_z, cell.U_r, readout.U_o),
            U=factor(cell.U),
            context_matrix=factor(cell.C_z, cell.C_r, cell.C, readout.C_o),
            columns=Columns(factor(readout.W_o), readout.b) if all_words else None,
        )


class TranslationStep:
    """A model bound to the source sentences that it translates, by `TranslationModel.bind`.

    Greedy search, by `predict_token` and `advance` in turn:

        outputs = step.start()
        for _ in range(max_length):
            words = ops.argmax(step.predict_token(outputs), axis=-1)
            outputs = step.advance(outputs.carried, words)

    It computes what `Decoder` and `MaxoutDeepOutput` do, with fewer and smaller products. The
    context is needed in products alone, and C c_i = Σ_j α_ij (C h_j): the products are taken of the
    annotations, once, and the attention averages their results (see `layers.attention`). A state is
    multiplied by U_z, U_r and U_o at once, a word by W_z, W_r, W and V_o. Products are in the dtype
    of `StepWeights`, whatever the policy of the layers; those of the attention's query and of the
    lexical model are in the policy's.
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
            self._columns = readout.columns(candidates.words, weights.state_matrix.dtype)
        self._has_penalty = candidates is not None
        # Not of a base class: a subclass may read annotations otherwise.
        self._averages_only = vars(type(decoder.attention)).get("averages_only", False)
        keys = decoder.attention.keys(annotations)
        penalty = () if candidates is None else candidates.penalty
        values = self._context_products(annotations) if self._averages_only else annotations
        self.memory = Memory(keys, values, mask, penalty)

    def start(self) -> StepOutputs:
        """Return what y_1 is predicted from, [B, ...]."""
        state = self._decoder.initial_state(self._summary)
        word_products = ops.expand_dims(self._weights.biases, 0)  # in every row, as E y_0 = 0
        if self._decoder.updates_first:
            gate_inputs, _ = self._recurrent_products(state)
            return self._step(Carried(state, gate_inputs, ()), word_products, self.memory)
        return self._look_and_predict(state, self._parts(word_products).pairs, self.memory)

    @staticmethod
    def carried(outputs: StepOutputs) -> Carried:
        """Return what `advance` reads."""
        return outputs.carried

    def advance(
        self, previous: Carried, word: Int[Tensor, "*rows"], memory: Memory | None = None
    ) -> StepOutputs:
        """Return what y_{i+1} is predicted from.

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

    def _word_products(self, word: Int[Tensor, "*rows"]) -> Float[Tensor, "*rows _"]:
        """[W_z W_r W V_o] E y, with the biases."""
        weights = self._weights
        if weights.word_table is not None:
            return ops.take(weights.word_table, word, axis=0)
        vectors = self._decoder.wide(ops.take(weights.vectors, word, axis=0))
        return product(vectors, weights.word_matrix, weights.biases)

    def _step(self, previous: Carried, word_products: Tensor, memory: Memory) -> StepOutputs:
        """Take a step in the decoder's order, with [W_z W_r W V_o] E y of the last word y_i."""
        word = self._parts(word_products)
        gate_inputs = previous.gate_inputs + word.gates
        if not self._decoder.updates_first:  # s_i with c_i, which is carried, then c_{i+1} by s_i
            candidate_inputs = previous.candidate_inputs + word.candidate
            state, _ = gated_update(gate_inputs, candidate_inputs, previous.state, self._weights.U)
            return self._look_and_predict(state, word.pairs, memory)
        # c_{i+1} by s_i, then s_{i+1} with it
        products, alignment = self._look(previous.state, memory)
        context = self._parts(products)
        state, _ = gated_update(
            gate_inputs + context.gates,
            word.candidate + context.candidate,
            previous.state,
            self._weights.U,
        )
        gate_inputs, pairs = self._recurrent_products(state)
        hidden = self._readout.activate(pairs + context.pairs + word.pairs, products)
        return StepOutputs(Carried(state, gate_inputs, ()), hidden, alignment)

    def _look_and_predict(self, state: Tensor, word_pairs: Tensor, memory: Memory) -> StepOutputs:
        """Attend, and carry C_z c, C_r c and C c to the next update."""
        products, alignment = self._look(state, memory)
        context = self._parts(products)
        gate_inputs, pairs = self._recurrent_products(state)
        carried = Carried(state, gate_inputs + context.gates, context.candidate)
        hidden = self._readout.activate(pairs + context.pairs + word_pairs, products)
        return StepOutputs(carried, hidden, alignment)

    def _look(self, state: Tensor, memory: Memory) -> tuple[Tensor, Tensor]:
        """Attend: Σ_j α_ij [C_z C_r C C_o] h_j, behind it that of E x_j, and α_i."""
        context, alignment = self._decoder.attention(
            state, memory.values, keys=memory.keys, annotations_mask=memory.mask
        )
        context = self._decoder.wide(context)
        if not self._averages_only:
            context = self._context_products(context)
        return context, self._decoder.wide(alignment)

    def _context_products(self, context: Tensor) -> Tensor:
        """[C_z C_r C C_o] c, or of h_j, and behind it the E x that a lexical model has in it."""
        products = product(context, self._weights.context_matrix)
        if self._readout.lexical is None:
            return products
        return ops.concatenate([products, context[..., -self._readout.units :]], axis=-1)

    def _parts(self, products: Tensor) -> _Parts:
        """Split the products of a word or a context."""
        n, two_l = self._units, 2 * self._readout.units
        return _Parts(*split_columns(products, 2 * n, 3 * n, 3 * n + two_l)[:3])

    def _recurrent_products(self, state: Tensor) -> tuple[Tensor, Tensor]:
        """Return U_z s and U_r s, for the next update, and U_o s, for the readout."""
        gate_inputs, pairs = split_columns(
            product(state, self._weights.state_matrix), 2 * self._units
        )
        return gate_inputs, pairs
