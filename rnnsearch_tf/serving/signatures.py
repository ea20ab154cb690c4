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

    A model without `TextModel.complete` has no signature of that name.
    """

    @graph_function(input_signature=[_TEXT])
    def serving_default(text: tf.Tensor) -> Outputs:
        """Translate.

        Returns:
            `translation` string [B]; `score` float32 [B], log p(y|x) in nats of the hypothesis
            with the best decoding score. A blank sentence gives a blank and 0; one without a
            translation of finite log p gives a blank and the lowest float32.
        """
        return _best(text_model.best(text))

    @graph_function(input_signature=[_TEXT])
    def align(text: tf.Tensor) -> Outputs:
        """Translate, with the soft alignment.

        Returns:
            Also `source_tokens` string [B, Tx] and `target_tokens` string [B, Ty], the words of
            each sentence with its `</s>`, then empty strings; `model_input` string [B, Tx], the
            source's as the model reads them, with known words in place of misspelled ones where
            spelling is corrected, and [UNK] in place of others that it lacks; `alignment`
            float32 [B, Ty, Tx], where row i is α_i, the weights under which word i was written
            (zero at padding, and where a weight is not finite); `word_scores` float32 [B, Ty],
            log p of each of `target_tokens` in nats, `</s>` with its own (0 at padding); `left_out`
            float32 [B], how many of the model's tokens of the text are beyond `max_length`.

        Raises:
            tf.errors.InvalidArgumentError: more weights than `align_tokens` computes at once.
        """
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
        """Translate into as many different translations as the beam is wide.

        Returns:
            `translations` string [B, N], best first; `scores` float32 [B, N], log p(y|x) in nats;
            `normalized_scores` float32 [B, N], log p(y|x) / |y|^length_penalty in nats, by which
            they are ranked; `words` string [B, N, W], each translation's with its `</s>`, then
            empty strings, and `word_scores` float32 [B, N, W], log p of each in nats, then 0. In a
            slot for which nothing was found, the text is empty and both scores are the lowest
            float32. A blank sentence has a blank with score 0, and no other;
            one without a translation of finite log p has no slot filled.
        """
        return _list(text_model, text_model.candidates(text))

    @graph_function(input_signature=[_TEXT, _PREFIX])
    def complete(text: tf.Tensor, prefix: tf.Tensor) -> Outputs:
        """Translate into different translations that begin with `prefix`.

        A blank at its end says that its last word is whole; without one, the word may be
        unfinished (see `TextModel._complete`).

        Returns:
            As `nbest`, the prefix included. Where no translation can begin with it, all slots are
            empty.

        Raises:
            tf.errors.InvalidArgumentError: not as many prefixes as texts.
        """
        return _list(text_model, text_model.complete(text, prefix))

    @graph_function(input_signature=[_TEXT, _TRANSLATION])
    def score(text: tf.Tensor, translation: tf.Tensor) -> Outputs:
        """Score given translations.

        Returns:
            `score` float32 [B], log p(y|x) in nats of the translation's tokens and `</s>`; of
            either text the first `max_length` tokens are read. 0 where both are blank, the lowest
            float32 where log p is not finite. `words` string [B, W] and `word_scores`
            float32 [B, W] are the translation's, as those of `nbest`.

        Raises:
            tf.errors.InvalidArgumentError: not as many translations as texts.
        """
        tf.debugging.assert_equal(
            tf.size(text), tf.size(translation), "as many texts as translations"
        )
        max_length = text_model.config.decoding.max_length
        source = text_model.source.read(text, max_length).to_tensor("")
        target = text_model.target.read(translation, max_length)
        outputs = text_model.score_tokens(source, target.to_tensor(""))
        words, word_scores = _words(text_model, target, outputs["token_scores"])
        return {"score": outputs["score"], "words": words, "word_scores": word_scores}

    @graph_function(input_signature=[_TEXT])
    def describe(text: tf.Tensor) -> Outputs:
        """Tell of the model what a page shows, whatever the text.

        Returns:
            `source_language` and `target_language` string [B], "en" and "fr"; `alignment`
            string [B], by what `align` aligns, "attention" or "aligner"; `completions` string [B],
            "yes" where there is the signature `complete`, else "no".
        """
        told = {
            "source_language": text_model.config.source_language,
            "target_language": text_model.config.target_language,
            "alignment": "attention" if text_model.aligner is None else "aligner",
            "completions": "yes" if hasattr(text_model, "complete") else "no",
        }
        return {name: tf.fill(tf.shape(text), value) for name, value in told.items()}

    functions = [serving_default, align, nbest, score, describe]
    if hasattr(text_model, "complete"):
        functions.append(complete)
    return {function.__name__: function for function in functions}


def _best(outputs: Outputs) -> Outputs:
    return {"translation": outputs["text"][:, 0], "score": outputs["score"][:, 0]}


def _list(text_model: TextModel, outputs: Outputs) -> Outputs:
    """Return the outputs of `nbest` from those of `TextModel.candidates`."""
    lengths = outputs["length"]  # [B, N]
    shape = tf.shape(lengths)
    is_token = tf.sequence_mask(tf.reduce_sum(lengths, axis=1))  # those of all N are joined
    each = tf.cast(tf.reshape(lengths, [-1]), tf.int64)
    tokens, scores = (
        tf.RaggedTensor.from_row_lengths(tf.boolean_mask(outputs[name], is_token), each)
        for name in ("target_tokens", "token_scores")
    )
    scores = tf.concat([scores, tf.zeros([tf.size(each), 1])], axis=1).to_tensor(0.0)
    words, word_scores = _words(text_model, tokens[:, :-1], scores)
    is_found = tf.reshape(lengths > 0, [-1, 1])  # an empty slot has no `</s>`
    shape = tf.concat([shape, [-1]], axis=0)
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
    """Join target tokens to words, and sum their scores; both are padded.

    Tokens are string [B, None] without `</s>`; scores float32 [B, T], that of `</s>` behind them.
    """
    words, _ = text_model.target.words(tokens)
    numbers = text_model.target.tokenizer.word_numbers(tokens)
    rows = tf.RaggedTensor.from_tensor(scores, lengths=tokens.row_lengths() + 1)
    sums = scores_of_words(rows, numbers)
    return words.to_tensor(""), finite_or_lowest(sums.to_tensor(0.0))
