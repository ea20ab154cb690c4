"""N-best lists: made in the graph, and read from its outputs."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import tensorflow as tf

from rnnsearch_tf.given_texts import decoded
from rnnsearch_tf.results import Hypothesis, Translation, received_score, received_scores
from rnnsearch_tf.text.vocabulary import Vocabulary

LOWEST = tf.float32.min  # the score of an empty slot, and what stands for −inf: JSON has none


class NBest(NamedTuple):
    """N hypotheses of each of B sentences with different texts, best first, then empty slots.

    Scores that are not finite, and those of empty slots, are the lowest float32.
    """

    text: tf.Tensor  # string [B, N]; "" in an empty slot
    score: tf.Tensor  # float32 [B, N]; log p(y|x), nats
    normalized_score: tf.Tensor  # float32 [B, N]; log p(y|x) / |y|^length_penalty, nats
    length: tf.Tensor  # int32 [B, N]; tokens, `</s>` included; 0 in an empty slot
    target_tokens: tf.RaggedTensor  # int32 [B, None]; the ids of all N, each with `</s>`, joined
    token_scores: tf.RaggedTensor  # float32 [B, None]; log p of each, nats; sums to the scores


def empty_n_best(size: int) -> NBest:
    """Return the hypotheses of no sentences, B = 0 and N = `size`."""
    scores = tf.zeros([0, size])
    lengths = tf.zeros([0, size], tf.int32)
    return NBest(
        tf.zeros([0, size], tf.string), scores, scores, lengths,
        empty_rows(tf.int32), empty_rows(tf.float32),
    )  # fmt: skip


def empty_rows(dtype: tf.DType, *shape: tf.Tensor) -> tf.RaggedTensor:
    """Return no rows of any length, [B, None, *shape] with B = 0."""
    return tf.RaggedTensor.from_row_splits(
        tf.zeros([0, *shape], dtype), tf.zeros([1], tf.int64), validate=False
    )


def finite_or_lowest(scores: tf.Tensor) -> tf.Tensor:
    """Replace scores that are not finite, float32, by the lowest number (see `received_score`)."""
    return tf.where(tf.math.is_finite(scores), scores, LOWEST)


def without_repeats(
    text: tf.Tensor,
    score: tf.Tensor,
    normalized_score: tf.Tensor,
    tokens: tf.Tensor,
    length: tf.Tensor,
    token_scores: tf.Tensor,
) -> NBest:
    """Keep the first of equal texts, in order; the slots of the others become empty, and last.

    The arguments are the fields of `NBest`, but tokens and their scores are [B, N, T].
    """
    is_found = length > 0
    equal = text[:, :, None] == text[:, None, :]  # [B, N, N]
    slots = tf.range(tf.shape(equal)[1])
    is_earlier = slots[None, :] < slots[:, None]
    keep = is_found & ~tf.reduce_any(equal & is_earlier & is_found[:, None, :], axis=2)
    order = tf.argsort(tf.cast(~keep, tf.int32), axis=1, stable=True)

    def kept(values: tf.Tensor, otherwise: Any) -> tf.Tensor:
        return tf.gather(tf.where(keep, values, otherwise), order, batch_dims=1)

    length = kept(length, 0)
    return NBest(
        kept(text, ""),
        kept(finite_or_lowest(score), LOWEST),
        kept(finite_or_lowest(normalized_score), LOWEST),
        length,
        _joined(tf.gather(tokens, order, batch_dims=1), length),
        _joined(tf.gather(finite_or_lowest(token_scores), order, batch_dims=1), length),
    )


def _joined(values: tf.Tensor, lengths: tf.Tensor) -> tf.RaggedTensor:
    """Join the hypotheses [B, N, T] of each sentence, `lengths` [B, N] of each: [B, None]."""
    is_token = tf.range(tf.shape(values)[2]) < lengths[:, :, None]
    ends = tf.concat([[0], tf.cumsum(tf.reduce_sum(lengths, axis=1))], axis=0)
    joined = tf.boolean_mask(values, is_token)
    return tf.RaggedTensor.from_row_splits(joined, tf.cast(ends, tf.int64), validate=False)


def read_translations(
    lines: Sequence[str | bytes],
    outputs: Mapping[str, tf.Tensor],
    n_best: int,
    vocabulary: Vocabulary,
) -> list[Translation]:
    """Read the outputs, [B, ...], of `TextModel.best` or `TextModel.candidates` for B lines.

    An export of version 0.1.0 has no `token_scores`: `word_scores` are empty then.
    """
    arrays = {name: values.numpy() for name, values in outputs.items()}
    sources = [_decoded(tokens) for tokens in arrays["source_tokens"]]
    return [
        Translation(
            decoded(line),
            sources[i],
            tuple(_hypotheses({name: values[i] for name, values in arrays.items()}, n_best)),
            vocabulary.unknown(sources[i]),
        )
        for i, line in enumerate(lines)
    ]


def _hypotheses(row: dict[str, Any], n_best: int) -> Iterator[Hypothesis]:
    ends = row["length"].cumsum()
    for i, length in enumerate(row["length"][:n_best]):
        if length:
            own = slice(ends[i] - length, ends[i])
            yield Hypothesis(
                row["text"][i].decode(),
                _decoded(row["target_tokens"][own]),
                received_score(float(row["score"][i])),
                received_score(float(row["normalized_score"][i])),
                word_scores=received_scores(row.get("token_scores", [])[own]),
            )


def _decoded(tokens: Any) -> tuple[str, ...]:
    return tuple(token.decode() for token in tokens.tolist() if token)
