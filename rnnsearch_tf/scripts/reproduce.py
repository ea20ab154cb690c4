"""rnnsearch-reproduce: the paper's four models, trained and evaluated, with a report."""

import shlex
from pathlib import Path
from typing import Any

from rnnsearch_tf.allocation import keep_freed_memory
from rnnsearch_tf.config import (
    FILLED_IN,
    Config,
    DecodingConfig,
    ModelConfig,
    TrainingConfig,
    choices,
    setting_values,
)
from rnnsearch_tf.data.parallel_corpus import Corpus, ParallelFiles, ParallelText
from rnnsearch_tf.errors import InputError, UsageError
from rnnsearch_tf.extras import require_package
from rnnsearch_tf.models.model_directory import ModelDirectory
from rnnsearch_tf.reproduction.models import MODELS, Size, Texts, preset
from rnnsearch_tf.scripts.shared.command import Command
from rnnsearch_tf.scripts.shared.file_flags import OUTPUT_FOLDER
from rnnsearch_tf.scripts.shared.quiet_start import quiet_start
from rnnsearch_tf.scripts.shared.settings_file import check_subword_flags
from rnnsearch_tf.scripts.shared.systems import named_systems, translation_lines
from rnnsearch_tf.scripts.shared.text_output import show
from rnnsearch_tf.training.checks import check_inputs, check_same

COMMAND = Command(
    "rnnsearch-reproduce",
    "train RNNencdec-30, RNNsearch-30, RNNencdec-50 and RNNsearch-50 at one size, evaluate them "
    "as the paper does, and write a report: report.md, report.json and figures. The same command "
    "resumes an interrupted run, and skips finished training runs and evaluations. Settings "
    "override the preset's, for all models.",
    "rnnsearch-reproduce --data=text --train=train --valid=valid --test=test",
)
FLAGS = COMMAND.flags
COMMAND.group("Data")
COMMAND.define(
    "data", str, "the folder of the texts: STEM.en and STEM.fr, plain or .gz", required=True
)
COMMAND.define("train", str, "stem of the training pairs, or several, comma-separated", "train")
COMMAND.define("valid", str, "stem of the validation set, likewise", "valid")
COMMAND.define("test", str, "stem of the test set, likewise", "test")
COMMAND.define("test_lengths", str, "stem of the set for BLEU by length (default: the test set)")
COMMAND.define(
    "system", str, "another system for Table 1, NAME:FILE: its translations of the test set, line "
    "by line; the row of one named Moses also has the paper's scores of Moses", repeated=True,
)  # fmt: skip
COMMAND.group("Run")
COMMAND.define(
    "output", OUTPUT_FOLDER, "the folder for model directories and report", "reproduction"
)
COMMAND.define("preset_size", Size, "settings to start from", "small")
COMMAND.define("models", str, "models to train and evaluate", ",".join(MODELS))
COMMAND.group("Text")
COMMAND.define_settings(Config, skip=("model", "training", "decoding", *FILLED_IN))
COMMAND.group("Model")
COMMAND.define_settings(ModelConfig, skip=("architecture",))
COMMAND.group("Training")
COMMAND.define_settings(TrainingConfig, skip=("max_length", "guided_alignment_weight"))
COMMAND.group("Search")
COMMAND.define_settings(DecodingConfig, skip=(
    "allow_unknown", "replace_unknown", "correct_spelling", "max_length", "candidate_words",
))  # fmt: skip
COMMAND.show_defaults(lambda: _defaults())


def _defaults() -> dict[str, Any]:
    """Return the settings that `--help` shows."""
    # Help does without the checks of flags.
    size: Size = FLAGS.preset_size if FLAGS.preset_size in choices(Size) else "small"
    return setting_values(preset("rnnsearch-50", size))


@COMMAND.entry
def run() -> int:
    """Reproduce; the exit status is 0, or 128 + the signal that stopped a training run."""
    require_package("matplotlib")
    configs = _configs()
    for name, config in configs.items():
        check_same(ModelDirectory(Path(FLAGS.output) / name), config)
    config = next(iter(configs.values()))
    check_subword_flags(COMMAND, config)
    check_inputs(config, has_validation_set=True, has_alignments=False)
    texts = _texts(config.languages)
    keep_freed_memory()
    with quiet_start():
        from rnnsearch_tf.reproduction.reproduce import reproduce
        from rnnsearch_tf.threads import limit_for_halves

        limit_for_halves()

    command = shlex.join([COMMAND.name, *_given()])
    stopped_by = reproduce(configs, texts, FLAGS.output, command)
    if stopped_by:
        return 128 + stopped_by
    show(str(Path(FLAGS.output) / "report.md"))
    return 0


def _configs() -> dict[str, Config]:
    configs = {}
    for name in FLAGS.models.split(","):
        if name not in MODELS:
            raise UsageError(f"--models {name}: choose from {', '.join(MODELS)}")
        configs[name] = COMMAND.settings(preset(name, FLAGS.preset_size))
    return configs


def _texts(languages: tuple[str, str]) -> Texts:
    training = _files(FLAGS.train, languages)
    validation, test = (_files(stems, languages).read() for stems in (FLAGS.valid, FLAGS.test))
    lengths_stems = FLAGS.test_lengths or FLAGS.test
    by_length = test if lengths_stems == FLAGS.test else _files(lengths_stems, languages).read()
    described = {
        "training": _described(FLAGS.train, training, languages),
        "validation": _described(FLAGS.valid, validation, languages),
        "test": _described(FLAGS.test, test, languages),
        "test by length (Fig. 2, Table 3)": _described(lengths_stems, by_length, languages),
    }
    return Texts(training, validation, test, by_length, described, _systems(test))


def _systems(test: ParallelText) -> dict[str, list[str]]:
    """Read the other systems' translations, by name."""
    systems = named_systems(COMMAND)
    for name, path in systems.items():
        if name == path or name in MODELS.values():
            raise UsageError(f"--system {path}: must be NAME:FILE, with a name of its own")
    return {name: translation_lines("system", path, test.source) for name, path in systems.items()}


def _files(stems: str, languages: tuple[str, str]) -> ParallelFiles:
    sources, targets = (
        [_existing(stem, language) for stem in stems.split(",")] for language in languages
    )
    return ParallelFiles(sources, targets)


def _existing(stem: str, language: str) -> Path:
    """Return the file of one side, plain or .gz."""
    path = Path(FLAGS.data) / f"{stem}.{language}"
    for candidate in (path, path.with_name(f"{path.name}.gz")):
        if candidate.exists():
            return candidate
    raise InputError(f"{path}: no such file, nor with .gz (see --train, --valid, --test)")


def _described(stems: str, text: Corpus, languages: tuple[str, str]) -> str:
    pairs = sum(len(block.source) for block in text.blocks())
    return f"{stems}, {pairs:,} pairs {'–'.join(languages)}"


def _given() -> list[str]:
    """Return the flags that are not at their defaults, as they would be typed."""
    given = [FLAGS[name] for name in FLAGS if FLAGS[name].value != FLAGS[name].default]
    return [line for flag in given for line in flag.serialize().split("\n")]
