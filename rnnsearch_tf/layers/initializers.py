"""Initial weights, matrix by matrix (paper, appendix B.1).

One initializer may serve several weights: each call draws new numbers.
"""

import contextlib
import contextvars
import functools
import itertools
import random as draw
from collections.abc import Iterator
from typing import Any

from keras import initializers, ops, random

from rnnsearch_tf.config import InitialWeights, check_choice, choices

_zeros = contextvars.ContextVar("whether all initial weights are zero", default=False)


@contextlib.contextmanager
def zeros() -> Iterator[None]:
    """Initialize all weights to zero in the block, for a model whose weights are read from a file.

    At the paper's sizes, drawing random weights takes a second.
    """
    token = _zeros.set(True)
    try:
        yield
    finally:
        _zeros.reset(token)


def recurrent(scheme: InitialWeights) -> initializers.Initializer:
    """U, U_z, U_r: random orthogonal, each matrix by itself, in both schemes."""
    return _initializer(scheme, initializers.Orthogonal, initializers.Orthogonal)


def alignment(scheme: InitialWeights) -> initializers.Initializer:
    """W_a and U_a: N(0, 0.001²) in the paper's scheme, otherwise Glorot uniform."""
    return _initializer(scheme, _normal(0.001), initializers.GlorotUniform)


def energy(scheme: InitialWeights) -> initializers.Initializer:
    """v_a: zero in the paper's scheme, otherwise N(0, 0.1²)."""
    return _initializer(scheme, None, _normal(0.1))


def matrix(scheme: InitialWeights) -> initializers.Initializer:
    """Any other weight matrix: N(0, 0.01²) in the paper's scheme, otherwise Glorot uniform."""
    return _initializer(scheme, _normal(0.01), initializers.GlorotUniform)


def embedding(scheme: InitialWeights) -> initializers.Initializer:
    """E: N(0, 0.01²) in the paper's scheme, otherwise N(0, 0.1²)."""
    return _initializer(scheme, _normal(0.01), _normal(0.1))


def _normal(deviation: float) -> Any:
    return functools.partial(initializers.RandomNormal, stddev=deviation)


def _initializer(scheme: InitialWeights, paper: Any, glorot: Any) -> initializers.Initializer:
    """Return an initializer of one of the schemes' distributions; None is zero."""
    check_choice("initial weights", scheme, choices(InitialWeights))
    distribution = paper if scheme == "paper" else glorot
    if distribution is None or _zeros.get():
        return initializers.Zeros()
    # With a plain seed, or none, an initializer draws the same numbers at every call.
    return distribution(seed=_Seeds())


class _Seeds(random.SeedGenerator):
    """A new seed for each call, without the variable in which Keras's generator counts calls.

    Keras may build a layer inside a `tf.function`, where weights cannot depend on new variables.
    """

    def __init__(self) -> None:
        self._first = draw.randint(1, 10**9)  # as Keras draws it: `set_random_seed` fixes it
        self._calls = itertools.count()

    def next(self, ordered: bool = True) -> Any:
        """Return the next seed, uint32 [2]."""
        return ops.convert_to_tensor([self._first, next(self._calls)], "uint32")
