"""Digests of the rules that make tokens, for the keys of caches."""

import inspect
from pathlib import Path
from types import ModuleType

import tensorflow as tf

from rnnsearch_tf.digests import json_digest


def rules_fingerprint(*modules: ModuleType, name: str, language: str) -> str:
    """Digest (SHA-256) modules that decide about tokens, name, language, TensorFlow's version."""
    code = [inspect.getsource(module) for module in modules]
    tables = (Path(str(module.__file__)).with_suffix(".txt") for module in modules)
    code += [path.read_text("utf-8") for path in tables if path.exists()]
    return json_digest([code, name, language, tf.version.VERSION])
