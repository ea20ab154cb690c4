"""Training with Keras on JAX: its updates, devices, checkpoints and errors beside TensorFlow's.

Run as a script, this file imports JAX once and forks a process for each of its tasks.
"""

import gc
import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import quick_jax
from dropout_masks import check
from tiny_training import training_flags, write_corpus

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not importlib.util.find_spec("jax"), reason="jax is not installed"),
]

UPDATES, ROWS = 20, 5  # five rows: two devices have padding
RATES = {"adadelta": 1.0, "adam": 0.01}
OF_BFLOAT16 = "bfloat16"
COMMON = ["--bucket_width=15", "--max_length=14", "--dropout=0.3", "--weight_average=0.8"]
CONSTANT = "--learning_rate_schedule=constant"  # so that a shorter training begins the same


def build() -> Any:
    from rnnsearch_tf.config import ModelConfig
    from rnnsearch_tf.models.translation_model import TranslationModel

    return TranslationModel(ModelConfig("rnnsearch", 11, 13, 3, 5, 7, 2, r_drop=1.0))


def batches() -> list[dict[str, np.ndarray]]:
    """Make batches of ROWS pairs and of one fewer, with links, of lengths up to 8."""
    rng = np.random.default_rng(1)
    made = []
    for number in range(UPDATES):
        rows, width = ROWS - number % 2, 4 + number % 5
        lengths = rng.integers(1, width, [2, rows])
        lengths[:, 0] = width - 1
        places = np.arange(width)
        sides = []
        for side, size in zip(lengths, (11, 13), strict=True):
            ids = rng.integers(2, size, [rows, width])
            ids = np.where(places < side[:, None], ids, 0)
            ids[np.arange(rows), side] = 1
            sides.append(ids.astype("int32"))
        guide = np.zeros([rows, width, width], "float32")
        guide[:, 0, 0] = 1
        made.append({"source": sides[0], "target": sides[1], "guide": guide})
    return made


def settings(optimizer: Any) -> Any:
    from rnnsearch_tf.config import TrainingConfig

    return TrainingConfig(
        optimizer=optimizer,
        learning_rate=RATES[optimizer],
        learning_rate_schedule="linear",
        batch_size=ROWS,
        max_length=9,
        bucket_width=8,
        clip_norm=0.5,
        guided_alignment_weight=2.0,
        weight_average=0.8,
    )


def trained(step: Any, model: Any, weights: list) -> dict[str, np.ndarray]:
    """Make the updates from the weights; return weights, norms, losses and rates."""
    model.set_weights(weights)
    measured = []
    for batch in batches():
        update = step(batch, 0)
        totals = [float(x) for total in update.losses.values() for x in total]
        measured.append([*totals, float(update.gradient_norm), float(update.learning_rate)])
    values = {weight.path: np.array(weight) for weight in model.weights}
    with step.averaged_weights():
        values |= {f"average of {weight.path}": np.array(weight) for weight in model.weights}
    return {**values, "measured": np.array(measured)}


def first_weights(model: Any) -> list[np.ndarray]:
    rng = np.random.default_rng(2)
    return [rng.normal(0, 0.5, weight.shape).astype("float32") for weight in model.weights]


def updates_on_jax(path: str, devices: int, names: Sequence[str]) -> None:
    """Write what the updates of these optimizers, or of one in bfloat16, make."""
    import keras

    from rnnsearch_tf.layers.precision import dtype_policy
    from rnnsearch_tf.training.jax_batches import FixedShapes, choose_devices
    from rnnsearch_tf.training.jax_train_step import JaxTrainStep

    class CountedStep(JaxTrainStep):
        compilations = 0

        def _pure_update(self, *arguments: Any) -> Any:
            self.compilations += 1  # JAX calls this only to compile it
            return super()._pure_update(*arguments)

    choose_devices("mirrored" if devices > 1 else "one")
    fixed = FixedShapes(ROWS, 15, 8)
    sides = [dict.fromkeys(("source", "target"), np.ones([ROWS, n])) for n in range(1, 17)]
    results = {"shapes": np.array(sorted({fixed(side)["source"].shape for side in sides}))}
    for name in names:
        keras.utils.set_random_seed(1)
        with dtype_policy("mixed_bfloat16" if name == OF_BFLOAT16 else "float32"):
            model = build()
        step = CountedStep(model, settings(name if name in RATES else "adadelta"), UPDATES)
        assert len(model.trainable_variables[0].value.devices()) == devices
        made = trained(step, model, first_weights(model))
        results |= {f"{name}: {key}": value for key, value in made.items()}
        results[f"{name}: compilations"] = np.array(step.compilations)
    np.savez(path, **results)


def environment() -> dict[str, str]:
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(sys.path),
        **quick_jax.environment(),
        "JAX_COMPILATION_CACHE_DIR": os.path.join(os.environ["XDG_CACHE_HOME"], "jax"),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }


def train_and_copy(whole: str, parts: str, *flags: str) -> int:
    """Train, and copy the folder when it has the checkpoint of update 2."""
    from training_result import copied_at

    from rnnsearch_tf.scripts import train

    with copied_at(2, Path(whole), Path(parts)):
        return train.run([*flags, f"--model_dir={whole}"])


def work_in_forks(tasks: list[list[Any]]) -> None:
    """Run each task, a number of devices and the arguments of one command, in a process."""
    import rnnsearch_tf.training.jax_train_step
    import rnnsearch_tf.training.jax_validation  # noqa: F401
    from rnnsearch_tf.scripts import train

    def masks(path: str) -> None:
        from dropout_masks import masks_of_updates

        np.savez(path, *masks_of_updates())

    commands: dict[str, Callable] = {
        "train": lambda *flags: train.run(list(flags)), "train_and_copy": train_and_copy,
        "updates": updates_on_jax, "masks": masks,
    }  # fmt: skip
    gc.freeze()  # or a search for garbage would copy this process's memory
    gc.set_threshold(50_000, 10, 10)
    for devices, command, *arguments in tasks:
        process = os.fork()
        if process == 0:
            os.environ |= quick_jax.environment(devices)
            sys.exit(commands[command](*arguments))
        if status := os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]):
            sys.exit(f"{command} {arguments} ended with status {status}")


class Work(NamedTuple):
    """What the forks of one process made on JAX."""

    updates: dict[str, np.ndarray]  # by Adadelta on one device, and by Adam on two
    masks: list[np.ndarray]  # of dropout
    flags: list[str]  # of the training runs, but for their folders
    whole: Path  # of six updates
    parts: Path  # its copy after two, resumed
    said: str


@pytest.fixture(scope="module")
def work(tmp_path_factory) -> Work:
    folder = tmp_path_factory.mktemp("jax")
    one, two, masks = (str(folder / f"{name}.npz") for name in ("one", "two", "masks"))
    (folder / "corpus").mkdir()
    write_corpus(folder / "corpus")
    flags = [
        *training_flags(folder / "corpus"),
        *COMMON,
        f"--cache_dir={folder / 'cache'}",
        CONSTANT,
        "--epochs=9",
        "--checkpoint_interval=2",
        "--max_updates=6",
    ]
    whole, parts = (str(folder / name) for name in ("whole", "parts"))
    tasks = [
        [1, "updates", one, 1, ["adadelta", OF_BFLOAT16]],
        [2, "updates", two, 2, ["adam"]],
        [1, "masks", masks],
        [1, "train_and_copy", whole, parts, *flags],
        [1, "train", *flags, f"--model_dir={parts}"],
    ]
    command = [sys.executable, __file__, json.dumps(tasks)]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return Work(
        updates={**np.load(two), **np.load(one)},
        masks=[*np.load(masks).values()],
        flags=flags,
        whole=Path(whole),
        parts=Path(parts),
        said=done.stderr,
    )


@pytest.fixture
def flags(work) -> list[str]:
    return work.flags


@pytest.mark.parametrize("optimizer", RATES)
def test_updates_are_tensorflows(work, optimizer):
    from rnnsearch_tf.training.train_step import TrainStep

    model = build()
    step = TrainStep(model, settings(optimizer), UPDATES)
    expected = trained(step, model, first_weights(model))
    assert expected["measured"][:, -2].max() > 0.5  # the norm of the gradient is clipped
    for name, value in expected.items():
        ours = work.updates[f"{optimizer}: {name}"]
        np.testing.assert_allclose(ours, value, rtol=1e-5, atol=1e-5, err_msg=name)
    changes = [
        np.abs(expected[weight.path] - first).max()
        for weight, first in zip(model.weights, first_weights(model), strict=True)
    ]
    assert max(changes) > 1e-2


def test_each_shape_is_compiled_once(work):
    """However many widths and numbers of rows the batches have."""
    assert work.updates["shapes"].tolist() == [[ROWS, 8], [ROWS, 16]]
    for name in (*RATES, OF_BFLOAT16):
        assert work.updates[f"{name}: compilations"] == 1


def test_dropout_masks(work):
    check(work.masks, shares=1)


def test_bfloat16_learns(work):
    losses = work.updates[f"{OF_BFLOAT16}: measured"]
    per_token = losses[:, 0] / losses[:, 1]
    assert per_token[-5:].mean() < per_token[:5].mean()
    assert np.abs(losses - work.updates["adadelta: measured"]).max() > 1e-4  # it is not float32


# --- the command ----------------------------------------------------------------------------------


def test_a_resumed_training_is_exact_and_tensorflow_translates_with_it(work, flags, capsys):
    from rnnsearch_tf.models.model_directory import ModelDirectory

    whole, parts = work.whole, work.parts
    assert work.said.count(", by JAX") == 2
    assert work.said.count("resuming from") == 1
    weights = [ModelDirectory(path).load_model("last").get_weights() for path in (whole, parts)]
    for ours, expected in zip(*weights, strict=True):
        np.testing.assert_array_equal(ours, expected)
    record = json.loads((whole / "training.jsonl").read_text().splitlines()[-1])
    valid = [Path(flag.partition("=")[2]) for flag in flags if flag.startswith("--valid")]
    check_validation(whole, record, *valid)
    check_refused_on_tensorflow(whole, flags, capsys)


def check_validation(model_dir: Path, record: dict, source: Path, target: Path) -> None:
    """Check the figures of the training against TensorFlow's of the same weights."""
    from rnnsearch_tf.data.parallel_corpus import ParallelFiles
    from rnnsearch_tf.models.model_directory import ModelDirectory
    from rnnsearch_tf.provenance import hardware, software
    from rnnsearch_tf.training.validation import ValidationSet

    directory = ModelDirectory(model_dir)
    text = ParallelFiles([source], [target]).read()
    config, model = directory.load_config(), directory.load_model("last")
    expected = ValidationSet(model, config, directory, text)()
    assert record["nll_per_token"] == pytest.approx(expected.nll_per_token, rel=1e-5)
    assert record["nll_per_sentence"] == pytest.approx(expected.nll_per_sentence, rel=1e-5)
    assert record["bleu"] == pytest.approx(expected.bleu)
    assert record["hardware"] == hardware()
    # Somebody may commit meanwhile.
    made_by, now = (text.partition("), ")[2] for text in (record["software"], software()))
    assert made_by == now != ""


def check_refused_on_tensorflow(model_dir: Path, flags: list[str], capsys: Any) -> None:
    from rnnsearch_tf.scripts import train as script

    capsys.readouterr()
    assert script.run([*flags, f"--model_dir={model_dir}"]) == 1
    said = capsys.readouterr().err
    assert said.splitlines()[-1].endswith("is of a training run with KERAS_BACKEND=jax")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--jit_compile"], "--jit_compile is for TensorFlow"),
        (
            ["--strategy=multi_worker", "--workers=a:1,b:1", "--worker_index=0"],
            "--strategy multi_worker needs TensorFlow",
        ),
    ],
)
def test_what_jax_cannot_do_is_one_line(tmp_path, flags, given, said, monkeypatch, capsys):
    from rnnsearch_tf.scripts import train as script

    monkeypatch.setenv("KERAS_BACKEND", "jax")
    assert script.run([*flags, f"--model_dir={tmp_path / 'model'}", *given]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"rnnsearch-train: {said}")
    assert not list(tmp_path.iterdir())


def test_without_jax_the_line_says_what_to_install(tmp_path, flags, monkeypatch, capsys):
    from rnnsearch_tf import extras
    from rnnsearch_tf.scripts import train as script

    monkeypatch.setenv("KERAS_BACKEND", "jax")
    monkeypatch.setattr(extras, "is_installed", lambda name: name != "jax")
    assert script.run([*flags, f"--model_dir={tmp_path / 'model'}"]) == 1
    said = 'rnnsearch-train: jax is not installed: pip install "rnnsearch-tf[jax] @ git+'
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(said)
    assert not list(tmp_path.iterdir())


if __name__ == "__main__":
    work_in_forks(json.loads(sys.argv[1]))
