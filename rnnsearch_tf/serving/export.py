"""Export of model directories to SavedModels for TensorFlow Serving."""

import errno
import json
from pathlib import Path

import tensorflow as tf
from tensorflow.core.protobuf.saved_model_pb2 import SavedModel

from rnnsearch_tf.config import SUBWORD_FILES, AlignmentName, DecodingConfig, check_choice
from rnnsearch_tf.digests import folder_digests, sealed
from rnnsearch_tf.errors import InputError, first_line
from rnnsearch_tf.files import (
    Paths,
    as_list,
    check_no_link,
    check_no_pattern,
    new_folder,
    write_atomically,
)
from rnnsearch_tf.inference.exported import CARD, SUBWORDS, new_version
from rnnsearch_tf.inference.loading import load_text_model
from rnnsearch_tf.inference.n_best import LOWEST
from rnnsearch_tf.inference.text_model import TextModel
from rnnsearch_tf.inference.weight_storage import FULL, WEIGHT_DTYPES
from rnnsearch_tf.models.model_directory import BEST, MODEL_FILES, ModelDirectory, find_model
from rnnsearch_tf.serving.model_card import model_card
from rnnsearch_tf.serving.signatures import signatures
from rnnsearch_tf.serving.warmup import frequent_words, write_warmup_requests
from rnnsearch_tf.text.subwords import SentencePieceTokenizer

_PROBED = 48  # tokens of either side of the pair that is scored before a model is exported


def export(
    model_dirs: Paths,
    export_dir: str | Path,
    version: int | None = None,
    decoding: DecodingConfig | None = None,
    weights: str = BEST,
    weights_dtype: str = FULL,
    completions: bool = False,
    alignment: AlignmentName | None = None,
) -> Path:
    """Write `EXPORT_DIR/<version>/`, a SavedModel with the signatures of `serving.signatures`.

        saved_model.pb, variables/      graph and weights
        assets/                         source.vocab, target.vocab
        assets.extra/                   tf_serving_warmup_requests, and source.spm and target.spm
                                        where the tokens are subwords
        model.json                      the export's card (see `model_card`), with the SHA-256 of
                                        all other files and its own

    The folder appears complete, under its final name, or not at all; older versions stay.

    Args:
        model_dirs: the path of the trained model, or those of the members of an ensemble.
        export_dir: the folder that a server watches; created when absent.
        version: a positive number; a server takes the highest. None: one above the highest.
        decoding: all options, instead of those in the first model's config.
        weights: "best" or "last".
        weights_dtype: dtype of the weights: "float32", "float16" or "bfloat16".
        completions: whether it has the signature `complete`, which takes seconds to make.
        alignment: what the signature `align` aligns by, "attention" or "aligner"; None: the first
            model's aligner where it has one (see `rnnsearch-aligner`).

    Raises:
        InputError: an unusable model directory, a model whose scores are not finite, a version
            that exists already, or a folder that cannot be written.
    """
    model_dirs = [find_model(path) for path in as_list(model_dirs)]
    names = ", ".join(map(str, model_dirs))
    check_no_pattern(export_dir)
    target = new_version(export_dir, version)
    check_choice("weights_dtype", weights_dtype, WEIGHT_DTYPES, InputError)
    for path in model_dirs:
        for name in MODEL_FILES:
            check_no_link(Path(path) / name, "export")
    read = [ModelDirectory(path).check_weights(weights) for path in model_dirs]
    text_model = load_text_model(model_dirs, decoding, weights, weights_dtype, alignment)
    _check_finite(text_model, names)
    if weights_dtype == FULL:  # other dtypes are chosen to save memory
        text_model.prepare()
    if not completions:
        text_model.complete = None  # all functions that it has are saved
    aligned = "attention" if text_model.aligner is None else "aligner"
    card = model_card(model_dirs, weights, weights_dtype, text_model.config.decoding, aligned)
    if [model["weights_sha256"] for model in card["models"]] != read:
        raise InputError(f"{names}: the weights have just changed; export again")
    try:
        with new_folder(target) as temporary:
            # `save` traces these itself: any traced before would be traced and saved twice.
            tf.saved_model.save(
                text_model,
                str(temporary),
                signatures(text_model),
                tf.saved_model.SaveOptions(experimental_custom_gradients=False),  # of no use here
            )
            _remove_gradients(temporary)
            write_warmup_requests(text_model, temporary)
            _write_subwords(text_model, temporary)
            card = sealed({**card, "files": folder_digests(temporary)})
            (temporary / CARD).write_text(
                json.dumps(card, indent=2, ensure_ascii=False) + "\n", "utf-8"
            )
    except (OSError, tf.errors.OpError) as error:
        if isinstance(error, OSError) and error.errno in (errno.EEXIST, errno.ENOTEMPTY):
            raise InputError(f"{target}: another process has just written it") from error
        raise InputError(f"{target}: cannot be written: {first_line(error)}") from error
    return target


def _check_finite(text_model: TextModel, names: str) -> None:
    """Check that a pair of sentences has a finite score; weights may be finite and too large."""
    sides = (text_model.source, text_model.target)
    tokens = (tf.constant([frequent_words(side)[:_PROBED]], tf.string) for side in sides)
    # Without a trace, which would be saved with the model.
    [score] = text_model.score_tokens.python_function(*tokens)["score"].numpy()
    if score == LOWEST:
        raise InputError(
            f"{names}: scores are not finite, the weights too large or damaged; not exported"
        )


def _remove_gradients(path: Path) -> None:
    """Remove the names of gradients, which are not saved: loading in Python would warn of them."""
    graph = path / "saved_model.pb"
    saved = SavedModel.FromString(graph.read_bytes())
    for function in saved.meta_graphs[0].graph_def.library.function:
        for node in function.node_def:
            node.attr.pop("_gradient_op_type", None)
    graph.write_bytes(saved.SerializeToString())


def _write_subwords(text_model: TextModel, path: Path) -> None:
    """Write the SentencePiece models, which the graph holds too, for `Translator`."""
    tokenizers = text_model.source.tokenizer, text_model.target.tokenizer
    for tokenizer, name in zip(tokenizers, SUBWORD_FILES, strict=True):
        if isinstance(tokenizer, SentencePieceTokenizer):
            write_atomically(path / SUBWORDS / name, tokenizer.model)
