"""rnnsearch-train: two text files to a model directory."""

import dataclasses
import sys

from rnnsearch_tf.config import PRESETS, Config, ModelConfig, TrainingConfig
from rnnsearch_tf.errors import InputError
from rnnsearch_tf.scripts.command import Command, quiet_start

COMMAND = Command(
    "rnnsearch-train",
    "train RNNsearch or RNNencdec (Bahdanau, Cho & Bengio 2015) on a pair of parallel text files, "
    "or go on with a training that was stopped. The settings below override the preset's.",
)
COMMAND.define("train_source", str, "source side of the training pairs: text, UTF-8, plain or .gz")
COMMAND.define("train_target", str, "target side, line by line the translations")
COMMAND.define("valid_source", str, "source side of the development set; chooses the best weights")
COMMAND.define("valid_target", str, "target side of the development set")
COMMAND.define("model_dir", str, "where the model goes; resumed from when it holds a training")
COMMAND.define("preset", str, f"settings to start from: {', '.join(PRESETS)}", "rnnsearch-small")
COMMAND.define("source_language", str, "Moses rules for the source: en or fr", "en")
COMMAND.define("target_language", str, "Moses rules for the target: en or fr", "fr")
COMMAND.define_settings(ModelConfig, skip=("kind",))
COMMAND.define_settings(TrainingConfig)


def main() -> int:
    """Train; the exit status is 0, or 128 + the signal that stopped it."""
    flags = COMMAND.flags
    COMMAND.require("train_source", "train_target", "model_dir")
    if (flags.valid_source is None) != (flags.valid_target is None):
        raise InputError("--valid_source and --valid_target go together")
    config = _config()
    with quiet_start():
        from rnnsearch_tf.corpus.parallel import read_parallel
        from rnnsearch_tf.experiment import train

    training = read_parallel(flags.train_source, flags.train_target)
    validation = (
        read_parallel(flags.valid_source, flags.valid_target) if flags.valid_source else None
    )
    stopped_by = train(config, flags.model_dir, training, validation)
    return 128 + stopped_by if stopped_by else 0


def _config() -> Config:
    flags = COMMAND.flags
    if flags.preset not in PRESETS:
        raise InputError(f"--preset {flags.preset}: choose one of {', '.join(PRESETS)}")
    preset = PRESETS[flags.preset]
    return dataclasses.replace(
        preset,
        model=COMMAND.settings(preset.model),
        training=COMMAND.settings(preset.training),
        source_language=flags.source_language,
        target_language=flags.target_language,
    )


def run(arguments: list[str] | None = None) -> int:
    """The console script; `arguments` instead of the command line's."""
    return COMMAND.run(main, arguments)


if __name__ == "__main__":
    sys.exit(run())
