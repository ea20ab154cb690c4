"""Initial weights, matrix by matrix (paper, appendix B.1).

One initializer may serve several weights: each call draws new numbers.
"""

import contextlib
import contextvars
from collections.abc import Iterator
from typing import Any

from keras import initializers, random

from rnnsearch_tf.config import InitialWeights, check_choice, choices

_zeros = contextvars.ContextVar("whether all initial weights are zero", default=False)


@contextlib.contextmanager
def zeros() -> Iterator[None]:
    """Make all initial weights zero inside, for a model whose weights a file has.

    At the paper's sizes, it takes a second to draw them.
    """
    token = _zeros.set(True)
    try:
        yield
    finally:
        _zeros.reset(token)


def recurrent(scheme: InitialWeights) -> initializers.Initializer:
    """U, U_z, U_r: random orthogonal, each matrix by itself, in both schemes."""
    _check(scheme)
    return _draw(initializers.Orthogonal)


def alignment(scheme: InitialWeights) -> initializers.Initializer:
    """W_a and U_a: N(0, 0.001²) in the paper's scheme, otherwise Glorot uniform."""
    return _normal_or_glorot(scheme, 0.001)


def energy(scheme: InitialWeights) -> initializers.Initializer:
    """v_a: zero in the paper's scheme, otherwise N(0, 0.1²)."""
    _check(scheme)
    return initializers.Zeros() if scheme == "paper" else _normal(0.1)


def matrix(scheme: InitialWeights) -> initializers.Initializer:
    """Any other weight matrix: N(0, 0.01²) in the paper's scheme, otherwise Glorot uniform."""
    return _normal_or_glorot(scheme, 0.01)


def embedding(scheme: InitialWeights) -> initializers.Initializer:
    """E: N(0, 0.01²) in the paper's scheme, otherwise N(0, 0.1²)."""
    _check(scheme)
    return _normal(0.01 if scheme == "paper" else 0.1)


def _normal(deviation: float) -> initializers.Initializer:
    return _draw(initializers.RandomNormal, stddev=deviation)


def _normal_or_glorot(scheme: InitialWeights, deviation: float) -> initializers.Initializer:
    _check(scheme)
    return _normal(deviation) if scheme == "paper" else _draw(initializers.GlorotUniform)


def _draw(distribution: type[initializers.Initializer], **settings: Any) -> Any:
    if _zeros.get():
        return initializers.Zeros()
    # With a plain seed, or none, an initializer draws the same numbers at every call.
    return distribution(seed=random.SeedGenerator(), **settings)


def _check(scheme: InitialWeights) -> None:
    check_choice("initial weights", scheme, choices(InitialWeights))
