"""Digests of the models that an output is made with."""

from collections.abc import Sequence
from pathlib import Path

from rnnsearch_tf.digests import file_digest, folder_digests
from rnnsearch_tf.inference.exported import find_version
from rnnsearch_tf.models.model_directory import MODEL_FILES


def model_digests(paths: Sequence[str], weights: str) -> list[dict[str, str]]:
    """Return the SHA-256 of each file that the answers of some models depend on."""
    return [_digests(path, weights) for path in paths]


def _digests(path: str, weights: str) -> dict[str, str]:
    if version := find_version(path):
        return folder_digests(version)
    files = {name: Path(path) / name for name in (*MODEL_FILES, f"{weights}.weights.h5")}
    return {name: file_digest(file) for name, file in files.items() if file.is_file()}
