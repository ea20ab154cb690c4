"""Requests that TensorFlow Serving runs before announcing a version, so that none later is slow."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import tensorflow as tf

from rnnsearch_tf.client.contract import SIGNATURES
from rnnsearch_tf.client.serving_pb2 import PredictionLog, PredictLog, PredictRequest
from rnnsearch_tf.client.tensor_messages import string_vector
from rnnsearch_tf.inference.text_model import TextModel
from rnnsearch_tf.text.subwords import BLANK, BYTE
from rnnsearch_tf.text.vectorizer import TextVectorizer
from rnnsearch_tf.text.vocabulary import SPECIAL_TOKENS

WARMUP_REQUESTS = Path("assets.extra") / "tf_serving_warmup_requests"

# Sentences in a request, and words in each sentence.
_SHAPES = {
    "serving_default": tuple(itertools.product((1, 8, 32), (8, 24, 48))),
    **dict.fromkeys(("align", "nbest", "score"), ((1, 8), (1, 24), (8, 24))),
    **dict.fromkeys(("complete", "describe"), ((1, 8),)),
}


def write_warmup_requests(text_model: TextModel, path: Path) -> None:
    """Write assets.extra/tf_serving_warmup_requests, a TFRecord file of PredictionLog protos.

    The model's most frequent words make the sentences.
    """
    file = path / WARMUP_REQUESTS
    file.parent.mkdir()
    with tf.io.TFRecordWriter(str(file)) as writer:
        for signature, texts in _requests(text_model):
            request = PredictRequest()
            request.model_spec.signature_name = signature
            for name in SIGNATURES[signature].inputs:
                request.inputs[name].CopyFrom(string_vector(texts))
            log = PredictionLog(predict_log=PredictLog(request=request))
            writer.write(log.SerializeToString())


def _requests(text_model: TextModel) -> Iterator[tuple[str, list[str]]]:
    """Iterate over signature and sentences of each request."""
    words = frequent_words(text_model.source)
    for signature, shapes in _SHAPES.items():
        if signature == "complete" and text_model.complete is None:
            continue
        for count, length in shapes:
            rows = (itertools.islice(itertools.cycle(words), i, i + length) for i in range(count))
            yield signature, list(map(" ".join, rows))


def frequent_words(vectorizer: TextVectorizer) -> list[str]:
    """Return the 200 most frequent words of a vocabulary; of subwords, those without bytes."""
    tokens = vectorizer.vocabulary.tokens[len(SPECIAL_TOKENS) :]
    words = (token.strip(BLANK) for token in tokens if not BYTE.fullmatch(token))
    return list(itertools.islice(filter(None, words), 200))
