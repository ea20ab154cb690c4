"""The signatures of the SavedModel: thin functions over the engine, `TextModel`."""

from collections.abc import Callable

import tensorflow as tf

from rnnsearch_tf.inference.n_best import finite_or_lowest
from rnnsearch_tf.inference.text_model import TextModel
from rnnsearch_tf.inference.words import scores_of_words
from rnnsearch_tf.text.vectorizer import unpadded
from rnnsearch_tf.tf_functions import graph_function

Outputs = dict[str, tf.Tensor]

_TEXT = tf.TensorSpec([None], tf.string, "text")
_PREFIX = tf.TensorSpec([None], tf.string, "prefix")
_TRANSLATION = tf.TensorSpec([None], tf.string, "translation")


def signatures(text_model: TextModel) -> dict[str, Callable[..., Outputs]]:
    """Make the signatures of a model, by name; they are traced when they are called or saved.

    export/README.md has their inputs and outputs. A model without `TextModel.complete` has no
    signature of that name.
    """

    @graph_function(input_signature=[_TEXT])
    def serving_default(text: tf.Tensor) -> Outputs:
        """Translate: texts and scores."""
        return _best(text_model.best(text))

    @graph_function(input_signature=[_TEXT])
    def align(text: tf.Tensor) -> Outputs:
        """Translate, with words, their scores and the soft alignment; errors as `align_tokens`."""
        outputs = text_model.best(text)
        tokens = (unpadded(outputs[f"{side}_tokens"]) for side in ("source", "target"))
        source, target = (side[:, :-1] for side in tokens)  # without `</s>`
        all_tokens = text_model.source.tokenizer.tokenize(text)
        source_words, model_input = text_model.source_words(source)
        target_words, word_scores = _words(text_model, target, outputs["token_scores"])
        return {
            **_best(outputs),
            "source_tokens": source_words.to_tensor(""),
            "model_input": model_input.to_tensor(""),
            "target_tokens": target_words,
            "word_scores": word_scores,
            "alignment": text_model.align_tokens(source.to_tensor(""), target.to_tensor("")),
            "left_out": tf.cast(all_tokens.row_lengths() - source.row_lengths(), tf.float32),
        }

    @graph_function(input_signature=[_TEXT])
    def nbest(text: tf.Tensor) -> Outputs:
        """Translate into as many different translations as the beam is wide."""
        return _list(text_model, text_model.candidates(text))

    @graph_function(input_signature=[_TEXT, _PREFIX])
    def complete(text: tf.Tensor, prefix: tf.Tensor) -> Outputs:
        """Translate into different translations that begin with `prefix`."""
        return _list(text_model, text_model.complete(text, prefix))

    @graph_function(input_signature=[_TEXT, _TRANSLATION])
    def score(text: tf.Tensor, translation: tf.Tensor) -> Outputs:
        """Score given translations, and their words; both are read up to `max_length` tokens."""
        tf.debugging.assert_equal(
            tf.size(text), tf.size(translation), "give as many texts as translations"
        )
        max_length = text_model.config.decoding.max_length
        source = text_model.source.read(text, max_length).to_tensor("")
        target = text_model.target.read(translation, max_length)
        outputs = text_model.score_tokens(source, target.to_tensor(""))
        words, word_scores = _words(text_model, target, outputs["token_scores"])
        return {"score": outputs["score"], "words": words, "word_scores": word_scores}

    @graph_function(input_signature=[_TEXT])
    def describe(text: tf.Tensor) -> Outputs:
        """Return the metadata that the web page shows, the same for every text."""
        told = {
            "source_language": text_model.config.source_language,
            "target_language": text_model.config.target_language,
            "alignment": "attention" if text_model.aligner is None else "aligner",
            "completions": "no" if text_model.complete is None else "yes",
        }
        return {name: tf.fill(tf.shape(text), value) for name, value in told.items()}

    functions = [serving_default, align, nbest, score, describe]
    if text_model.complete is not None:
        functions.append(complete)
    return {function.__name__: function for function in functions}


def _best(outputs: Outputs) -> Outputs:
    return {"translation": outputs["text"][:, 0], "score": outputs["score"][:, 0]}


def _list(text_model: TextModel, outputs: Outputs) -> Outputs:
    """Return the outputs of `nbest` or `complete` from those of `TextModel`."""
    lengths = outputs["length"]  # [B, N]
    is_token = tf.sequence_mask(tf.reduce_sum(lengths, axis=1))  # those of all N are joined
    each = tf.cast(tf.reshape(lengths, [-1]), tf.int64)
    tokens, scores = (
        tf.RaggedTensor.from_row_lengths(tf.boolean_mask(outputs[name], is_token), each)
        for name in ("target_tokens", "token_scores")
    )
    scores = tf.pad(scores.to_tensor(0.0), [[0, 0], [0, 1]])  # an empty slot has no `</s>`
    words, word_scores = _words(text_model, tokens[:, :-1], scores)
    is_found = tf.reshape(lengths > 0, [-1, 1])
    shape = tf.concat([tf.shape(lengths), [-1]], axis=0)
    return {
        "translations": outputs["text"],
        "scores": outputs["score"],
        "normalized_scores": outputs["normalized_score"],
        "words": tf.reshape(tf.where(is_found, words, ""), shape),
        "word_scores": tf.reshape(tf.where(is_found, word_scores, 0.0), shape),
    }


def _words(
    text_model: TextModel, tokens: tf.RaggedTensor, scores: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor]:
    """Join target tokens into words, and sum their scores; both are padded.

    Tokens are string [B, None] without `</s>`; scores are float32 [B, T], that of `</s>` last.
    """
    words, _ = text_model.target.words(tokens)
    numbers = text_model.target.tokenizer.word_numbers(tokens)
    rows = tf.RaggedTensor.from_tensor(scores, lengths=tokens.row_lengths() + 1)
    sums = scores_of_words(rows, numbers)
    return words.to_tensor(""), finite_or_lowest(sums.to_tensor(0.0))
