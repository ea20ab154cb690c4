"""Initial weights, matrix by matrix (paper, appendix B.1).

Each initializer may serve several weights: it draws new numbers every time.
"""

from keras import initializers, random

PAPER = "paper"
GLOROT = "glorot"
SCHEMES = (PAPER, GLOROT)


def recurrent(scheme: str) -> initializers.Initializer:
    """U, U_z, U_r: random orthogonal, each matrix by itself, in both schemes."""
    _check(scheme)
    return initializers.Orthogonal(seed=random.SeedGenerator())


def alignment(scheme: str) -> initializers.Initializer:
    """W_a and U_a: N(0, 0.001²) in the paper's scheme, Glorot uniform in the wider one."""
    return _normal_or_glorot(scheme, 0.001)


def energy(scheme: str) -> initializers.Initializer:
    """v_a: zero in the paper's scheme, N(0, 0.1²) in the wider one."""
    _check(scheme)
    return initializers.Zeros() if scheme == PAPER else _normal(0.1)


def matrix(scheme: str) -> initializers.Initializer:
    """Any other weight matrix: N(0, 0.01²), or Glorot uniform."""
    return _normal_or_glorot(scheme, 0.01)


def embedding(scheme: str) -> initializers.Initializer:
    """E: N(0, 0.01²) in the paper's scheme, N(0, 0.1²) in the wider one."""
    _check(scheme)
    return _normal(0.01 if scheme == PAPER else 0.1)


def _normal(deviation: float) -> initializers.Initializer:
    # With a plain seed, or none, an initializer draws the same numbers at every call.
    return initializers.RandomNormal(stddev=deviation, seed=random.SeedGenerator())


def _normal_or_glorot(scheme: str, deviation: float) -> initializers.Initializer:
    _check(scheme)
    if scheme == PAPER:
        return _normal(deviation)
    return initializers.GlorotUniform(seed=random.SeedGenerator())


def _check(scheme: str) -> None:
    if scheme not in SCHEMES:
        raise ValueError(f"initial weights {scheme!r}: choose one of {', '.join(SCHEMES)}")
