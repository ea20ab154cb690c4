"""Checks before a training run, which need no TensorFlow."""

import dataclasses
from collections.abc import Sequence
from typing import Any

from rnnsearch_tf.config import SENTENCEPIECE, Config
from rnnsearch_tf.errors import InputError, UsageError
from rnnsearch_tf.extras import require_package
from rnnsearch_tf.models.model_directory import ModelDirectory

# Settings that may change when a training run is resumed: a finished one may be made longer.
_MAY_CHANGE = (
    "epochs", "max_updates", "evaluation_interval", "checkpoint_interval", "patience",
    "max_skipped",
)  # fmt: skip
_VOCABULARY_SIZES = ("source_vocabulary_size", "target_vocabulary_size")  # filled in from the text
# Messages in place of the digests, which say nothing to people.
_OF_TEXT = ("source_vocabulary", "target_vocabulary", "source_subwords", "target_subwords")
_DIGESTED = {
    **dict.fromkeys(_OF_TEXT, "the vocabulary differs"),
    "training_text": "the training text differs, or what is held out of it",
    **dict.fromkeys(("source_prefixes", "target_prefixes"), "abbreviations differ"),
    "validation_text": "the validation set differs",
    "training_alignments": "training alignments differ",
    "initial_model": "the initial model differs",
}


def check_inputs(config: Config, has_validation_set: bool, has_alignments: bool) -> None:
    """Check that a training run has what its settings need.

    UsageError for early stopping without a validation set, alignments without a weight or without
    attention, a weight without alignments, subword sampling or letter noise without SentencePiece,
    or R-Drop without dropout or with XLA.
    """
    if not has_validation_set and config.training.early_stopping != "none":
        raise UsageError("--early_stopping needs a validation set")
    for name in ("subword_sampling", "letter_noise"):
        if getattr(config.training, name) and config.tokenizer != SENTENCEPIECE:
            raise UsageError(f"--{name} needs --tokenizer=sentencepiece")
    if config.model.r_drop and not config.model.dropout:
        raise UsageError("--r_drop needs a --dropout above 0: both forward passes would be equal")
    if config.model.r_drop and config.training.jit_compile:
        # XLA cannot split an axis of unknown size.
        raise UsageError("--r_drop cannot be combined with --jit_compile")
    weight = config.training.guided_alignment_weight
    if not has_alignments and weight:
        raise UsageError(f"--guided_alignment_weight {weight:g} needs --train_alignments")
    if has_alignments and not weight:
        raise UsageError("--train_alignments needs a --guided_alignment_weight above 0")
    if has_alignments and not config.model.has_attention:
        architecture = config.model.architecture
        raise UsageError(f"--train_alignments: {architecture} has no attention to guide")


def check_jax(config: Config, strategy: Any = None) -> None:
    """Check that training can run with Keras on JAX; a `tf.distribute` strategy cannot.

    InputError if JAX is not installed; UsageError for what is TensorFlow's alone.
    """
    require_package("jax")
    if getattr(strategy, "cluster_resolver", None) is not None or strategy == "multi_worker":
        raise UsageError("--strategy multi_worker needs TensorFlow (KERAS_BACKEND is jax)")
    if getattr(strategy, "num_replicas_in_sync", 1) > 1:
        raise UsageError(
            "on JAX, keras.distribution.set_distribution chooses the devices, not a strategy of "
            "tf.distribute"
        )
    if config.training.jit_compile:
        raise UsageError("--jit_compile is for TensorFlow: JAX always compiles (KERAS_BACKEND)")


def check_same(directory: ModelDirectory, config: Config) -> None:
    """Check that a resumed training run has the settings that it began with.

    A directory that is not complete passes. A `config` without digests of the text (which has not
    been read yet) is compared without them. InputError if settings differ; the message names them
    and says how to continue.
    """
    if not directory.is_complete():
        return
    stored, asked = (_settings(c) for c in (directory.load_config(), config))
    # A validation set may come later. Older versions did not keep these digests.
    unknown = {name for name in ("training_text", "validation_text") if not stored[name]}
    if stored["tokenizer"] != SENTENCEPIECE:
        unknown |= {"subwords", "joint_subwords"}
    if not config.training_text:
        unknown |= {*_DIGESTED, *_VOCABULARY_SIZES}
    different = [n for n, value in stored.items() if n not in unknown and asked[n] != value]
    if different:
        said = (_DIGESTED.get(n, f"{n} is {stored[n]}, not {asked[n]}") for n in different)
        same = f"--config={directory.path / 'config.json'}"
        if stored["initial_model"]:
            same += ", without --initial_model"
        way_out = f"resume it with {same}, or " if _is_same_text(different) else ""
        raise InputError(
            f"{directory.path} holds a training run with other settings: "
            f"{', '.join(dict.fromkeys(said))}; {way_out}train in another model directory"
        )


def _is_same_text(different: Sequence[str]) -> bool:
    """Whether the text may be that of the directory, given the settings that differ."""
    of_text = {name for name in different if name in _DIGESTED}
    if "initial_model" in different:  # another one has other words
        of_text -= {"initial_model", *_OF_TEXT}
    return not of_text


def lasting_settings(config: Config) -> dict[str, Any]:
    """Return the settings of model and training that may not change when a run is resumed."""
    values = {**dataclasses.asdict(config.model), **dataclasses.asdict(config.training)}
    return {name: value for name, value in values.items() if name not in _MAY_CHANGE}


def _settings(config: Config) -> dict[str, Any]:
    own = {name: value for name, value in vars(config).items() if isinstance(value, str | int)}
    del own["training_id"]  # drawn when a training run begins
    return {**lasting_settings(config), **own}
