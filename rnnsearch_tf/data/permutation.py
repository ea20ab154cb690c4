"""Random orders that are computed position by position, and take no memory."""

import numpy as np

# Four rounds leave neighbors correlated in small sets; with six, no test finds a correlation.
_ROUNDS = 6


class Permutation:
    """A random order of the numbers 0 to `size` − 1.

    A Feistel network permutes the numbers of an even number of bits; a result of `size` or more
    goes through it again until it is smaller (Black & Rogaway 2002). TensorFlow's
    `random.experimental.index_shuffle` does the same with too few rounds: successive numbers of its
    order correlate by 0.4, so batches are not random samples. The order depends on `size` and
    `seeds` alone.
    """

    def __init__(self, size: int, *seeds: int):
        self._size = size
        half = ((size - 1).bit_length() + 1) // 2
        self._half = np.uint64(half)
        self._mask = np.uint64((1 << half) - 1)
        self._keys = np.random.SeedSequence(seeds).generate_state(_ROUNDS, np.uint64)

    def __call__(self, positions: np.ndarray) -> np.ndarray:
        """Return the numbers, int64 [N], at positions of the order, int [N], 0 to `size` − 1."""
        numbers = self._permute(positions.astype(np.uint64))
        while len(outside := np.flatnonzero(numbers >= self._size)):
            numbers[outside] = self._permute(numbers[outside])
        return numbers.astype(np.int64)

    def _permute(self, numbers: np.ndarray) -> np.ndarray:
        left, right = numbers >> self._half, numbers & self._mask
        for key in self._keys:
            left, right = right, left ^ (_mix(right + key) & self._mask)
        return (left << self._half) | right


def _mix(numbers: np.ndarray) -> np.ndarray:
    """Map uint64 to uint64, one to one, each output bit depending on all of the input's.

    The finalizer of splitmix64.
    """
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))
