"""Training whose attention is guided by word links."""

import dataclasses
import json
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf

from rnnsearch_tf.config import Config, ModelConfig, TrainingConfig
from rnnsearch_tf.data.parallel_corpus import ParallelFiles
from rnnsearch_tf.data.word_alignments import WordAlignmentFiles
from rnnsearch_tf.errors import InputError
from rnnsearch_tf.models.model_directory import ModelDirectory
from rnnsearch_tf.models.translation_model import TranslationModel
from rnnsearch_tf.presets import PRESETS
from rnnsearch_tf.scripts import train
from rnnsearch_tf.training import run as experiment
from rnnsearch_tf.training.train_step import TrainStep

pytestmark = pytest.mark.slow

SOURCE = np.array([[4, 9, 6, 1, 0], [3, 10, 2, 8, 1], [7, 1, 0, 0, 0]], "int32")
TARGET = np.array([[5, 12, 3, 1], [11, 1, 0, 0], [2, 9, 4, 1]], "int32")
GUIDE = np.zeros((3, 4, 5), "float32")  # five linked words
GUIDE[0, [0, 2], [2, 0]] = 1
GUIDE[1, 0, [1, 2, 3]] = 1 / 3
GUIDE[2, [0, 2], 0] = 1


def built() -> TranslationModel:
    model = TranslationModel(ModelConfig("rnnsearch", 11, 13, 3, 5, 7, 2))
    rng = np.random.default_rng(1)
    model.set_weights([rng.normal(0, 0.5, w.shape) for w in model.get_weights()])
    return model


# --- one update -----------------------------------------------------------------------------------


@pytest.mark.parametrize("guided_alignment_weight", [0.5, 3.0])
def test_the_loss_is_the_mean_over_sentences_of_both_terms(guided_alignment_weight):
    model = built()
    with tf.GradientTape() as tape:
        losses, distances = model.guided_losses(SOURCE, TARGET, GUIDE)
        nll, distance = tf.reduce_sum(losses), tf.reduce_sum(distances)
        loss = (nll + guided_alignment_weight * distance) / 3
    gradients = tape.gradient(loss, [weight.value for weight in model.trainable_variables])
    config = TrainingConfig(guided_alignment_weight=guided_alignment_weight)
    batch = TrainStep(model, config, total_updates=1).guided(SOURCE, TARGET, GUIDE, 0)
    assert float(batch.nll) == pytest.approx(float(nll), rel=1e-6)
    assert float(batch.guide_loss) == pytest.approx(float(distance), rel=1e-6)
    assert (float(batch.words), float(batch.linked), int(batch.sentences)) == (10, 5, 3)
    norm = float(tf.linalg.global_norm([tf.convert_to_tensor(g) for g in gradients]))
    assert float(batch.gradient_norm) == pytest.approx(norm, rel=1e-5)


def test_without_a_guide_an_update_counts_none():
    batch = TrainStep(built(), TrainingConfig(), total_updates=1)(SOURCE, TARGET, 0)
    assert (float(batch.guide_loss), float(batch.linked)) == (0, 0)


# --- a training -----------------------------------------------------------------------------------


def settings(kind: str = "rnnsearch", **training) -> Config:
    preset = PRESETS[f"{kind}-tiny"]
    sizes: dict = dict.fromkeys(("source_vocabulary_size", "target_vocabulary_size"), 200)
    sizes |= {"embedding_size": 8, "hidden_size": 11, "attention_size": 7, "maxout_size": 5}
    return dataclasses.replace(
        preset,
        model=dataclasses.replace(preset.model, dropout=0.3, **sizes),
        training=dataclasses.replace(
            preset.training,
            batch_size=32,
            learning_rate=0.01,
            learning_rate_schedule="constant",
            **training,
        ),
    )


@pytest.fixture
def run(corpus):
    """Train on the corpus and its links."""
    text = ParallelFiles([corpus / "train.en"], [corpus / "train.fr"])
    links = WordAlignmentFiles([corpus / "train.links"], [corpus / "train.en"])

    def run(path: Path, config: Config, *callbacks: keras.callbacks.Callback) -> None:
        experiment.train(config, path, text, callbacks=callbacks, links=links)

    return run


def log(path: Path) -> list[dict]:
    return [json.loads(line) for line in (path / "training.jsonl").read_text().splitlines()]


class Logs(keras.callbacks.Callback):
    """Keeps what it is told of each update."""

    def __init__(self):
        super().__init__()
        self.batches: list[dict] = []

    def on_train_batch_end(self, batch, logs=None):
        self.batches.append(logs)


def test_attention_follows_the_links_by_the_weight_they_have(tmp_path, run, capsys):
    found = {}
    for weight in (1e-6, 5.0):
        logs = Logs()
        run(
            tmp_path / str(weight),
            settings(guided_alignment_weight=weight, epochs=3),
            logs,
        )
        found[weight] = [record["train_guide_loss"] for record in log(tmp_path / str(weight))]
        # Evenly spread attention over 2 to 20 words costs log 2 to log 20 nats.
        assert np.log(2) < logs.batches[0]["mean_guide_loss"] < np.log(20)
    assert found[5.0] == sorted(found[5.0], reverse=True)
    assert found[5.0][-1] < found[1e-6][-1] - 0.1
    assert f"attention {found[5.0][-1]:.3f} nats/linked word" in capsys.readouterr().err


class Killed(Exception):
    """What a training does not expect."""


class Killer(keras.callbacks.Callback):
    """Kills a training after its tenth update."""

    def on_train_batch_end(self, batch, logs=None):
        if logs["updates"] == 10:
            raise Killed


def test_a_guided_training_resumes_exactly(tmp_path, run):
    """The checkpoint is of update 7, inside an epoch of 10 updates and a stretch from 6 to 12."""
    broken, whole = tmp_path / "broken", tmp_path / "whole"
    stretches: dict = {"max_updates": 12, "evaluation_interval": 6, "checkpoint_interval": 7}
    config = settings(
        guided_alignment_weight=1.0, batching="sorted", dtype_policy="mixed_bfloat16", **stretches
    )
    with pytest.raises(Killed):
        run(broken, config, Killer())
    for path in (broken, whole):
        run(path, config)
    weights = [ModelDirectory(path).load_model("last").get_weights() for path in (broken, whole)]
    for found, expected in zip(*weights, strict=True):
        np.testing.assert_array_equal(found, expected)
    found, expected = (
        [[record["updates"], record["train_guide_loss"]] for record in log(path)]
        for path in (broken, whole)
    )
    assert found == expected
    assert [updates for updates, _ in found] == [6, 12]


def test_an_unguided_log_says_nothing_of_links(model_dir):
    assert "train_guide_loss" not in log(model_dir)[0]
    assert ModelDirectory(model_dir).load_config().training_alignments == ""


# --- refusals -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def flags(train_flags, corpus) -> list[str]:
    flags = [flag for flag in train_flags if not flag.startswith("--valid")]
    return [*flags, f"--train_alignments={corpus / 'train.links'}", "--guided_alignment_weight=1"]


def refused(capsys, flags: list[str]) -> str:
    capsys.readouterr()
    assert train.run(flags) == 1
    return capsys.readouterr().err.splitlines()[-1]


def test_links_are_part_of_what_a_training_is(tmp_path, capsys, flags, corpus):
    path = tmp_path / "model"
    assert train.run([*flags, "--max_updates=1", f"--model_dir={path}"]) == 0
    flags = [*flags, f"--model_dir={path}"]
    lines = (corpus / "train.links").read_text().splitlines()
    other = tmp_path / "other.links"
    other.write_text("".join(f"{line}\n" for line in [lines[0] + " 0-0 0-1", *lines[1:]]))
    assert "training links differ" in refused(capsys, [*flags, f"--train_alignments={other}"])
    assert "guided_alignment_weight is 1.0, not 2.0" in refused(
        capsys, [*flags, "--guided_alignment_weight=2"]
    )
    without = [
        flag
        for flag in flags
        if not flag.startswith(("--train_alignments", "--guided_alignment_weight"))
    ]
    assert "holds a training with other settings" in refused(capsys, without)


def test_links_and_guidance_go_together(tmp_path, capsys, flags):
    flags = [*flags, f"--model_dir={tmp_path / 'model'}"]
    assert "--train_alignments needs a --guided_alignment_weight above 0" in refused(
        capsys, [*flags, "--guided_alignment_weight=0"]
    )
    assert "--guided_alignment_weight -1.0: must not be negative" in refused(
        capsys, [*flags, "--guided_alignment_weight=-1"]
    )
    encdec = [*flags, "--preset=rnnencdec-tiny"]
    assert "rnnencdec has no attention to guide" in refused(capsys, encdec)
    assert "1 files of links for 2 of sentences" in refused(
        capsys, [*flags, "--train_source=a,b", "--train_target=a,b"]
    )
    without = [flag for flag in flags if not flag.startswith("--train_alignments")]
    assert "--guided_alignment_weight 1 needs --train_alignments" in refused(capsys, without)
    no_files = [flag for flag in flags if not flag.startswith(("--train_source", "--train_target"))]
    said = refused(capsys, [*no_files, "--wmt14=all"])
    assert "--train_alignments goes with --train_source and --train_target" in said
    assert not (tmp_path / "model").exists()


def test_a_link_of_a_word_that_is_not_there_leaves_nothing_behind(tmp_path, capsys, flags, corpus):
    lines = (corpus / "train.links").read_text().splitlines()
    bad = tmp_path / "bad.links"
    bad.write_text("".join(f"{line}\n" for line in [*lines[:6], lines[6] + " 0-99", *lines[7:]]))
    said = refused(
        capsys, [*flags, f"--train_alignments={bad}", f"--model_dir={tmp_path / 'model'}"]
    )
    assert "bad.links: line 7: there is no link 0-99 between" in said
    assert not (tmp_path / "model").exists()


def test_links_of_another_text(tmp_path, corpus):
    text = ParallelFiles([corpus / "valid.en"], [corpus / "valid.fr"])
    links = WordAlignmentFiles([corpus / "train.links"], [corpus / "train.en"])
    with pytest.raises(InputError, match="pairs, where the text has 20"):
        experiment.train(
            settings(guided_alignment_weight=1.0), tmp_path / "model", text, links=links
        )
    assert not (tmp_path / "model").exists()
