"""Training losses in nats: −log p(y|x), and the guided alignment loss.

`LOSSES` has the losses by name, each a function of (model, batch, outputs, training):

* model: a `TranslationModel`;
* batch: its tensors by name, as `data.batching.training_batches` makes them;
* outputs: the `DecoderOutputs` [Ty, B, ...] of the batch, which all losses share; in training with
  R-Drop, of two forward passes over it, concatenated: [Ty, 2B, ...];
* training: whether dropout acts.

The training loss is their sum, weighted by `TrainingConfig.loss_weights`, divided by the number of
sentences in the batch. A new loss needs an entry here and a field `<name>_weight` in
`TrainingConfig`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import keras
from keras import ops

from rnnsearch_tf.layers.decoder import DecoderOutputs
from rnnsearch_tf.layers.deep_output import MaxoutDeepOutput
from rnnsearch_tf.layers.precision import is_executed_graph, joined, outer_product, product
from rnnsearch_tf.tensor_types import Float, Int, Shaped, Tensor

_MIN_PROBABILITY = 1e-30  # float32 has fewer digits below 1e-38
_MIN_ATTENTION = 1e-30  # a softmax in float32 may underflow to 0, whose log is −∞


class LossTotal(NamedTuple):
    """A loss summed over some rows of a batch; `sum / count` is its mean."""

    sum: Float[Tensor, ""]  # float32, nats
    count: Float[Tensor, ""]  # float32; the number of tokens or linked words in the sum


def check_sentence_weights(sample_weight: Any) -> None:
    """Raise a ValueError if `sample_weight` is not one weight per sentence."""
    shape = getattr(sample_weight, "shape", ())  # a list has none
    if any(size != 1 for size in shape[1:]):
        raise ValueError(
            "sample_weight must have one weight per sentence; padding is already excluded"
        )


@keras.saving.register_keras_serializable("rnnsearch_tf")
class SentenceLoss(keras.losses.Loss):
    """−log p(y|x) for `model.compile` and `model.fit`: the mean over sentences, in nats.

    The sum over a sentence's tokens, without padding, is averaged over the batch. `TrainStep` gets
    the same loss without computing logits of padding, in less time and memory.
    """

    def __init__(self, *args: Any, **kwargs: Any):
        # Keras turns ids into floats of this dtype, and a narrow `floatx` would round them.
        super().__init__(*args, **{"dtype": "float32", **kwargs})

    def __call__(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        """Compute the loss, without the Keras mask of `y_pred`: `call` masks padding itself.

        ValueError if `sample_weight` is not one weight per sentence.
        """
        check_sentence_weights(sample_weight)
        return super().__call__(y_true, ops.multiply(y_pred, 1), sample_weight)

    def call(
        self, y_true: Shaped[Tensor, "B Ty"], y_pred: Float[Tensor, "B Ty K"]
    ) -> Float[Tensor, "B"]:
        """Return −log p of each sentence, float32, from target ids and logits."""
        logits = ops.cast(y_pred, "float32")
        tokens = ops.cast(y_true, "int32")
        losses = ops.sparse_categorical_crossentropy(tokens, logits, from_logits=True)
        return ops.sum(ops.where(ops.equal(tokens, 0), 0.0, losses), axis=1)


def nll(model: Any, batch: Mapping[str, Any], outputs: DecoderOutputs, training: bool) -> LossTotal:
    """Σ −log p(y_i | y_<i, x) over the target tokens, and their number (`</s>` counted).

    In training, label smoothing and R-Drop are applied if the config has them. The number is that
    of the tokens of one forward pass.
    """
    config, target = model.config, batch["target"]
    smoothing, r_drop = (config.label_smoothing, config.r_drop) if training else (0.0, 0.0)
    fixed_size = keras.config.backend() == "jax"  # where shapes cannot depend on values
    losses = token_losses(model.readout, outputs, target, training, smoothing, r_drop, fixed_size)
    is_real = ops.reshape(ops.not_equal(target, 0), (-1,))
    if fixed_size:
        losses = ops.where(is_real, losses, 0.0)
    return LossTotal(ops.sum(losses), ops.sum(ops.cast(is_real, "float32")))


def guided_alignment(
    model: Any, batch: Mapping[str, Any], outputs: DecoderOutputs, training: bool
) -> LossTotal:
    """Σ H(A_i, α_i) over the target words with a link, and their number; first pass only."""
    alignment = ops.transpose(outputs.alignment, (1, 0, 2))  # [B, Ty, Tx]
    alignment = alignment[: ops.shape(batch["guide"])[0]]
    losses = alignment_cross_entropy(alignment, batch["guide"])
    is_linked = ops.any(batch["guide"], axis=-1)
    return LossTotal(ops.sum(losses), ops.sum(ops.cast(is_linked, "float32")))


LOSSES: dict[str, Callable[[Any, Mapping[str, Any], DecoderOutputs, bool], LossTotal]] = {
    "nll": nll,
    "guided_alignment": guided_alignment,
}


def token_losses(
    readout: MaxoutDeepOutput,
    outputs: DecoderOutputs,  # [Ty, B, ...], of R-Drop [Ty, 2B, ...], from `Decoder`
    target: Int[Tensor, "B Ty"],  # ids, padding 0
    training: bool = False,  # whether dropout acts
    smoothing: float = 0.0,  # see `output_cross_entropy`
    r_drop: float = 0.0,  # likewise
    padding: bool = False,  # whether there are losses of padding too, [B·Ty] in all
) -> Float[Tensor, "_"]:
    """−log p(y_i | y_1 … y_{i-1}, x) of the N tokens of the target, sentence by sentence, in nats.

    Unless `padding` is true, padding is left out before the softmax, which takes most of the time.
    """
    hidden = readout.maxout(outputs.state, outputs.words, outputs.context, training)
    (_, width, size), (sentences, positions) = ops.shape(hidden), ops.shape(target)
    tokens = ops.reshape(target, (-1,))
    chosen = ops.arange(ops.size(tokens)) if padding else ops.nonzero(tokens)[0]
    rows = chosen % positions * width + chosen // positions  # of [Ty · B, l] or [Ty · 2B, l]
    if r_drop:
        rows = ops.concatenate([rows, rows + sentences])
    return output_cross_entropy(
        ops.take(ops.reshape(hidden, (-1, size)), rows, axis=0),
        readout.W_o,
        readout.b,
        ops.take(tokens, chosen),
        readout.compute_dtype,
        smoothing,
        r_drop,
    )


def output_cross_entropy(
    t: Float[Tensor, "_ l"],  # the maxout layer at N positions; of R-Drop [2N, l]
    W_o: Float[Tensor, "l K"],
    b: Float[Tensor, "K"],
    targets: Int[Tensor, "N"],  # the tokens' ids
    dtype: str | None = None,  # of the products; by default that of t
    smoothing: float = 0.0,  # ε
    r_drop: float = 0.0,  # α; the rows are then those of two forward passes
) -> Float[Tensor, "N"]:
    """−log softmax(t W_o + b)[targets] of each token, in nats, in the dtype of t.

    The output product and the softmax are one function with a gradient of its own. With
    p = softmax(logits), g the upstream gradient and 1_y the one-hot vector of the target:

        ∂logits = g (p − 1_y)
        ∂t = g (p − 1_y) W_oᵀ,  ∂W_o = Σ g tᵀ (p − 1_y),  ∂b = Σ g (p − 1_y)

    g is multiplied into the small factors; in `executed_graph`, 1 is subtracted from p in place.
    With label smoothing ε (Szegedy et al. 2016), (1 − ε) 1_y + ε/K replaces 1_y, and the loss is
    −log p_y + ε (log p_y − Σ_k log p_k / K) = −log p_y + ε (logit_y − Σ_k logit_k / K).

    R-Drop (Liang et al. 2021) has two forward passes, of logits v, v' and probabilities p, p'. The
    loss of a token is the mean of both cross-entropies plus α/4 (KL(p‖p') + KL(p'‖p)), where

        KL(p‖p') + KL(p'‖p) = Σ_k (p_k − p'_k) (v_k − v'_k)

    In bfloat16 the logits, bias included, are rounded once, and p is bfloat16, as a factor of the
    next products; with R-Drop, whose differences would cancel, it has the dtype of t. Without
    oneDNN, TensorFlow's softmax on a CPU sums in bfloat16, and losses differ by 0.01 nats or so.
    """
    if r_drop:
        targets = ops.concatenate([targets, targets])
    dtype = dtype or keras.backend.standardize_dtype(t.dtype)
    in_place = is_executed_graph()

    @ops.custom_gradient
    def losses(t: Any, W_o: Any, b: Any) -> Any:
        matrix = ops.cast(W_o, dtype)
        logits = _logits(t, matrix, b)
        if r_drop:
            logits = ops.cast(logits, t.dtype)
        p = ops.softmax(logits)  # [N, K]
        p_y = ops.cast(_at(p, targets), t.dtype)

        def gradient(*given: Any, upstream: Any = None) -> tuple[Any, Any, Any]:
            g = given[0] if upstream is None else upstream  # by name on PyTorch
            g = ops.expand_dims(g, 1)  # [N, 1]
            difference = _without_labels(p, p_y, targets, smoothing, in_place)
            if r_drop:
                difference += r_drop / 2 * _symmetric_kl_gradient(logits, p)
                g = ops.concatenate([g, g]) / 2
            difference = ops.cast(difference, dtype)
            grad_t = ops.cast(ops.matmul(difference, ops.transpose(matrix)), t.dtype)
            grad_W_o = outer_product(g * t, difference, dtype)
            return g * grad_t, grad_W_o, outer_product(g, difference, dtype)[0]

        row_losses = _minus_log(p_y, t, matrix, b, targets)
        if smoothing:
            target_logits = ops.cast(_at(logits, targets), t.dtype)
            row_losses += smoothing * (target_logits - _mean_logits(t, W_o, b))
        if not r_drop:
            return row_losses, gradient
        first, second = ops.split(row_losses, 2)
        return (first + second + r_drop / 2 * _symmetric_kl(logits, p)) / 2, gradient

    return losses(t, joined(W_o), joined(b))


def _without_labels(
    p: Float[Tensor, "N K"],
    p_y: Float[Tensor, "N"],
    targets: Int[Tensor, "N"],
    smoothing: float,
    in_place: bool,
) -> Float[Tensor, "N K"]:
    """Return p − (1 − ε) 1_y − ε/K."""
    rows = ops.arange(ops.shape(targets)[0], dtype="int32")
    at_targets = ops.stack([rows, targets], axis=1)
    if in_place:
        import tensorflow as tf

        # It copies p only where something reads p later; `scatter_update` always does.
        updates = ops.full_like(targets, smoothing - 1, dtype=p.dtype)
        with tf.control_dependencies([p_y]):  # which has read p
            difference = tf.raw_ops.ScatterNdNonAliasingAdd(
                input=p, indices=at_targets, updates=updates
            )
    else:
        difference = ops.scatter_update(p, at_targets, ops.cast(p_y - (1 - smoothing), p.dtype))
    return difference - smoothing / p.shape[1] if smoothing else difference


def _symmetric_kl(logits: Float[Tensor, "_ K"], p: Float[Tensor, "_ K"]) -> Float[Tensor, "N"]:
    """KL(p‖p') + KL(p'‖p) of each token, over the two forward passes."""
    (first, second), (first_p, second_p) = (ops.split(x, 2) for x in (logits, p))
    return ops.sum((first_p - second_p) * (first - second), axis=1)


def _symmetric_kl_gradient(
    logits: Float[Tensor, "_ K"], p: Float[Tensor, "_ K"]
) -> Float[Tensor, "_ K"]:
    """∂/∂v = p − p' + p ∘ (d − Σ_k p_k d_k) with d = v − v', and likewise for v'."""
    d = _minus_other(logits)
    mean = ops.sum(p * d, axis=1, keepdims=True)
    return _minus_other(p) + p * (d - mean)


def _minus_other(x: Float[Tensor, "_ K"]) -> Float[Tensor, "_ K"]:
    """Return each forward pass minus the other."""
    first, second = ops.split(x, 2)
    return ops.concatenate([first - second, second - first])


def alignment_cross_entropy(
    alignment: Float[Tensor, "B Ty Tx"], guide: Float[Tensor, "B Ty Tx"]
) -> Float[Tensor, "B Ty"]:
    """Cross-entropy of given links and the attention: H(A_i, α_i) = −Σ_j A_ij log α_ij, in nats.

    The cost of guided alignment training (Chen et al. 2016, arXiv 1607.01628). A row of `guide`
    is uniform over the links of its word; without links it is all 0, and so is its result.
    """
    logarithms = ops.log(ops.maximum(alignment, _MIN_ATTENTION))
    return -ops.sum(ops.cast(guide, logarithms.dtype) * logarithms, axis=-1)


def _minus_log(
    p_y: Float[Tensor, "N"],
    t: Float[Tensor, "N l"],
    matrix: Float[Tensor, "l K"],
    b: Float[Tensor, "K"],
    targets: Int[Tensor, "N"],
) -> Float[Tensor, "N"]:
    """−log p of the targets; all are recomputed from the logits if any p underflows."""

    def from_logits() -> Any:
        logits = ops.cast(_logits(t, matrix, b), t.dtype)
        return ops.logsumexp(logits, axis=1) - _at(logits, targets)

    return ops.cond(ops.any(p_y < _MIN_PROBABILITY), from_logits, lambda: -ops.log(p_y))


def _logits(t: Any, matrix: Any, b: Any) -> Any:
    """The logits in the dtype of the matrix; of float16, which is too narrow, in that of t."""
    if keras.backend.standardize_dtype(matrix.dtype) == "float16":
        return product(t, matrix, b)
    return product(ops.cast(t, matrix.dtype), matrix, ops.cast(b, matrix.dtype))


def _mean_logits(t: Any, W_o: Any, b: Any) -> Any:
    """Σ_k logit_k / K of each row, from the means of W_o and b."""
    mean = ops.expand_dims(ops.mean(W_o, axis=1), 1)
    return ops.squeeze(product(t, mean), 1) + ops.mean(b)


def _at(values: Any, targets: Any) -> Any:
    return ops.squeeze(ops.take_along_axis(values, ops.expand_dims(targets, 1), axis=1), 1)
