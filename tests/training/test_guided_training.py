"""Training with the guided alignment loss, and with a loss of a test's own."""

import dataclasses
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf
import traced_once

from rnnsearch_tf.config import Config, ModelConfig, TrainingConfig
from rnnsearch_tf.data.parallel_corpus import ParallelFiles
from rnnsearch_tf.data.word_alignments import WordAlignmentFiles
from rnnsearch_tf.errors import InputError
from rnnsearch_tf.models.losses import LOSSES, LossTotal
from rnnsearch_tf.models.model_directory import ModelDirectory
from rnnsearch_tf.models.translation_model import TranslationModel
from rnnsearch_tf.presets import PRESETS
from rnnsearch_tf.scripts import train
from rnnsearch_tf.training.run import train as train_model
from rnnsearch_tf.training.train_step import TrainStep

pytestmark = pytest.mark.slow

SOURCE = np.array([[4, 9, 6, 1, 0], [3, 10, 2, 8, 1], [7, 1, 0, 0, 0]], "int32")
TARGET = np.array([[5, 12, 3, 1], [11, 1, 0, 0], [2, 9, 4, 1]], "int32")
GUIDE = np.zeros((3, 4, 5), "float32")  # five linked words
GUIDE[0, [0, 2], [2, 0]] = 1
GUIDE[1, 0, [1, 2, 3]] = 1 / 3
GUIDE[2, [0, 2], 0] = 1
BATCH = {"source": SOURCE, "target": TARGET, "guide": GUIDE}


def built() -> TranslationModel:
    model = TranslationModel(ModelConfig("rnnsearch", 11, 13, 3, 5, 7, 2))
    rng = np.random.default_rng(1)
    model.set_weights([rng.normal(0, 0.5, w.shape) for w in model.get_weights()])
    return model


# --- one update -----------------------------------------------------------------------------------


def losses_and_norm(
    model: TranslationModel, weights: dict[str, float], batch: dict[str, np.ndarray] = BATCH
) -> tuple[dict[str, LossTotal], float]:
    """Return the losses, and the norm of the gradient of their weighted mean over sentences."""
    with tf.GradientTape() as tape:
        losses = model.compute_losses(batch, weights)
        total = sum(weight * losses[name].sum for name, weight in weights.items())
        loss = total / len(batch["source"])
    gradients = tape.gradient(loss, [weight.value for weight in model.trainable_variables])
    norm = tf.linalg.global_norm([tf.convert_to_tensor(g) for g in gradients])
    return losses, float(norm)


@pytest.mark.parametrize(
    ("jit_compile", "shares", "sizes"), [(True, 1, (3, 3)), (False, 2, (3, 1))]
)
def test_the_loss_is_the_mean_over_sentences_of_both_terms(jit_compile, shares, sizes):
    """Also if a share of the batch has no sentence."""
    model, weight = built(), 3.0
    config = TrainingConfig(guided_alignment_weight=weight, jit_compile=jit_compile)
    step = TrainStep(model, config, total_updates=2, shares=shares)
    for size in sizes:
        batch = {name: array[:size] for name, array in BATCH.items()}
        expected, norm = losses_and_norm(model, {"nll": 1.0, "guided_alignment": weight}, batch)
        update = step(batch, 0)
        for name, total in expected.items():
            assert float(update.losses[name].sum) == pytest.approx(float(total.sum), rel=1e-6)
        counts = {name: float(total.count) for name, total in update.losses.items()}
        tokens, linked = np.count_nonzero(batch["target"]), batch["guide"].any(axis=2).sum()
        assert counts == {"nll": tokens, "guided_alignment": linked}
        assert int(update.sentences) == size
        assert float(update.gradient_norm) == pytest.approx(norm, rel=1e-5)


@dataclasses.dataclass(frozen=True)
class WithSquares(TrainingConfig):
    """Settings with the weight of a loss that is in `LOSSES` for a test."""

    squares_weight: float = 0.5


def test_a_new_loss_is_a_function_and_a_weight(monkeypatch):
    def squares(model, batch, outputs, training):
        return LossTotal(tf.reduce_sum(outputs.context**2), tf.constant(7.0))

    monkeypatch.setitem(LOSSES, "squares", squares)
    model = built()
    _, norm = losses_and_norm(model, {"nll": 1.0, "squares": 0.5})
    unguided = {"source": SOURCE, "target": TARGET}
    update = TrainStep(model, WithSquares(), total_updates=1)(unguided, 0)
    assert list(update.losses) == ["nll", "squares"]  # the weight of guided alignment is 0
    assert float(update.losses["squares"].count) == 7
    assert float(update.gradient_norm) == pytest.approx(norm, rel=1e-5)


def test_a_weight_that_the_loss_does_not_depend_on_is_named(monkeypatch):
    model = built()
    monkeypatch.setattr(
        model, "compute_losses", lambda *_, **__: {"nll": LossTotal(tf.norm(model.readout.b), 1.0)}
    )
    with pytest.raises(ValueError, match=r"source_embedding/E, .*: the loss does not depend on"):
        TrainStep(model, TrainingConfig(), 1)({"source": SOURCE, "target": TARGET}, 0)


# --- a training run -------------------------------------------------------------------------------


def settings(**training) -> Config:
    preset = PRESETS["rnnsearch-tiny"]
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


@pytest.fixture(scope="module")
def run(corpus):
    """Return a function that trains on the corpus, by default with its alignments."""
    text = ParallelFiles([corpus / "train.en"], [corpus / "train.fr"])

    def run(
        path: Path,
        config: Config,
        *callbacks: keras.callbacks.Callback,
        links: Path | None = corpus / "train.links",
    ) -> None:
        alignments = WordAlignmentFiles([links], [corpus / "train.en"]) if links else None
        train_model(config, path, text, callbacks=callbacks, alignments=alignments)

    return run


def log(path: Path) -> list[dict]:
    return [json.loads(line) for line in (path / "training.jsonl").read_text().splitlines()]


class Logs(keras.callbacks.Callback):
    """Keeps the logs of each update."""

    def __init__(self):
        super().__init__()
        self.batches: list[dict] = []

    def on_train_batch_end(self, batch, logs=None):
        self.batches.append(logs)


@pytest.fixture(scope="module", autouse=True)
def traced() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        traced_once.use(patch)
        yield


OPTIONS: dict = {"batching": "sorted", "dtype_policy": "mixed_bfloat16", "max_updates": 24}
OPTIONS |= {"evaluation_interval": 6, "checkpoint_interval": 7}
GUIDED = settings(guided_alignment_weight=5.0, **OPTIONS)


@pytest.fixture(scope="module")
def guided(tmp_path_factory, run) -> Path:
    """A training run with much weight on the alignments; `broken` is its copy in update 10."""
    path, logs = tmp_path_factory.mktemp("guided") / "model", Logs()
    at_ten = keras.callbacks.LambdaCallback(
        on_train_batch_end=lambda batch, logs: (
            shutil.copytree(path, path.with_name("broken")) if logs["updates"] == 10 else None
        )
    )
    run(path, GUIDED, logs, at_ten)
    assert is_even(logs.batches[0]["mean_guided_alignment_loss"])
    return path


def is_even(loss: float) -> bool:
    """Whether it is that of even attention over 2 to 20 words, log 2 to log 20 nats."""
    return np.log(2) < loss < np.log(20)


def guided_losses(path: Path) -> list[float]:
    return [record["train_guided_alignment_loss"] for record in log(path)]


def test_attention_follows_the_links_by_the_weight_they_have(tmp_path, run, guided, capsys):
    logs = Logs()
    run(tmp_path, settings(guided_alignment_weight=1e-6, **OPTIONS), logs)
    assert is_even(logs.batches[0]["mean_guided_alignment_loss"])
    assert f"guided_alignment {guided_losses(tmp_path)[-1]:.3f} nats" in capsys.readouterr().err
    gains = np.subtract(guided_losses(tmp_path), guided_losses(guided))  # of the same batches
    assert gains.tolist() == sorted(gains)
    assert gains[-1] > 0.1


def test_a_guided_training_resumes_exactly(run, guided):
    """From a checkpoint of update 7, inside an epoch of 10 updates and an interval of 6."""
    broken = guided.with_name("broken")
    run(broken, GUIDED)
    weights = [ModelDirectory(path).load_model("last").get_weights() for path in (broken, guided)]
    for resumed, expected in zip(*weights, strict=True):
        np.testing.assert_array_equal(resumed, expected)
    assert guided_losses(broken) == guided_losses(guided)
    for path in (broken, guided):
        assert [record["updates"] for record in log(path)] == [6, 12, 18, 24]


def test_the_log_of_a_training_without_alignments_has_no_such_loss(model_dir):
    assert "train_guided_alignment_loss" not in log(model_dir)[0]
    assert ModelDirectory(model_dir).load_config().training_alignments == ""


# --- refusals -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def flags(train_flags, corpus) -> list[str]:
    flags = [flag for flag in train_flags if not flag.startswith("--valid")]
    return [*flags, f"--train_alignments={corpus / 'train.links'}", "--guided_alignment_weight=1"]


def refused(capsys, flags: list[str], status: int = 2) -> str:
    capsys.readouterr()
    assert train.run(flags) == status
    return capsys.readouterr().err.splitlines()[-1]


def test_a_training_with_other_alignments_is_another_training(tmp_path, run, guided, corpus):
    lines = (corpus / "train.links").read_text().splitlines()
    other = tmp_path / "other.links"
    other.write_text("".join(f"{line}\n" for line in [lines[0] + " 0-0 0-1", *lines[1:]]))
    with pytest.raises(InputError, match="training alignments differ"):
        run(guided, GUIDED, links=other)
    with pytest.raises(InputError, match=r"guided_alignment_weight is 5\.0, not 2\.0"):
        run(guided, settings(guided_alignment_weight=2.0, **OPTIONS))
    with pytest.raises(InputError, match="holds a training run with other settings"):
        run(guided, settings(**OPTIONS), links=None)


def test_alignments_and_their_weight_go_together(tmp_path, capsys, corpus, flags):
    flags = [*flags, f"--model_dir={tmp_path / 'model'}"]
    assert "--train_alignments needs a --guided_alignment_weight above 0" in refused(
        capsys, [*flags, "--guided_alignment_weight=0"]
    )
    assert "--guided_alignment_weight -1.0: must be at least 0" in refused(
        capsys, [*flags, "--guided_alignment_weight=-1"]
    )
    encdec = [*flags, "--preset=rnnencdec-tiny"]
    assert "rnnencdec has no attention to guide" in refused(capsys, encdec)
    no_files = [flag for flag in flags if not flag.startswith(("--train_source", "--train_target"))]
    assert "1 alignment files for 2 files of sentence pairs" in refused(
        capsys,
        [
            *no_files,
            f"--train_source={corpus}/train.en,{corpus}/train.en",
            f"--train_target={corpus}/train.fr,{corpus}/train.fr",
        ],
        status=1,
    )
    without = [flag for flag in flags if not flag.startswith("--train_alignments")]
    assert "--guided_alignment_weight 1 needs --train_alignments" in refused(capsys, without)
    said = refused(capsys, [*no_files, "--wmt14=all"])
    assert "--train_alignments needs --train_source or --train_tsv" in said
    assert not (tmp_path / "model").exists()


def test_a_link_of_a_word_that_is_not_there_leaves_nothing_behind(tmp_path, capsys, flags, corpus):
    lines = (corpus / "train.links").read_text().splitlines()
    bad = tmp_path / "bad.links"
    bad.write_text("".join(f"{line}\n" for line in [*lines[:6], lines[6] + " 0-99", *lines[7:]]))
    others = [flag for flag in flags if not flag.startswith("--train_alignments")]
    flags = [*others, f"--train_alignments={bad}", f"--model_dir={tmp_path / 'model'}"]
    said = refused(capsys, flags, status=1)
    assert "bad.links: line 7: there is no link 0-99 between" in said
    assert not (tmp_path / "model").exists()
