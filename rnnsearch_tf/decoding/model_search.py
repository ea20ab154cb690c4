"""The model before the beam search: ids in, hypotheses out."""

from typing import Any

import tensorflow as tf

from rnnsearch_tf.config import DecodingConfig
from rnnsearch_tf.decoding.beam_search import Hypotheses, beam_search
from rnnsearch_tf.models.ensemble import Ensemble
from rnnsearch_tf.models.translation_model import TranslationModel
from rnnsearch_tf.text.vocabulary import EOS, PAD, UNK


def search(
    model: TranslationModel | Ensemble, source: tf.Tensor, options: DecodingConfig, n_best: int = 1
) -> Hypotheses:
    """Search for the best translations.

    Args:
        model: the trained model, or several.
        source: ids int32 [B, Tx], each sentence ending in `</s>`, then padding 0.
        options: of the search.
        n_best: how many of the hypotheses must be the best there are; the rest is what else was
            found.

    Returns:
        The hypotheses, best first.
    """
    lengths = tf.math.count_nonzero(source, axis=1, dtype=tf.int32)
    most = options.max_length + 1  # with its </s>
    return search_with_lengths(
        model,
        source,
        options,
        max_lengths=tf.minimum(_scaled(lengths, options.max_length_ratio), most),
        min_lengths=_scaled(lengths, options.min_length_ratio),
        n_best=n_best,
    )


def search_with_lengths(
    model: TranslationModel | Ensemble,
    source: tf.Tensor,
    options: DecodingConfig,
    *,
    max_lengths: tf.Tensor,
    min_lengths: tf.Tensor,
    n_best: int = 1,
) -> Hypotheses:
    """`search` with the bounds of each translation given: int32 [B], in tokens.

    `beam_search` says what they count.
    """
    step = model.bind(source)

    def predict(seen: Any) -> tf.Tensor:
        logits = model.predict_token(tf.nest.map_structure(_to_rows, seen))  # [B·Q, K]
        return tf.reshape(logits, [tf.shape(source)[0], -1, logits.shape[-1]])

    def advance(seen: Any, words: tf.Tensor) -> Any:
        outer = tf.shape(words)
        after = step.advance(tf.nest.map_structure(_to_rows, seen), tf.reshape(words, [-1]))
        return tf.nest.map_structure(
            lambda x: tf.reshape(x, tf.concat([outer, tf.shape(x)[1:]], 0)), after
        )

    return beam_search(
        predict,
        advance,
        tf.nest.map_structure(lambda x: tf.expand_dims(x, 1), step.start()),
        beam_size=options.beam_size,
        max_lengths=max_lengths,
        min_lengths=min_lengths,
        eos_id=EOS,
        banned_ids=(PAD,) if options.allow_unknown else (PAD, UNK),
        length_penalty=options.length_penalty,
        n_best=n_best,
    )


def _to_rows(x: tf.Tensor) -> tf.Tensor:
    """[B, Q, ...] to [B·Q, ...]."""
    return tf.reshape(x, tf.concat([[-1], tf.shape(x)[2:]], 0))


def _scaled(lengths: tf.Tensor, ratio: float) -> tf.Tensor:
    return tf.cast(tf.math.ceil(tf.cast(lengths, tf.float32) * ratio), tf.int32)
