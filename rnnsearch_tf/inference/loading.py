"""Engines from disk: model directories, and exports (see `serving.export`)."""

import dataclasses
from typing import Any

import tensorflow as tf

from rnnsearch_tf.aligner.hmm_aligner import HmmAligner
from rnnsearch_tf.config import (
    ALIGNMENTS,
    SENTENCEPIECE,
    AlignmentName,
    DecodingConfig,
    check_choice,
)
from rnnsearch_tf.digests import find_changed
from rnnsearch_tf.errors import InputError, first_line
from rnnsearch_tf.files import Paths, as_list, check_no_pattern
from rnnsearch_tf.inference.exported import Export, check_models
from rnnsearch_tf.inference.text_model import TextModel
from rnnsearch_tf.inference.weight_storage import FULL
from rnnsearch_tf.layers.precision import dtype_policy
from rnnsearch_tf.models.model_directory import BEST, ModelDirectory, find_model
from rnnsearch_tf.progress import say
from rnnsearch_tf.text.vectorizer import TextVectorizer
from rnnsearch_tf.tf_functions import check_backend


def load_export(export: Export) -> Any:
    """Read the SavedModel of an export, with the saved functions of `TextModel`.

    InputError if a file is missing or not the one that was exported.
    """
    try:
        changed = find_changed(export.path, export.files)
        if changed is not None:
            raise InputError(f"{export.path / changed}: missing, or not the file that was exported")
        return tf.saved_model.load(str(export.path))
    except (OSError, ValueError, AttributeError, tf.errors.OpError) as error:
        check_no_pattern(export.path)  # which would be the reason
        raise InputError(f"{export.path}: not a complete export: {first_line(error)}") from error


def vectorizers_for(directory: ModelDirectory) -> tuple[TextVectorizer, TextVectorizer]:
    """Make the source's and the target's `TextVectorizer` of a complete model directory."""
    source, target = directory.load_tokenizers()
    return (
        TextVectorizer(source, directory.source_vocabulary_path),
        TextVectorizer(target, directory.target_vocabulary_path),
    )


def load_text_model(
    path: Paths,
    decoding: DecodingConfig | None = None,  # instead of the options in its config
    weights: str = BEST,
    weights_dtype: str = FULL,  # in a SavedModel of it
    alignment: AlignmentName | None = None,  # the first one's aligner where it has one
) -> TextModel:
    """Read a model directory, or several as an ensemble.

    Languages and decoding options are the first one's. InputError if a directory is absent,
    incomplete or damaged, or has other vocabularies than the first; if `alignment` is "aligner" and
    the first has none; or if Keras has another backend than TensorFlow.
    """
    check_backend()
    if alignment is not None:
        check_choice("alignment", alignment, ALIGNMENTS, InputError)
    paths = [find_model(one) for one in as_list(path)]
    if not paths:
        raise InputError("no model directory is given")
    config = check_models(paths, weights)
    directories = [ModelDirectory(one) for one in paths]
    first = directories[0]
    if decoding is not None:
        config = dataclasses.replace(config, decoding=decoding)
    aligner, lexicon = first.find_aligner(alignment), first.find_lexicon()
    has_unknown = config.tokenizer != SENTENCEPIECE and config.model.has_attention
    if config.decoding.replace_unknown and lexicon is None and has_unknown:
        say(f"{first.path}: no lexicon, so source words replace [UNK] (see rnnsearch-lexicon)")
    with dtype_policy("float32"):  # whatever the program around it has set for its own models
        models = [directory.load_model(weights) for directory in directories]
    return TextModel(
        models,
        config,
        *vectorizers_for(first),
        weights_dtype=weights_dtype,
        lexicon=lexicon,
        aligner=None if aligner is None else HmmAligner.load(aligner),
    )
