"""Weights files: Keras's HDF5, with a digest of the arrays and the training they come from."""

import contextlib
import dataclasses
import hashlib
import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from rnnsearch_tf.config import Config, ModelConfig, current_names
from rnnsearch_tf.errors import InputError, first_line
from rnnsearch_tf.files import check_space
from rnnsearch_tf.models.translation_model import TranslationModel

_DIGEST, _TRAINING, _UPDATES = "sha256", "training", "updates"  # attributes of the file
_DTYPES = tuple(map(np.dtype, ("float32", "float16")))


def write_weights(
    path: Path, model: TranslationModel, config: Config, updates: int | None = None
) -> None:
    """Write a file that `check_weights` accepts, and Keras's `load_weights` reads.

    The path ends in ".weights.h5"; the config is that of the model's directory; `updates` is the
    number of updates that made the weights. OSError if the file cannot be written.
    """
    optimizer = getattr(model, "optimizer", None)
    model.optimizer = None  # which Keras would write, too
    try:
        model.save_weights(path)
    finally:
        model.optimizer = optimizer
    with h5py.File(path, "r+") as file:
        if updates is not None:
            file.attrs[_UPDATES] = updates
        # Bytes of a fixed length stand in the attribute itself, not elsewhere in the file.
        file.attrs[_DIGEST] = np.bytes_(_digest(_arrays(file)))
        file.attrs[_TRAINING] = np.bytes_(json.dumps(_training(config)))


def copy_weights(source: Path, target: Path, dtype: str) -> None:
    """Write the arrays of a checked file in another dtype, with a digest of their own.

    The target ends in ".weights.h5"; the dtype is "float32" or "float16". InputError if a value
    is too large for it, OSError if the file cannot be written.
    """
    # HDF5 crashes on a full disk.
    check_space(target, 100_000 + 5 * np.dtype(dtype).itemsize * count_values(source) // 4)
    with h5py.File(source, "r") as file, h5py.File(target, "w") as copy:
        for path, item in _items(file):
            if isinstance(item, h5py.Group):
                copy.create_group(path)
                continue
            with np.errstate(over="ignore"):
                array = item[()].astype(dtype)
            if not np.isfinite(array).all():
                raise InputError(f"{source}: {path} has a value too large for {dtype}")
            copy[path] = array
        copy.attrs.update(file.attrs)
        copy.attrs[_DIGEST] = np.bytes_(_digest(_arrays(copy)))


def read_updates(path: Path) -> int | None:
    """Return how many updates made the weights of a checked file; None if it does not say."""
    with h5py.File(path, "r") as file:
        return int(file.attrs[_UPDATES]) if _UPDATES in file.attrs else None


def count_values(path: Path) -> int:
    """Count the values in a checked file: the parameters of its model."""
    with h5py.File(path, "r") as file:
        return sum(array.size for array in _arrays(file).values())


def check_weights(path: Path, config: Config) -> str:
    """Check a file before a model is built for it; `config` is that of its directory.

    Files of version 0.1.0 have neither digest nor training; shapes and values are checked. Returns
    the SHA-256 of names, shapes and values. InputError for a damaged file, anything but plain
    arrays, arrays of another model or training run, or values that are not finite or differ from
    those that were written.
    """
    with _input_errors(path), h5py.File(path, "r") as file:
        arrays = _arrays(file)
        if sum(array.nbytes for array in arrays.values()) > path.stat().st_size:
            raise ValueError("it has more values than bytes")  # never written, but they take memory
        _check_sizes({array.shape for array in arrays.values()}, config.model)
        _check_training(file.attrs, config)
        digest = _digest(arrays, only_finite=True)
        if file.attrs.get(_DIGEST, digest.encode()) != digest.encode():
            raise ValueError("its values are not those that were written")
        return digest


def read_weights(path: Path, model: TranslationModel) -> None:
    """Read a file that `check_weights` has checked; InputError for arrays of another model."""
    with _input_errors(path):
        model.load_weights(path)


@contextlib.contextmanager
def _input_errors(path: Path) -> Iterator[None]:
    """Turn what h5py, Keras and the checks here raise into an InputError of one line."""
    try:
        yield
    except (AttributeError, LookupError, OSError, RuntimeError, TypeError, ValueError) as error:
        raise InputError(
            f"{path}: damaged, or of another model: {first_line(error)}; restore it from a copy, "
            "or use the other weights (--weights)"
        ) from error


def _arrays(file: h5py.File) -> dict[str, h5py.Dataset]:
    """Return the data sets by their paths.

    ValueError for anything that a weights file does not need. HDF5 can store an array in another
    file, in chunks, compressed, or under several names; Keras has read some of these.
    """
    arrays, seen = {}, set()
    for path, item in _items(file):
        if item in seen:
            raise ValueError(f"{path} is there under another name, too")
        seen.add(item)
        if isinstance(item, h5py.Dataset):
            properties = item.id.get_create_plist()
            is_plain = properties.get_layout() == h5py.h5d.CONTIGUOUS
            if not is_plain or properties.get_external_count() or item.dtype not in _DTYPES:
                raise ValueError(f"{path} is not a plain array of float32 or float16")
            arrays[path] = item
    return arrays


def _items(group: h5py.Group, path: str = "") -> Iterator[tuple[str, Any]]:
    """Iterate over all groups and data sets and their paths, a group before its members."""
    for name in sorted(group):
        if not isinstance(group.get(name, getlink=True), h5py.HardLink):
            raise ValueError(f"{path}{name} is a link")
        item = group[name]
        yield path + name, item
        if isinstance(item, h5py.Group):
            yield from _items(item, f"{path}{name}/")


def _check_sizes(shapes: set[tuple[int, ...]], config: ModelConfig) -> None:
    """Check that arrays have the config's sizes, before a model takes their memory."""
    sides = set(itertools.chain.from_iterable(shapes))
    for name, size in config.used_sizes.items():
        if size not in sides:
            raise ValueError(f"no array has an axis of length {size}, {name} in config.json")


def _training(config: Config) -> dict[str, Any]:
    """Return the settings and the training run that a model shares with its weights."""
    return {
        **dataclasses.asdict(config.model),
        "source_language": config.source_language,
        "target_language": config.target_language,
        "tokenizer": config.tokenizer,
        "source_vocabulary": config.source_vocabulary,
        "target_vocabulary": config.target_vocabulary,
        "training_id": config.training_id,
    }


def _check_training(attributes: h5py.AttributeManager, config: Config) -> None:
    if _TRAINING not in attributes or _DIGEST not in attributes:
        if config.training_id:  # only version 0.1.0 wrote neither
            raise ValueError("it does not say which training run it is from")
        return
    wanted = _training(config)
    for name, value in current_names(json.loads(attributes[_TRAINING])).items():
        if wanted.get(name) != value:
            raise ValueError(f"of another training run: {name} is {value}, not {wanted.get(name)}")


def _digest(arrays: dict[str, h5py.Dataset], only_finite: bool = False) -> str:
    digest = hashlib.sha256()
    for path, data_set in sorted(arrays.items()):
        array = data_set[()]
        if only_finite and not np.isfinite(array).all():
            raise ValueError(f"{path} has a value that is not finite")
        digest.update(f"{path} {array.dtype.str} {array.shape}\n".encode())
        digest.update(array)
    return digest.hexdigest()
