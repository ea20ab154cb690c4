"""Weights are those that were written, of this training, and plain arrays; or one line says not."""

import dataclasses
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest

from rnnsearch_tf.config import Config, ModelConfig
from rnnsearch_tf.errors import InputError
from rnnsearch_tf.models.model_directory import LAST, ModelDirectory
from rnnsearch_tf.models.translation_model import TranslationModel
from rnnsearch_tf.text.vocabulary import SPECIAL_TOKENS, Vocabulary

# Every size is another prime.
CONFIG = Config(ModelConfig("rnnsearch", 5, 7, 11, 13, 17, 19))
READOUT = "layers/maxout_deep_output/vars"  # Keras's name for it


def made(path: Path, config: Config = CONFIG) -> ModelDirectory:
    """A model directory with weights, which no training run has made."""
    directory = ModelDirectory(path)
    source, target = (
        Vocabulary([*SPECIAL_TOKENS, *"abcd"[:count]])
        for count in (config.model.source_vocabulary_size - 3, 4)
    )
    config = dataclasses.replace(
        config, source_vocabulary=source.digest, target_vocabulary=target.digest
    )
    directory.create(config, source, target)
    directory.save_weights(TranslationModel(config.model), "best")
    return directory


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> ModelDirectory:
    return made(tmp_path_factory.mktemp("models") / "whole")


@pytest.fixture
def copy(whole, tmp_path) -> ModelDirectory:
    return ModelDirectory(shutil.copytree(whole.path, tmp_path / "copy"))


def said(directory: ModelDirectory) -> str:
    """The line that loading the weights ends with, after the path and "damaged, or …"."""
    with pytest.raises(InputError) as caught:
        directory.check_weights()
    start, _, reason = str(caught.value).partition(": damaged, or of another model: ")
    assert start == str(directory.weights_path())
    assert "\n" not in reason
    reason, _, way_out = reason.rpartition("; ")
    assert way_out == "restore it from a copy, or use the other weights (--weights)"
    return reason


def change_config(directory: ModelDirectory, **model: object) -> None:
    """Change sizes by hand, and accept that."""
    path = directory.path / "config.json"
    values = json.loads(path.read_text("utf-8"))
    values["model"] |= model
    del values["sha256"]
    path.write_text(json.dumps(values), "utf-8")


def edited(directory: ModelDirectory, edit: Callable[[h5py.File], object]) -> ModelDirectory:
    with h5py.File(directory.weights_path(), "r+") as file:
        edit(file)
    return directory


def replace(file: h5py.File, name: str, **options: object) -> None:
    """Replace an array by one with the same values and other options."""
    values = file[name][()]
    del file[name]
    file.create_dataset(name, data=values, **options)


def test_weights_survive_and_keras_reads_them(whole):
    model = whole.load_model()
    by_keras = TranslationModel(CONFIG.model)
    by_keras.load_weights(whole.weights_path())
    for ours, theirs in zip(model.get_weights(), by_keras.get_weights(), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    with h5py.File(whole.weights_path()) as file:
        assert file.attrs["sha256"].decode() == whole.check_weights()
        assert file[f"{READOUT}/4"].shape == (19, 7)  # what the tests below damage


def test_a_training_keeps_its_id(whole, copy):
    config = whole.load_config()
    assert len(config.training_id) == 32
    longer = dataclasses.replace(config.training, epochs=9)
    source, target = whole.load_vocabularies()
    copy.create(dataclasses.replace(config, training=longer, training_id=""), source, target)
    assert copy.load_config() == dataclasses.replace(config, training=longer)
    copy.load_model()


def test_weights_of_another_training_with_equal_shapes(copy, tmp_path):
    other = made(tmp_path / "other")
    shutil.copy(other.weights_path(), copy.weights_path())
    assert said(copy).startswith("of another training run: training_id is ")


def test_weights_of_other_settings_with_equal_shapes(copy):
    change_config(copy, step_order="look_update_generate")
    assert said(copy).startswith(
        "of another training run: step_order is look_generate_update, not "
    )


SIZES = [field.name for field in dataclasses.fields(ModelConfig) if field.name.endswith("_size")]


@pytest.mark.parametrize("name", SIZES)
def test_sizes_are_compared_before_a_model_is_built(copy, name):
    change_config(copy, **{name: 999_999})
    assert f"no array has an axis of length 999999, {name} in config.json" in said(copy)


def test_a_size_that_no_model_has_is_told_by_the_config_alone(copy):
    change_config(copy, hidden_size=10**12)
    with pytest.raises(InputError, match=r"config\.json: hidden_size 1000000000000: must be at"):
        copy.load_model()


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite(copy, value):
    model = copy.load_model()
    model.readout.W_o.assign(np.full((19, 7), value))
    copy.save_weights(model, "best")
    assert said(copy) == f"{READOUT}/4 has a value that is not finite"


def test_other_values_than_those_that_were_written(copy):
    def edit(file: h5py.File) -> None:
        file[f"{READOUT}/4"][3, 5] = 1e35

    assert said(edited(copy, edit)) == "its values are not those that were written"


@pytest.mark.parametrize("name", ["sha256", "training"])
def test_weights_without_their_digest_or_training(copy, name):
    assert said(edited(copy, lambda file: file.attrs.pop(name))) == (
        "it does not say which training run it is from"
    )


NO_DIGEST = ("sha256", "training")  # of the file: the other checks must do


def without_digest(directory: ModelDirectory) -> ModelDirectory:
    """Files as of version 0.1.0: no digest, no training run."""
    path = directory.path / "config.json"
    values = json.loads(path.read_text("utf-8"))
    del values["sha256"], values["training_id"]
    path.write_text(json.dumps(values), "utf-8")
    return edited(directory, lambda file: [file.attrs.pop(name) for name in NO_DIGEST])


def test_weights_of_0_1_0_are_read(copy, whole):
    for old, new in zip(
        without_digest(copy).load_model().get_weights(),
        whole.load_model().get_weights(),
        strict=True,
    ):
        np.testing.assert_array_equal(old, new)


def external(file: h5py.File) -> None:
    secret = Path(file.filename).with_name("secret")
    secret.write_bytes(bytes(19 * 7 * 4))
    del file[f"{READOUT}/4"]
    file.create_dataset(f"{READOUT}/4", (19, 7), "f4", external=[(str(secret), 0, 19 * 7 * 4)])


def elsewhere(file: h5py.File) -> str:
    """Move an array to another file."""
    other = Path(file.filename).with_name("other.h5")
    with h5py.File(other, "w") as moved:
        moved["array"] = file[f"{READOUT}/4"][()]
    del file[f"{READOUT}/4"]
    return str(other)


def external_link(file: h5py.File) -> None:
    file[f"{READOUT}/4"] = h5py.ExternalLink(elsewhere(file), "array")


def external_group(file: h5py.File) -> None:
    with h5py.File(Path(file.filename).with_name("other.h5"), "w") as other:
        file.copy("layers/maxout_deep_output", other)
    del file["layers/maxout_deep_output"]
    file["layers/maxout_deep_output"] = h5py.ExternalLink("other.h5", "maxout_deep_output")


def virtual(file: h5py.File) -> None:
    layout = h5py.VirtualLayout((19, 7), "f4")
    layout[:] = h5py.VirtualSource(elsewhere(file), "array", (19, 7))
    file.create_virtual_dataset(f"{READOUT}/4", layout)


def soft_link(file: h5py.File) -> None:
    file.move(f"{READOUT}/4", "array")
    file[f"{READOUT}/4"] = h5py.SoftLink("/array")


def second_name(file: h5py.File) -> None:
    del file["layers/encoder/forward_cell/vars/1"]
    file["layers/encoder/forward_cell/vars/1"] = file["layers/encoder/forward_cell/vars/0"]


def cycle(file: h5py.File) -> None:
    file["layers/encoder/again"] = file["layers"]


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (external, "4 is not a plain array"),
        (virtual, "4 is not a plain array"),
        (external_link, "4 is a link"),
        (external_group, "layers/maxout_deep_output is a link"),
        (soft_link, "4 is a link"),
        (second_name, "forward_cell/vars/1 is there under another name, too"),
        (cycle, "is there under another name, too"),
        (lambda file: replace(file, f"{READOUT}/4", dtype="i1"), "4 is not a plain array"),
        (lambda file: replace(file, f"{READOUT}/4", dtype="f8"), "4 is not a plain array"),
        (lambda file: replace(file, f"{READOUT}/4", compression="gzip"), "4 is not a plain"),
        (lambda file: file.pop(f"{READOUT}/4"), "no array has an axis of length 19"),
        (lambda file: file.create_dataset("more", (10**12,), "f4"), "more values than bytes"),
    ],
)
def test_only_plain_arrays_of_the_model_are_read(copy, edit, reason):
    """Whatever the version of Keras, and without the digest, which would find most of them."""
    assert reason in said(edited(without_digest(copy), edit))


def test_a_file_that_ends_early_or_is_none(copy):
    content = copy.weights_path().read_bytes()
    for damaged in (content[:-1], content[: len(content) // 2], b"", b"no HDF5" * 100):
        copy.weights_path().write_bytes(damaged)
        assert said(copy)
    copy.weights_path().unlink()
    copy.weights_path().mkdir()
    with pytest.raises(InputError, match="not a regular file"):
        copy.check_weights()


def test_no_weights_yet(copy):
    for read in (copy.load_model, copy.check_weights):
        with pytest.raises(InputError, match=r"copy: no last\.weights\.h5: training has not saved"):
            read(LAST)


@pytest.mark.parametrize("name", [f"{READOUT}/5", READOUT, "layers/encoder/forward_cell"])
def test_an_array_that_is_missing_without_a_digest(copy, name):
    edited(without_digest(copy), lambda file: file.move(name, "moved"))
    with pytest.raises(InputError, match="damaged, or of another model: A total of "):
        copy.load_model()


def test_the_encoders_cells_may_have_their_earlier_names(copy):
    expected = copy.load_model().get_weights()

    def earlier(file: h5py.File) -> None:
        for name in ("forward", "backward"):
            file.move(f"layers/encoder/{name}_cell", f"layers/encoder/{name}")

    edited(without_digest(copy), earlier)
    for values, right in zip(copy.load_model().get_weights(), expected, strict=True):
        np.testing.assert_array_equal(values, right)
    edited(copy, lambda file: file.pop("layers/encoder/forward/vars/0"))
    with pytest.raises(
        InputError, match="damaged, or of another model: Layer 'forward' expected 9"
    ):
        copy.load_model()
