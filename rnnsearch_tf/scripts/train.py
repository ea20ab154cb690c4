"""rnnsearch-train: parallel text to a model directory."""

import contextlib
import dataclasses
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

from rnnsearch_tf.allocation import keep_freed_memory
from rnnsearch_tf.config import (
    FILLED_IN,
    FORMAT,
    Config,
    ModelConfig,
    StrategyName,
    TrainingConfig,
    setting_values,
)
from rnnsearch_tf.data.held_out import hold_out
from rnnsearch_tf.data.parallel_corpus import Corpus
from rnnsearch_tf.data.wmt14 import SUBSETS as WMT14_SUBSETS
from rnnsearch_tf.data.wmt14 import Wmt14
from rnnsearch_tf.data.word_alignments import WordAlignmentFiles
from rnnsearch_tf.errors import InputError, UsageError
from rnnsearch_tf.files import real_path
from rnnsearch_tf.limits import Limits
from rnnsearch_tf.models.model_directory import ModelDirectory
from rnnsearch_tf.presets import PRESETS
from rnnsearch_tf.progress import say
from rnnsearch_tf.scripts.shared.command import Command
from rnnsearch_tf.scripts.shared.file_flags import (
    INPUT_BINARIES,
    INPUT_FILE,
    INPUT_FILES,
    MODEL_FOLDER,
    OUTPUT_FOLDER,
    check_has_no_comma,
    identity,
)
from rnnsearch_tf.scripts.shared.pair_flags import PairFiles, define_pairs, find_pairs, needed_pairs
from rnnsearch_tf.scripts.shared.quiet_start import quiet_start
from rnnsearch_tf.scripts.shared.settings_file import check_subword_flags, read_settings_file
from rnnsearch_tf.training.checks import check_inputs, check_jax, check_same
from rnnsearch_tf.training.cluster import Cluster, find_cluster
from rnnsearch_tf.training.initial_model import InitialModel

COMMAND = Command(
    "rnnsearch-train",
    "train RNNsearch or RNNencdec (Bahdanau, Cho & Bengio 2015) on parallel text, or resume "
    "training. A flag overrides --config, which overrides --initial_model, which overrides "
    "--preset. The defaults below are those of the preset (use --help with --preset or --config to "
    "see others).",
    "rnnsearch-train --train_source=train.en --train_target=train.fr \\\n"
    "    --valid_source=valid.en --valid_target=valid.fr --model_dir=model",
    alone="print_config",
)
FLAGS = COMMAND.flags
COMMAND.group("Data")
define_pairs(
    COMMAND,
    "source side of the training pairs; text",
    "their translations",
    "train_",
    instead=("wmt14",),
)
COMMAND.define(
    "wmt14",
    str,
    "train on WMT '14, downloaded by TensorFlow Datasets: all, or a comma-separated list of "
    f"{', '.join(WMT14_SUBSETS)}",
)
COMMAND.define("data_dir", str, "folder of TensorFlow Datasets for WMT '14 (default: its own)")
define_pairs(
    COMMAND,
    "source side of the validation set, which chooses the best weights; text",
    "its target side",
    "valid_",
    instead=("valid_split",),
    required=False,
)
COMMAND.define(
    "valid_split",
    float,
    "hold out a random sample of this many training pairs, or of this share of them (below 1); the "
    "same text gives the same sample",
    limits=Limits(0, 10_000_000, without_low=True),
)
COMMAND.define(
    "train_alignments",
    INPUT_FILES,
    "word alignments of the training pairs to guide the attention, line by line, in Pharaoh "
    "format: i-j, source first, from 0, counting Moses tokens or, with sentencepiece and "
    "whitespace, whitespace-separated words; needs --guided_alignment_weight",
)
COMMAND.group("Text")
COMMAND.define_settings(Config, skip=("model", "training", "decoding", *FILLED_IN))
COMMAND.define(
    "subword_models",
    INPUT_BINARIES,
    "existing SentencePiece models to use: SOURCE,TARGET, or one for both sides",
)
COMMAND.group("Run")
COMMAND.define(
    "model_dir",
    OUTPUT_FOLDER,
    "where the model is written; if it holds a training run, it is resumed",
    required=True,
)
COMMAND.define(
    "initial_model",
    MODEL_FOLDER,
    "a trained model to start from (fine-tuning): its weights, sizes, words, tokenizer and "
    "decoding options; a larger vocabulary size adds new words",
)
COMMAND.define("preset", str, f"settings to start from: {', '.join(PRESETS)}", "rnnsearch-small")
COMMAND.define(
    "config",
    INPUT_FILE,
    "settings that override the preset: all or part of what --print_config prints, as JSON "
    "or YAML; or a model directory's config.json, which also resumes its training run",
)
COMMAND.define("print_config", bool, "only print the settings, as JSON", False)
COMMAND.define(
    "strategy",
    StrategyName,
    "one: a single device; mirrored: all GPUs of this machine; multi_worker: several machines, "
    "given by --workers, TF_CONFIG or SLURM's job step",
    "one",
)
COMMAND.define(
    "workers",
    str,
    "hosts of --strategy=multi_worker, such as a:2222,b:2222 or node[01-04]; the first is the "
    "chief, which alone evaluates and writes to --model_dir",
)
COMMAND.define("worker_index", int, "index of this machine in --workers, from 0", limits=Limits())
COMMAND.define(
    "cache_dir", OUTPUT_FOLDER, "folder for tokenized text (default: ~/.cache/rnnsearch_tf)"
)
COMMAND.group("Model")
COMMAND.define_settings(ModelConfig, skip=("architecture",))
COMMAND.group("Training")
COMMAND.define_settings(TrainingConfig)
COMMAND.show_defaults(lambda: _defaults())


@COMMAND.entry
def run() -> int:
    """Train; return 0, or 128 + the number of the signal that stopped it."""
    config = COMMAND.settings(_base())
    if FLAGS.print_config:
        print(json.dumps({"format": FORMAT, **config.given_settings()}, indent=2))
        return 0
    _check_flags(config)
    COMMAND.check_read_twice("train_source", "train_target", "train_tsv", "train_alignments")
    training, alignments = _training(config), _alignments()
    subwords = _subword_models(config)
    valid_files = _validation_files()
    check_inputs(config, bool(valid_files or FLAGS.valid_split), alignments is not None)
    cluster = _cluster()
    backend = _backend()
    if backend == "jax":
        check_jax(config, FLAGS.strategy)
    if cluster is None:  # of several machines, the chief checks it, and others fail with it
        _check_run(config)
    validation = valid_files.read() if valid_files else None
    if cluster is not None:
        say(f"worker {cluster.index}, waiting for all {len(cluster.workers)}")
    keep_freed_memory()
    with quiet_start(backend):
        from rnnsearch_tf import threads
        from rnnsearch_tf.provenance import lacks_bfloat16
        from rnnsearch_tf.training.distribution import Workers, build_strategy
        from rnnsearch_tf.training.run import train

        if backend == "jax":
            strategy = _on_jax()
        else:
            if not config.training.jit_compile:
                threads.limit_for_halves()
            # before TensorFlow does anything else
            strategy = build_strategy(FLAGS.strategy, cluster)
            if config.training.dtype_policy == "mixed_bfloat16" and lacks_bfloat16():
                COMMAND.warn("--dtype_policy=mixed_bfloat16 is slower than float32 on this CPU")
    if FLAGS.valid_split:
        if FLAGS.initial_model:
            COMMAND.warn("--valid_split: the initial model may have been trained on held-out pairs")
        training, validation = hold_out(training, FLAGS.valid_split)
    stopped_by = train(
        config,
        FLAGS.model_dir,
        training,
        validation,
        FLAGS.cache_dir,
        strategy,
        alignments=alignments,
        subwords=subwords,
        initial_model=FLAGS.initial_model,
    )
    if stopped_by:
        return 128 + stopped_by
    if Workers(strategy).is_chief:
        quoted = subprocess.list2cmdline if sys.platform == "win32" else shlex.join
        folder = quoted([FLAGS.model_dir])
        say(f'Translate: echo "…" | rnnsearch-translate --model_dir={folder}')
    return 0


def _backend() -> str:
    return "jax" if os.environ.get("KERAS_BACKEND") == "jax" else "tensorflow"


def _on_jax() -> Any:
    """Give JAX the devices; return TensorFlow's strategy of one CPU, which reads the batches."""
    import tensorflow as tf

    from rnnsearch_tf.training.jax_batches import choose_devices

    tf.config.set_visible_devices([], "GPU")
    choose_devices(FLAGS.strategy)
    return tf.distribute.get_strategy()


def _base() -> Config:
    """Return the settings of --config over those of --initial_model over those of --preset."""
    if FLAGS.preset not in PRESETS:
        raise UsageError(f"--preset {FLAGS.preset}: choose one of {', '.join(PRESETS)}")
    config = PRESETS[FLAGS.preset]
    if FLAGS.initial_model is not None:
        config = InitialModel(FLAGS.initial_model).settings_over(config)
    if FLAGS.config is None:
        return config
    config = read_settings_file(FLAGS.config, config, FLAGS.learning_rate is not None)
    if FLAGS.model_dir is not None and FLAGS.initial_model is None:
        own = ModelDirectory(FLAGS.model_dir)
        if real_path(FLAGS.config) == real_path(own.path / "config.json"):  # it is resumed
            config = dataclasses.replace(config, initial_model=own.load_config().initial_model)
    return config


def _defaults() -> dict[str, Any]:
    """Return the settings that `--help` shows; where they cannot be read, those of a preset."""
    config = PRESETS.get(FLAGS.preset, PRESETS["rnnsearch-small"])
    with contextlib.suppress(InputError):
        config = _base()
    return setting_values(config)


def _check_flags(config: Config) -> None:
    """Check what would otherwise be found wrong after a training run, or never."""
    check_has_no_comma("model_dir", FLAGS.model_dir)
    for name, is_used in {
        "patience": config.training.early_stopping != "none",
        "bucket_width": config.training.batching == "buckets" or _backend() == "jax",
        "attention_size": "attention_size" in config.model.used_sizes,
    }.items():
        if FLAGS[name].value is not None and not is_used:
            COMMAND.warn(f"--{name} has no effect with these settings")
    if config.training.jit_compile and config.training.batching == "sorted":
        COMMAND.warn("--jit_compile compiles once per shape: --batching=buckets has fewer shapes")


def _training(config: Config) -> Corpus:
    if FLAGS.wmt14 is None:
        COMMAND.refuse(("data_dir",), "needs --wmt14")
        _check_sides_differ("train")
        return needed_pairs(COMMAND, "train_")
    subsets = WMT14_SUBSETS if FLAGS.wmt14 == "all" else FLAGS.wmt14.split(",")
    return Wmt14(subsets, FLAGS.data_dir, *config.languages)


def _alignments() -> WordAlignmentFiles | None:
    if FLAGS.train_alignments is None:
        return None
    sentences = FLAGS.train_source or FLAGS.train_tsv
    if sentences is None:
        raise UsageError("--train_alignments needs --train_source or --train_tsv")
    return WordAlignmentFiles(FLAGS.train_alignments.split(","), sentences.split(","))


def _subword_models(config: Config) -> list[str]:
    check_subword_flags(COMMAND, config)
    models = FLAGS.subword_models.split(",") if FLAGS.subword_models else []
    if models and FLAGS.subwords:
        raise UsageError("--subwords cannot be combined with --subword_models")
    if models and FLAGS.initial_model:
        raise UsageError("--subword_models cannot be combined with --initial_model")
    if len(models) > 2:
        raise UsageError("--subword_models: SOURCE,TARGET, or one for both sides")
    if len(models) == 2 and FLAGS.joint_subwords:
        raise UsageError("--joint_subwords: --subword_models has one model for each side")
    return models


def _validation_files() -> PairFiles | None:
    size = FLAGS.valid_split
    if size is not None:
        if FLAGS.train_alignments is not None:
            raise UsageError("--valid_split: --train_alignments needs a separate validation set")
        if size > 1 and size != int(size):
            raise UsageError(f"--valid_split {size}: must be a whole number, or below 1")
        files = [*map(real_path, (FLAGS.train_source or FLAGS.train_tsv or "").split(","))]
        if len(set(files)) < len(files):
            raise UsageError(
                "--valid_split: give each training file only once, or held-out pairs are trained on"
            )
    _check_sides_differ("valid")
    return find_pairs(COMMAND, "valid_")


def _check_sides_differ(text: str) -> None:
    """Raise a UsageError if a file is both sides of a text: the model would learn to copy."""
    source, target = (FLAGS[f"{text}_{side}"].value or "" for side in ("source", "target"))
    for one, other in zip(source.split(","), target.split(","), strict=False):
        if other and identity(Path(one)) == identity(Path(other)):
            raise UsageError(f"--{text}_target {other}: --{text}_source names the same file")


def _cluster() -> Cluster | None:
    if FLAGS.strategy == "multi_worker":
        return find_cluster(FLAGS.workers, FLAGS.worker_index, os.environ)
    COMMAND.refuse(("workers", "worker_index"), "needs --strategy=multi_worker")
    return None


def _check_run(config: Config) -> None:
    directory = ModelDirectory(FLAGS.model_dir)
    if FLAGS.initial_model is not None:
        InitialModel(FLAGS.initial_model).check(config)
        if directory.path.resolve() == Path(FLAGS.initial_model).resolve():
            raise UsageError(f"--model_dir {FLAGS.model_dir}: is the initial model's; use another")
    directory.check_resumable()
    check_same(directory, config)
    directory.read_log()  # for its checks
