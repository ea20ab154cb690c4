"""Digests of the rules that make tokens, for the keys of caches."""

import hashlib
import inspect
import json
from types import ModuleType

import tensorflow as tf


def rules_fingerprint(*modules: ModuleType, name: str, language: str) -> str:
    """Digest the code of a tokeniser, its name and language, and TensorFlow's version.

    Args:
        modules: all whose code decides about the tokens.
        name: of the tokeniser.
        language: of the text.

    Returns:
        SHA-256, in hexadecimal.
    """
    code = [inspect.getsource(module) for module in modules]
    content = json.dumps([code, name, language, tf.version.VERSION])
    return hashlib.sha256(content.encode()).hexdigest()
