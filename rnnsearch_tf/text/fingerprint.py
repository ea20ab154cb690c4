"""Digests of the rules that make tokens, for the keys of caches."""

import hashlib
import inspect
import json
from pathlib import Path
from types import ModuleType

import tensorflow as tf


def rules_fingerprint(*modules: ModuleType, name: str, language: str) -> str:
    """Digest (SHA-256) modules that decide about tokens, name, language, TensorFlow's version."""
    code = [inspect.getsource(module) for module in modules]
    tables = (Path(str(module.__file__)).with_suffix(".txt") for module in modules)
    code += [path.read_text("utf-8") for path in tables if path.exists()]
    content = json.dumps([code, name, language, tf.version.VERSION])
    return hashlib.sha256(content.encode()).hexdigest()
