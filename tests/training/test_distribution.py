"""One training loop for every strategy: the same seed and batches give the same weights.

Several GPUs are stood in for by logical CPUs, several machines by processes on this one.
"""

import os
import signal
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import fit_on_devices
import numpy as np
import pytest
import tensorflow as tf
import train_on_devices
from forked import ForkedProcess
from training_process import start_workers
from training_result import assert_same_weights, updates, weights

import rnnsearch_tf
from rnnsearch_tf.config import ModelConfig
from rnnsearch_tf.errors import InputError, TemporaryError
from rnnsearch_tf.models.losses import SentenceLoss
from rnnsearch_tf.models.model_directory import ModelDirectory
from rnnsearch_tf.models.translation_model import TranslationModel
from rnnsearch_tf.provenance import hardware
from rnnsearch_tf.scripts import train
from rnnsearch_tf.training.cluster import Cluster
from rnnsearch_tf.training.distribution import (
    Workers,
    build_strategy,
    gpu_advice,
    used_hardware,
)

pytestmark = pytest.mark.distributed

UPDATES = 20
FLAGS = (
    f"--max_updates={UPDATES}",
    "--epochs=9",
    "--clip_norm=0.5",
    "--optimizer=adadelta",
    "--learning_rate=1",
    "--learning_rate_schedule=constant",
)


def start(
    *trainings: list[str], devices: int, resumed: Path | None = None, fit_folder: Path | None = None
) -> ForkedProcess:
    """Start a process for training runs with these flags (see `train_on_devices.run`)."""
    return ForkedProcess(train_on_devices.run, devices, trainings, resumed, fit_folder)


def finish(*processes: ForkedProcess) -> list[str]:
    """Wait for processes to succeed, and return what they wrote."""
    written = [process.finish() for process in processes]
    for process, text in zip(processes, written, strict=True):
        assert process.returncode == 0, text
    return written


@pytest.fixture(scope="module")
def all_flags(corpus, train_flags) -> list[str]:
    """With guided attention, whose loss is added to that of a plain training."""
    links = f"--train_alignments={corpus / 'train.links'}"
    return [*train_flags, *FLAGS, links, "--guided_alignment_weight=3"]


@pytest.fixture(scope="module")
def flags(all_flags) -> list[str]:
    """Those of a training run without validation."""
    return [flag for flag in all_flags if not flag.startswith("--valid")]


@pytest.fixture(scope="module")
def one_device(tmp_path_factory, flags) -> Path:
    path = tmp_path_factory.mktemp("one") / "model"
    assert train.run([*flags, f"--model_dir={path}"]) == 0
    (_, record) = ModelDirectory(path).read_log()
    assert record["updates"] == UPDATES
    assert record["clipped"] == 1  # or the order of sum and clipping would make no difference
    return path


DROPOUT = ["--strategy=mirrored", "--dropout=0.3"]


@pytest.fixture(scope="module")
def two_devices(tmp_path_factory, flags) -> Path:
    """A folder of training runs in one process: with dropout, whole and resumed; by `fit`."""
    folder = tmp_path_factory.mktemp("two")
    whole = [*flags, *DROPOUT, "--checkpoint_interval=4", "--max_updates=8"]
    (written,) = finish(
        start(
            [*whole, f"--model_dir={folder / 'whole'}"],
            devices=2,
            resumed=folder / "resumed",
            fit_folder=folder / "fit",
        )
    )
    assert "uses the CPU as 2 devices" in written
    assert "resuming from" in written and "ckpt-1: epoch 1, batch 5" in written
    return folder


def test_three_devices_give_the_weights_and_both_losses_of_one(tmp_path, flags, one_device):
    three = tmp_path / "three"
    (said,) = finish(start([*flags, "--strategy=mirrored", f"--model_dir={three}"], devices=3))
    assert "uses the CPU as 3 devices" in said
    assert_same_weights(three, one_device)
    losses = [
        [record["train_guided_alignment_loss"] for record in ModelDirectory(path).read_log()]
        for path in (one_device, three)
    ]
    np.testing.assert_allclose(*losses, rtol=1e-5)


def test_dropout_under_mirrored_resumes_exactly(two_devices):
    resumed, whole = weights(two_devices / "resumed"), weights(two_devices / "whole")
    for weight, expected in zip(resumed, whole, strict=True):
        np.testing.assert_array_equal(weight, expected)


def test_two_workers_stop_together_resume_and_give_the_weights_of_one(
    tmp_path, all_flags, flags, one_device
):
    """The chief evaluates, and the other waits for it."""
    path, straight = tmp_path / "model", tmp_path / "straight"
    long = [*all_flags, "--epochs=100000", f"--model_dir={path}"]
    chief, other = processes = start_workers([*long, "--max_updates=100000"])
    assert any(line.startswith("update ") for line in chief.stderr)
    other.send_signal(signal.SIGTERM)
    written = [process.finish() for process in processes]
    assert [p.returncode for p in processes] == [128 + signal.SIGTERM] * 2, written
    assert "stopped and saved" in written[0]
    more = max(updates(path) + 5, UPDATES)
    chief_said, other_said = finish(*start_workers([*long, f"--max_updates={more}"]))
    assert updates(path) == more
    assert "training on 2 workers, the chief on CPU, " in chief_said
    assert "BLEU" in chief_said
    assert "BLEU" not in other_said
    if more > UPDATES:
        once = [*flags, "--epochs=100000", f"--max_updates={more}", f"--model_dir={straight}"]
        assert train.run(once) == 0
    assert_same_weights(path, straight if more > UPDATES else one_device)


def test_a_worker_with_other_settings_fails_and_so_do_all(tmp_path, flags):
    path = tmp_path / "model"
    flags = [*flags, f"--model_dir={path}"]
    processes = start_workers(flags, ["--learning_rate=1", "--learning_rate=0.5"])
    written = [process.finish() for process in processes]
    assert [p.returncode for p in processes] == [1, 1], written
    assert "another worker failed" in written[0].splitlines()[-1]
    assert "not those of the chief" in written[1].splitlines()[-1]


def catches(process: ForkedProcess, number: int) -> bool:
    """Whether a process has a handler for a signal."""
    status = Path(f"/proc/{process.pid}/status").read_text("utf-8")
    caught = int(status.partition("SigCgt:")[2].split()[0], 16)
    return bool(caught >> (number - 1) & 1)


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_a_worker_that_waits_for_the_others(tmp_path, flags, number):
    waiting, never = start_workers([*flags, f"--model_dir={tmp_path / 'model'}"])
    never.kill()
    assert any("waiting for all 2" in line for line in waiting.stderr)
    deadline = time.monotonic() + 60
    while catches(waiting, number):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    waiting.send_signal(number)
    assert waiting.wait(60) == -number


def test_the_learning_rate_is_the_chiefs(tmp_path):
    path = tmp_path / "weights.npy"
    finish(ForkedProcess(train_on_devices.run_own_rates, 2, path))
    expected = 1 - np.sqrt(1e-6) / np.sqrt(0.05 * 0.5**2 * 4 + 1e-6)  # of the gradient 2, clipped
    assert np.load(path).ravel() == pytest.approx([expected, expected], abs=1e-5)


def test_the_devices_of_a_training(monkeypatch):
    one, mirrored = build_strategy("one"), build_strategy("mirrored")
    assert used_hardware(one) == used_hardware(mirrored) == hardware()
    assert gpu_advice(mirrored).startswith(": --strategy=mirrored has found no GPU")
    details = {"device_name": "NVIDIA H200"}
    monkeypatch.setattr(tf.config.experimental, "get_device_details", lambda device: details)
    monkeypatch.setattr(tf.config, "get_visible_devices", lambda kind: [kind] * 2)
    assert gpu_advice(mirrored) == ""
    assert used_hardware(one) == "1 × NVIDIA H200"
    resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(
        tf.train.ClusterSpec({"worker": ["a:1", "b:1", "c:1"]})
    )
    several: Any = SimpleNamespace(num_replicas_in_sync=6, cluster_resolver=resolver)
    assert used_hardware(several) == "3 workers, the chief on 2 × NVIDIA H200"


@pytest.mark.parametrize(("role", "is_chief"), [("chief", True), ("worker", False)])
def test_a_strategy_of_ones_own_may_have_a_chief_beside_the_workers(role, is_chief):
    hosts = tf.train.ClusterSpec({"chief": ["a:1"], "worker": ["b:1", "c:1"]})
    resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(hosts, "", role, 0)
    several: Any = SimpleNamespace(num_replicas_in_sync=3, cluster_resolver=resolver)
    assert Workers(several).is_chief == is_chief
    assert used_hardware(several).startswith("3 workers, the chief on CPU")


@pytest.mark.parametrize(
    ("hidden", "told"),
    [
        (None, ": TensorFlow cannot use this machine's NVIDIA H200; pip install "
               '"rnnsearch-tf[cuda] @ git+https://github.com/rnnsearch-tf/rnnsearch_tf" '
              "brings the CUDA libraries that it needs"),
        ("", ""),
        ("-1", ""),
    ],
)  # fmt: skip
def test_a_gpu_that_tensorflow_cannot_use_is_told(tmp_path, monkeypatch, hidden, told):
    driver = tmp_path / "nvidia-smi"
    driver.write_text("#!/bin/sh\necho NVIDIA H200\necho NVIDIA H200\n")
    driver.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if hidden is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", hidden)
    assert gpu_advice(build_strategy("one")) == told


def test_an_unknown_strategy_is_named():
    with pytest.raises(InputError, match="--strategy tpu: choose one of one, mirrored"):
        build_strategy("tpu")


def test_several_machines_use_their_gpus(monkeypatch):
    def build(resolver: Any) -> str:
        return f"{resolver.num_accelerators()['GPU']} GPUs of each"

    monkeypatch.setenv("no_grpc_proxy", "")
    monkeypatch.setattr(tf.config, "get_visible_devices", lambda kind: [kind] * 2)
    monkeypatch.setattr(tf.distribute, "MultiWorkerMirroredStrategy", build)
    assert build_strategy("multi_worker", Cluster(["a:1", "b:1"], 0)) == "2 GPUs of each"
    assert os.environ.get("no_grpc_proxy") == "a,b"  # noqa: SIM112


def test_other_numbers_of_gpus_are_told_and_other_internal_errors_are_bugs():
    workers = Workers(build_strategy("one"))
    with pytest.raises(InputError, match="numbers of GPUs differ"), workers.needed():
        raise tf.errors.InternalError(None, None, "Device 1 is joining a group with size 2")
    with pytest.raises(tf.errors.InternalError), workers.needed():
        raise tf.errors.InternalError(None, None, "other")


def test_a_worker_that_is_gone_is_told_in_a_line():
    text = "It is gone.\nIts task has crashed."
    workers = Workers(build_strategy("one"))
    with (
        pytest.raises(TemporaryError, match=r"^another worker is gone: It is gone\.$") as caught,
        workers.needed(),
    ):
        raise tf.errors.UnavailableError(None, None, text)
    assert caught.value.status == 75  # with which schedulers begin again


def test_workers_compare_their_versions(tmp_path, flags, monkeypatch, capsys):
    monkeypatch.setattr(Workers, "broadcast", lambda self, values: [0.0])
    assert train.run([*flags, f"--model_dir={tmp_path / 'model'}"]) == 1
    versions = f"rnnsearch_tf {rnnsearch_tf.__version__} and TensorFlow {tf.__version__}"
    said = capsys.readouterr().err.splitlines()[-1]
    assert said.endswith(f"this worker has {versions}, unlike the chief")


@pytest.mark.parametrize("kind", [TemporaryError, InputError])
def test_all_workers_end_with_the_status_of_the_one_that_fails(monkeypatch, kind):
    workers = Workers(build_strategy("one"))
    with pytest.raises(kind, match="own") as own:
        workers.check(kind("own"))
    monkeypatch.setattr(workers, "_sum", lambda values, **_: [1.0, float(kind is InputError)])
    with pytest.raises(kind, match="another worker failed") as of_the_others:
        workers.check(None)
    assert of_the_others.value.status == own.value.status == kind.status


def test_one_worker_broadcasts_to_itself():
    workers = Workers(build_strategy("one"))
    assert workers.is_chief
    assert workers.broadcast(np.array([1.5, np.nan]))[0] == 1.5
    workers.check_same("the same text", "another one")
    tf.config.run_functions_eagerly(True)  # as one does to debug
    try:
        workers.check_same("the same text", "another one")
    finally:
        tf.config.run_functions_eagerly(False)


# --- Keras's own loop -----------------------------------------------------------------------------


def test_fit_under_mirrored_strategy_is_fit_on_one_device(two_devices):
    one, loss = fit_on_devices.fit("one")
    two, loss_of_two = fit_on_devices.load(two_devices / "fit")
    for a, b in zip(one.get_weights(), two.get_weights(), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-6)
    assert loss == pytest.approx(loss_of_two, rel=1e-5)
    assert loss < 5 * np.log(20)


def test_fit_says_at_once_that_it_is_not_for_several_machines(monkeypatch):
    model = TranslationModel(ModelConfig("rnnencdec", 20, 20, 3, 5, 7, 2))
    monkeypatch.setattr(
        TranslationModel, "distribute_strategy", type("Several", (), {"cluster_resolver": 1})()
    )
    with pytest.raises(ValueError, match="--strategy=multi_worker"):
        model.fit(np.zeros((1, 2)))


def test_the_loss_of_fit_is_the_loss_of_the_trainer():
    model = TranslationModel(ModelConfig("rnnsearch", 20, 20, 3, 5, 7, 2))
    source = np.array([[4, 5, 1, 0], [7, 8, 9, 1]], np.int32)
    target = np.array([[6, 1, 0], [5, 4, 1]], np.int32)
    logits = model({"source": source, "target": target})
    expected = float(tf.reduce_sum(model.token_losses(source, target))) / 2
    assert float(SentenceLoss()(target, logits)) == pytest.approx(expected, rel=1e-5)


def test_workers_that_do_not_come_together_say_so(monkeypatch):
    def late(resolver):
        raise tf.errors.DeadlineExceededError(None, None, "Barrier timed out\nof many words")

    monkeypatch.setenv("no_grpc_proxy", "")
    monkeypatch.setattr(tf.distribute, "MultiWorkerMirroredStrategy", late)
    with pytest.raises(InputError, match=r"2 workers could not connect: Barrier timed out$"):
        build_strategy("multi_worker", Cluster(["a:1", "b:1"], 0))
