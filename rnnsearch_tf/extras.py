"""Optional packages, and the extras that install them."""

import importlib.util
import sys

from rnnsearch_tf.errors import InputError

# The extra that installs each; TensorFlow is in none: only the client does without it.
_EXTRAS = {
    "apache_beam": "[beam]",
    "jax": "[jax]",
    "matplotlib": "[plot]",
    "nltk": "[select]",
    "sacremoses": "[moses]",
    "sentencepiece": "[subwords]",
    "sentencex": "[sentences]",
    "tensorflow_datasets": "[wmt14]",
    "tensorflow_text": "[subwords]",
}


def require_package(name: str) -> None:
    """Raise an InputError that says how to install a missing package; import nothing."""
    if not is_installed(name):
        if name == "tensorflow_text" and sys.platform == "win32":
            raise InputError("subwords need tensorflow-text, which Windows has only in WSL 2")
        raise InputError(f'{name} is not installed: pip install "{package(_EXTRAS.get(name, ""))}"')


def package(extra: str = "") -> str:
    """Return the requirement for pip, with the address: the name is not registered on PyPI."""
    return f"rnnsearch-tf{extra} @ git+https://github.com/rnnsearch-tf/rnnsearch_tf"


def is_installed(name: str) -> bool:
    """Whether a package can be imported."""
    return importlib.util.find_spec(name) is not None
