"""Initial weights, matrix by matrix (paper, appendix B.1).

One initializer may serve several weights: each call draws new numbers.
"""

from keras import initializers, random

from rnnsearch_tf.config import InitialWeights, check_choice, choices


def recurrent(scheme: InitialWeights) -> initializers.Initializer:
    """U, U_z, U_r: random orthogonal, each matrix by itself, in both schemes."""
    _check(scheme)
    return initializers.Orthogonal(seed=random.SeedGenerator())


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
    # With a plain seed, or none, an initializer draws the same numbers at every call.
    return initializers.RandomNormal(stddev=deviation, seed=random.SeedGenerator())


def _normal_or_glorot(scheme: InitialWeights, deviation: float) -> initializers.Initializer:
    _check(scheme)
    if scheme == "paper":
        return _normal(deviation)
    return initializers.GlorotUniform(seed=random.SeedGenerator())


def _check(scheme: InitialWeights) -> None:
    check_choice("initial weights", scheme, choices(InitialWeights))
