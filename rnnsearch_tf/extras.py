"""Packages that only some work needs."""

import importlib.util

from rnnsearch_tf.errors import InputError

# What pip is asked for, to get each; a client of a served model does without those of the first.
_SOURCES = {
    **dict.fromkeys(("h5py", "keras", "numpy", "sacrebleu", "tensorflow"), "rnnsearch-tf"),
    "matplotlib": "rnnsearch-tf[plot]",
    "nltk": "rnnsearch-tf[select]",
    "tensorflow_datasets": "rnnsearch-tf[wmt14]",
}


def require_package(name: str) -> None:
    """Check, without importing it, that a package is installed.

    Raises:
        InputError: it is not; the text says how to install it.
    """
    if not is_installed(name):
        raise _not_installed(name)


def is_installed(name: str) -> bool:
    """Whether a package is there to be imported."""
    return importlib.util.find_spec(name) is not None


def explain_missing(error: ModuleNotFoundError) -> None:
    """Raise an `InputError` in place of the error, where installing something helps."""
    name = (error.name or "").partition(".")[0]
    if name in _SOURCES:
        raise _not_installed(name) from error


def _not_installed(name: str) -> InputError:
    return InputError(f'{name} is not installed: pip install "{_SOURCES[name]}"')
