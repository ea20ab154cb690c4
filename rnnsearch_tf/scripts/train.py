"""rnnsearch-train: parallel text to a model directory."""

import dataclasses
import sys

from rnnsearch_tf.config import Config, ModelConfig, StrategyName, TokenizerName, TrainingConfig
from rnnsearch_tf.data.parallel_corpus import Corpus, ParallelFiles
from rnnsearch_tf.data.wmt14 import SUBSETS as WMT14_SUBSETS
from rnnsearch_tf.data.wmt14 import Wmt14
from rnnsearch_tf.data.word_alignments import WordAlignmentFiles
from rnnsearch_tf.errors import InputError
from rnnsearch_tf.extras import require_package
from rnnsearch_tf.presets import PRESETS
from rnnsearch_tf.scripts.shared.command import Command, quiet_start
from rnnsearch_tf.scripts.shared.outputs import OutputFolder

COMMAND = Command(
    "rnnsearch-train",
    "train RNNsearch or RNNencdec (Bahdanau, Cho & Bengio 2015) on parallel text, or resume a "
    "training that was stopped. The settings below override the preset's.",
)
COMMAND.define(
    "train_source",
    str,
    "source side of the training pairs: text, UTF-8, plain or .gz; several files with commas",
)
COMMAND.define("train_target", str, "target side, line by line the translations")
COMMAND.define(
    "train_alignments",
    str,
    "word alignments of the training pairs, line by line (Pharaoh: i-j, source first, from 0, "
    "counting the tokeniser's words), which guide the attention; see --guided_alignment_weight",
)
COMMAND.define(
    "wmt14",
    str,
    "train on WMT '14, downloaded by TensorFlow Datasets, instead of on files: all, or some of "
    f"{', '.join(WMT14_SUBSETS)}, with commas",
)
COMMAND.define("data_dir", str, "where TensorFlow Datasets keeps WMT '14, if not in its default")
COMMAND.define(
    "cache_dir", OutputFolder, "where tokenised text is kept, if not in the user's cache"
)
COMMAND.define(
    "valid_source",
    str,
    "source side of the validation set, which chooses the best weights; several with commas",
)
COMMAND.define("valid_target", str, "target side of the validation set")
COMMAND.define(
    "model_dir", OutputFolder, "where the model goes; resumed from when it holds a training"
)
COMMAND.define("preset", str, f"settings to start from: {', '.join(PRESETS)}", "rnnsearch-small")
COMMAND.define(
    "strategy",
    StrategyName,
    "one (device), mirrored (all GPUs of this machine) or multi_worker (machines, by TF_CONFIG)",
    "one",
)
COMMAND.define("print_config", bool, "print the settings as JSON, and do nothing else", False)
COMMAND.define("source_language", str, "Moses rules for the source: en or fr", "en")
COMMAND.define("target_language", str, "Moses rules for the target: en or fr", "fr")
COMMAND.define(
    "tokenizer", TokenizerName, "moses, or whitespace: the text is pre-tokenised, in any language",
    "moses",
)  # fmt: skip
COMMAND.define_settings(ModelConfig, skip=("architecture",))
COMMAND.define_settings(TrainingConfig)


def main() -> int:
    """Train; returns 0, or 128 + the number of the signal that stopped it."""
    flags = COMMAND.flags
    config = _config()
    if flags.print_config:
        print(config.to_json(), end="")
        return 0
    if flags.wmt14 is None:
        COMMAND.require("train_source", "train_target")
    elif flags.train_source is not None or flags.train_target is not None:
        raise InputError("--wmt14 takes the place of --train_source and --train_target")
    else:
        require_package("tensorflow_datasets")
    COMMAND.require("model_dir")
    if flags.train_alignments is not None and flags.train_source is None:
        raise InputError("--train_alignments goes with --train_source and --train_target")
    if (flags.valid_source is None) != (flags.valid_target is None):
        raise InputError("--valid_source and --valid_target go together")
    with quiet_start():
        from rnnsearch_tf.training.distribution import build_strategy
        from rnnsearch_tf.training.run import train

        strategy = build_strategy(flags.strategy)  # before TensorFlow does anything else
    validation = (
        _files(flags.valid_source, flags.valid_target).read() if flags.valid_source else None
    )
    stopped_by = train(
        config,
        flags.model_dir,
        _training(),
        validation,
        flags.cache_dir,
        strategy,
        alignments=_alignments(),
    )
    return 128 + stopped_by if stopped_by else 0


def _training() -> Corpus:
    flags = COMMAND.flags
    if flags.wmt14 is None:
        return _files(flags.train_source, flags.train_target)
    subsets = WMT14_SUBSETS if flags.wmt14 == "all" else flags.wmt14.split(",")
    return Wmt14(subsets, flags.data_dir, flags.source_language, flags.target_language)


def _alignments() -> WordAlignmentFiles | None:
    flags = COMMAND.flags
    if flags.train_alignments is None:
        return None
    return WordAlignmentFiles(flags.train_alignments.split(","), flags.train_source.split(","))


def _files(sources: str, targets: str) -> ParallelFiles:
    return ParallelFiles(sources.split(","), targets.split(","))


def _config() -> Config:
    flags = COMMAND.flags
    if flags.preset not in PRESETS:
        raise InputError(f"--preset {flags.preset}: choose one of {', '.join(PRESETS)}")
    preset = PRESETS[flags.preset]
    return dataclasses.replace(
        COMMAND.settings(preset),
        model=COMMAND.settings(preset.model),
        training=COMMAND.settings(preset.training),
    )


def run(arguments: list[str] | None = None) -> int:
    """The console script; `arguments` instead of the command line's."""
    return COMMAND.run(main, arguments)


if __name__ == "__main__":
    sys.exit(run())
