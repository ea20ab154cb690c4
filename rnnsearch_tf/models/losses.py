"""Training losses in nats: −log p(y|x), and the guided alignment loss.

`LOSSES` has the losses by name, each a function of (model, batch, outputs, training):

* model: a `TranslationModel`;
* batch: its tensors by name, as `data.batching.training_batches` makes them;
* outputs: the `DecoderState` [B, Ty, ...] of the batch, which all losses share;
* training: whether dropout acts.

The training loss is their sum, weighted by `TrainingConfig.loss_weights`, over the sentences of the
batch. A new loss needs an entry here and a field `<name>_weight` in `TrainingConfig`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import keras
from keras import ops

from rnnsearch_tf.layers.decoder import DecoderState
from rnnsearch_tf.layers.deep_output import MaxoutDeepOutput
from rnnsearch_tf.layers.precision import joined, outer_product, product

if TYPE_CHECKING:
    from rnnsearch_tf.tensor_types import Float, Int, Shaped, Tensor

_MIN_PROBABILITY = 1e-30  # float32 has fewer digits below 1e-38
_MIN_ATTENTION = 1e-30  # a softmax in float32 may underflow to 0, whose log is −∞


class LossTotal(NamedTuple):
    """A loss summed over some rows of a batch; `sum / count` is its mean."""

    sum: Float[Tensor, ""]  # float32, nats
    count: Float[Tensor, ""]  # float32; the tokens or linked words that the sum is over


@keras.saving.register_keras_serializable("rnnsearch_tf")
class SentenceLoss(keras.losses.Loss):
    """−log p(y|x) for `model.compile` and `model.fit`: the mean over sentences, in nats.

    The sum over a sentence's tokens, without padding, is averaged over the batch. `TrainStep` gets
    the same loss without computing logits of padding, in less time and memory.
    """

    def call(
        self, y_true: Shaped[Tensor, "B Ty"], y_pred: Float[Tensor, "B Ty K"]
    ) -> Float[Tensor, "B"]:
        """Return −log p of each sentence, float32.

        Args:
            y_true: target ids, which Keras may have turned into floats.
            y_pred: logits.
        """
        logits = ops.cast(y_pred, "float32")
        tokens = ops.cast(y_true, "int32")
        losses = ops.sparse_categorical_crossentropy(tokens, logits, from_logits=True)
        return ops.sum(ops.where(ops.equal(tokens, 0), 0.0, losses), axis=1)


def nll(model: Any, batch: Mapping[str, Any], outputs: DecoderState, training: bool) -> LossTotal:
    """Σ −log p(y_i | y_<i, x) over the target tokens, and their number (`</s>` counted).

    In training, it is that of smoothed labels where the config has label smoothing.
    """
    smoothing = model.config.label_smoothing if training else 0.0
    if keras.config.backend() == "jax":
        return _nll_of_all(model.readout, outputs, batch["target"], training, smoothing)
    losses = token_losses(model.readout, outputs, batch["target"], training, smoothing)
    return LossTotal(ops.sum(losses), ops.cast(ops.size(losses), "float32"))


def guided_alignment(
    model: Any, batch: Mapping[str, Any], outputs: DecoderState, training: bool
) -> LossTotal:
    """Σ H(A_i, α_i) over the target words with a link, and their number."""
    del model, training
    losses = alignment_cross_entropy(outputs.alignment, batch["guide"])
    is_linked = ops.any(batch["guide"], axis=-1)
    return LossTotal(ops.sum(losses), ops.sum(ops.cast(is_linked, "float32")))


def _nll_of_all(
    readout: MaxoutDeepOutput,
    outputs: DecoderState,
    target: Int[Tensor, "B Ty"],
    training: bool,
    smoothing: float,
) -> LossTotal:
    """`nll` without shapes that depend on values: logits of padding are computed, and left out."""
    tokens = ops.reshape(target, (-1,))
    read = (outputs.state, outputs.words, outputs.context)
    state, words, context = (ops.reshape(x, (-1, x.shape[-1])) for x in read)
    hidden = readout.maxout(state, words, context, training)
    dtype = readout.compute_dtype
    losses = output_cross_entropy(hidden, readout.W_o, readout.b, tokens, dtype, smoothing)
    is_real = ops.not_equal(tokens, 0)
    total = ops.sum(ops.where(is_real, losses, 0.0))
    return LossTotal(total, ops.sum(ops.cast(is_real, "float32")))


LOSSES: dict[str, Callable[[Any, Mapping[str, Any], DecoderState, bool], LossTotal]] = {
    "nll": nll,
    "guided_alignment": guided_alignment,
}


def token_losses(
    readout: MaxoutDeepOutput,
    outputs: DecoderState,
    target: Int[Tensor, "B Ty"],
    training: bool = False,
    smoothing: float = 0.0,
) -> Float[Tensor, "N"]:
    """−log p(y_i | y_1 … y_{i-1}, x) of the target's tokens, in nats.

    Padding is gathered out before the softmax, where most of the time goes.

    Args:
        readout: the layer that turns the outputs into logits.
        outputs: decoder outputs [B, Ty, ...] that the tokens are predicted from.
        target: ids, padding 0.
        training: whether dropout acts.
        smoothing: see `output_cross_entropy`.

    Returns:
        float32, of the N tokens of `target` (`</s>` counted) sentence by sentence.
    """
    tokens = ops.reshape(target, (-1,))
    real = ops.nonzero(tokens)[0]

    def without_padding(x: Any) -> Any:
        return ops.take(ops.reshape(x, (-1, x.shape[-1])), real, axis=0)

    hidden = readout.maxout(
        without_padding(outputs.state),
        without_padding(outputs.words),
        without_padding(outputs.context),
        training,
    )
    targets = ops.take(tokens, real)
    return output_cross_entropy(
        hidden, readout.W_o, readout.b, targets, readout.compute_dtype, smoothing
    )


def output_cross_entropy(
    hidden: Float[Tensor, "N l"],
    weights: Float[Tensor, "l K"],
    bias: Float[Tensor, "K"],
    targets: Int[Tensor, "N"],
    dtype: str | None = None,
    smoothing: float = 0.0,
) -> Float[Tensor, "N"]:
    """−log softmax(hidden · weights + bias)[targets] of each token, in nats.

    The output product and the softmax are one function with a gradient of its own. With
    p = softmax(logits), g the upstream gradient and 1_y the one-hot vector of the target:

        ∂logits = g (p − 1_y)
        ∂t = g W_o (p − 1_y),  ∂W_o = Σ (g t) (p − 1_y)ᵀ,  ∂b = Σ g (p − 1_y)

    g is multiplied into the small factors, and 1 is taken from p in place. With label smoothing ε
    (Szegedy et al. 2016), the cross-entropy is that of (1 − ε) 1_y + ε/K, which takes the place of
    1_y: −log p_y + ε (log p_y − Σ_k log p_k / K) = −log p_y + ε (logit_y − Σ_k logit_k / K).

    Args:
        hidden: t, the maxout layer at N real (not padding) positions.
        weights: W_o.
        bias: b.
        targets: the tokens' ids.
        dtype: of the products; by default that of `hidden`.
        smoothing: ε.

    Returns:
        The losses, in the dtype of `hidden`.
    """
    dtype = dtype or keras.backend.standardize_dtype(hidden.dtype)
    at_targets = ops.stack([ops.arange(ops.shape(targets)[0], dtype="int32"), targets], axis=1)

    @ops.custom_gradient
    def losses(hidden: Any, weights: Any, bias: Any) -> Any:
        matrix = ops.cast(weights, dtype)
        logits = product(hidden, matrix, bias)
        probabilities = ops.softmax(logits)  # [N, K]
        chosen = ops.squeeze(
            ops.take_along_axis(probabilities, ops.expand_dims(targets, 1), axis=1), 1
        )

        def gradient(*given: Any, upstream: Any = None) -> tuple[Any, Any, Any]:
            upstream = given[0] if upstream is None else upstream  # by name on PyTorch
            upstream = ops.expand_dims(upstream, 1)  # [N, 1]
            difference = ops.scatter_update(probabilities, at_targets, chosen - (1 - smoothing))
            if smoothing:
                difference -= smoothing / weights.shape[1]
            narrow = ops.cast(difference, dtype)
            of_hidden = ops.cast(ops.matmul(narrow, ops.transpose(matrix)), hidden.dtype)
            return (
                upstream * of_hidden,
                outer_product(upstream * hidden, narrow, dtype),
                outer_product(upstream, narrow, dtype)[0],
            )

        of_targets = _minus_log(chosen, hidden, matrix, bias, targets)
        if smoothing:
            logit = ops.take_along_axis(logits, ops.expand_dims(targets, 1), axis=1)[:, 0]
            of_targets += smoothing * (logit - ops.mean(logits, axis=1))
        return of_targets, gradient

    return losses(hidden, joined(weights), joined(bias))


def alignment_cross_entropy(
    alignment: Float[Tensor, "B Ty Tx"], guide: Float[Tensor, "B Ty Tx"]
) -> Float[Tensor, "B Ty"]:
    """Cross-entropy of given links and the attention: H(A_i, α_i) = −Σ_j A_ij log α_ij, in nats.

    The cost of guided alignment training (Chen et al. 2016, arXiv 1607.01628).

    Args:
        alignment: α, float32; each row sums to 1.
        guide: A, float32; a row is uniform over the links of its word, or all 0.

    Returns:
        float32; 0 where the guide's row is 0.
    """
    logarithms = ops.log(ops.maximum(alignment, _MIN_ATTENTION))
    return -ops.sum(ops.cast(guide, logarithms.dtype) * logarithms, axis=-1)


def _minus_log(
    chosen: Float[Tensor, "N"],
    hidden: Float[Tensor, "N l"],
    matrix: Float[Tensor, "l K"],
    bias: Float[Tensor, "K"],
    targets: Int[Tensor, "N"],
) -> Float[Tensor, "N"]:
    """−log p of the targets, computed again from the logits where p underflows."""

    def from_logits() -> Any:
        logits = product(hidden, matrix, bias)
        of_targets = ops.take_along_axis(logits, ops.expand_dims(targets, 1), axis=1)
        return ops.logsumexp(logits, axis=1) - ops.squeeze(of_targets, 1)

    return ops.cond(ops.any(chosen < _MIN_PROBABILITY), from_logits, lambda: -ops.log(chosen))
