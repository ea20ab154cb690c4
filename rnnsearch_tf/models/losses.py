"""The training losses, in nats: −log p(y|x), and how far attention is from given links."""

from typing import Any

import keras
from keras import ops

_LEAST = 1e-30  # under it log α is held: a softmax in float32 may come to 0


class SentenceLoss(keras.losses.Loss):
    """−log p(y|x) for `model.compile` and `model.fit`: the mean over sentences, in nats.

    The sum over a sentence's words, padding left out, is averaged over the batch. `TrainStep` works
    out the same without ever holding logits of padding, in less time and memory.
    """

    def call(self, y_true: Any, y_pred: Any) -> Any:
        """Target ids int32 [B, Ty] and logits [B, Ty, K] to the sentences' −log p, float32 [B]."""
        logits = ops.cast(y_pred, "float32")
        words = ops.cast(y_true, "int32")
        losses = ops.sparse_categorical_crossentropy(words, logits, from_logits=True)
        return ops.sum(ops.where(ops.equal(words, 0), 0.0, losses), axis=1)


def output_cross_entropy(hidden: Any, weights: Any, bias: Any, targets: Any) -> Any:
    """−log softmax(hidden · weights + bias)[targets], word by word, in nats.

    The output product and the softmax are one function with a gradient of its own,
    softmax − one-hot: less memory traffic than the automatic one, where most time goes.

    Args:
        hidden: t, the maxout layer at N real (not padding) positions, [N, l].
        weights: W_o, [l, K].
        bias: b, [K].
        targets: the words' ids, int32 [N].

    Returns:
        float32 [N].
    """

    @ops.custom_gradient
    def losses(hidden: Any, weights: Any, bias: Any) -> Any:
        logits = ops.cast(ops.matmul(hidden, weights), "float32") + bias  # [N, K]
        highest = ops.max(logits, axis=1, keepdims=True)
        chosen = ops.take_along_axis(logits, ops.expand_dims(targets, 1), axis=1) - highest
        exponentials = ops.exp(logits - highest)
        sums = ops.sum(exponentials, axis=1, keepdims=True)

        def gradient(upstream: Any) -> tuple[Any, Any, Any]:
            upstream = ops.expand_dims(upstream, 1)  # [N, 1]
            scale = upstream / sums
            rows = ops.arange(ops.shape(targets)[0], dtype="int32")
            at_target = ops.squeeze(ops.exp(chosen) * scale - upstream, 1)
            difference = ops.scatter_update(
                exponentials * scale, ops.stack([rows, targets], axis=1), at_target
            )  # softmax − one-hot, [N, K]
            factor = ops.cast(difference, hidden.dtype)
            return (
                ops.matmul(factor, ops.transpose(weights)),
                ops.matmul(ops.transpose(hidden), factor),
                ops.sum(difference, axis=0),
            )

        return ops.squeeze(ops.log(sums) - chosen, 1), gradient

    # The product is in the dtype of `hidden`, the softmax in float32.
    weights, bias = ops.cast(_value(weights), hidden.dtype), ops.cast(_value(bias), "float32")
    return losses(_value(hidden), weights, bias)


def alignment_cross_entropy(alignment: Any, guide: Any) -> Any:
    """How far a soft alignment is from given links: H(A_i, α_i) = −Σ_j A_ij log α_ij, in nats.

    The cross-entropy cost of guided alignment training (Chen et al. 2016, arXiv 1607.01628).

    Args:
        alignment: α, float32 [B, Ty, Tx]; each row sums to 1.
        guide: A, float32 [B, Ty, Tx]; a row is uniform over its word's links, or all 0.

    Returns:
        float32 [B, Ty]; 0 where the guide's row is 0.
    """
    logarithms = ops.log(ops.maximum(alignment, _LEAST))
    return -ops.sum(ops.cast(guide, logarithms.dtype) * logarithms, axis=-1)


def _value(x: Any) -> Any:
    """A variable's tensor: `ops.convert_to_tensor` leaves a variable what it is."""
    return ops.reshape(x, ops.shape(x))
