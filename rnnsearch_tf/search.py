"""The model before the beam search: ids in, hypotheses out."""

import tensorflow as tf

from rnnsearch_tf.beam_search import Hypotheses, beam_search
from rnnsearch_tf.config import DecodingConfig
from rnnsearch_tf.layers.decoder import DecoderState
from rnnsearch_tf.models import TranslationModel
from rnnsearch_tf.vocabulary import EOS, PAD, UNK


def search(model: TranslationModel, source: tf.Tensor, options: DecodingConfig) -> Hypotheses:
    """Search for the best translations.

    Args:
        model: the trained model.
        source: ids int32 [B, Tx], each sentence ending in `</s>`, then padding 0.
        options: of the search.

    Returns:
        The hypotheses, best first.
    """
    lengths = tf.math.count_nonzero(source, axis=1, dtype=tf.int32)
    return search_with_lengths(
        model,
        source,
        options,
        max_lengths=_scaled(lengths, options.max_length_ratio),
        min_lengths=_scaled(lengths, options.min_length_ratio),
    )


def search_with_lengths(
    model: TranslationModel,
    source: tf.Tensor,
    options: DecodingConfig,
    *,
    max_lengths: tf.Tensor,
    min_lengths: tf.Tensor,
) -> Hypotheses:
    """`search` with the bounds of each translation given: int32 [B], in tokens.

    `beam_search` says what they count.
    """
    step = model.bind(source)

    def predict(seen: DecoderState) -> tf.Tensor:
        logits = model.predict_word(_rows(seen))  # [B·Q, K]
        return tf.reshape(logits, [tf.shape(source)[0], -1, logits.shape[-1]])

    def advance(seen: DecoderState, words: tf.Tensor) -> DecoderState:
        after = step.advance(_rows(seen), tf.reshape(words, [-1]))
        outer = tf.shape(words)
        return DecoderState(*(tf.reshape(x, tf.concat([outer, tf.shape(x)[1:]], 0)) for x in after))

    return beam_search(
        predict,
        advance,
        DecoderState(*(tf.expand_dims(x, 1) for x in step.start())),
        beam_size=options.beam_size,
        max_lengths=max_lengths,
        min_lengths=min_lengths,
        eos_id=EOS,
        banned_ids=(PAD,) if options.allow_unknown else (PAD, UNK),
        length_penalty=options.length_penalty,
    )


def _rows(seen: DecoderState) -> DecoderState:
    """[B, Q, ...] to [B·Q, ...]."""
    return DecoderState(*(tf.reshape(x, tf.concat([[-1], tf.shape(x)[2:]], 0)) for x in seen))


def _scaled(lengths: tf.Tensor, ratio: float) -> tf.Tensor:
    return tf.cast(tf.math.ceil(tf.cast(lengths, tf.float32) * ratio), tf.int32)
