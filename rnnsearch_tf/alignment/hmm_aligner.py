"""Word aligner of a model directory: a hidden Markov model in each direction, in `aligner.npz`."""

import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from rnnsearch_tf.alignment.hmm import Direction, expectations
from rnnsearch_tf.alignment.hmm_training import Cells, find_cells, keys_of, padded, train_directions
from rnnsearch_tf.errors import InputError
from rnnsearch_tf.files import replacing
from rnnsearch_tf.tf_functions import graph_function

_UNKNOWN = 1e-6  # p of a word that the training text lacks: its neighbors decide where it belongs
_NEGLIGIBLE = 1e-5  # p(f | e) below it is not kept
_WEIGHTS_AT_ONCE = 1 << 22

Words = Sequence[str]  # of a sentence, without `</s>`


class HmmAligner:
    """Posteriors of links, p(a_i = j | e, f), in both directions.

    Args:
        words: the words of source and of target that the model knows, lower-cased.
        cells: pairs of their ids, which begin at 1.
        directions: parameters of p(target | source) and p(source | target).
    """

    def __init__(
        self, words: tuple[Words, Words], cells: Cells, directions: tuple[Direction, Direction]
    ):
        self._words = words
        self._ids = tuple({word: number for number, word in enumerate(w, 1)} for w in words)
        self._cells = cells
        self._directions = directions

    @classmethod
    def train(cls, pairs: Iterable[tuple[Words, Words]]) -> "HmmAligner":
        """Train on sentence pairs; InputError where none has words on both sides."""
        numbers: tuple[dict[str, int], dict[str, int]] = {}, {}
        sides: tuple[list[np.ndarray], list[np.ndarray]] = [], []
        for pair in pairs:
            for words, side, ids in zip(pair, sides, numbers, strict=True):
                row = [ids.setdefault(word.lower(), len(ids) + 1) for word in words]
                side.append(np.array(row, np.int32))
        if not any(len(x) and len(y) for x, y in zip(*sides, strict=True)):
            raise InputError("no sentence pair has words on both sides")
        source, target = numbers
        return cls((list(source), list(target)), *train_directions(*sides))

    def align(
        self, source: Sequence[Words], target: Sequence[Words]
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """Align sentence pairs.

        Returns:
            Of each pair α [Ty, Tx] and β [Tx, Ty], float32, with a row and a column of `</s>`
            last, where the probability of no link is. Rows sum to 1.
        """
        longest = (max(map(len, side)) for side in (source, target))
        if len(source) > 1 and len(source) * np.prod(list(longest)) > _WEIGHTS_AT_ONCE:
            half = len(source) // 2
            return self.align(source[:half], target[:half]) + self.align(
                source[half:], target[half:]
            )
        x, y = (
            padded([[ids.get(word.lower(), -1) for word in words] for words in side])
            for side, ids in zip((source, target), self._ids, strict=True)
        )
        cells = find_cells(self._cells, keys_of(x, y, self._cells.target_words))
        alpha = _posteriors(x, y, cells, *self._directions[0]).numpy()
        beta = _posteriors(y, x, cells.transpose(0, 2, 1), *self._directions[1]).numpy()
        sizes = [(len(words), len(others)) for words, others in zip(source, target, strict=True)]
        return [
            (_with_end(a[:ty, :tx]), _with_end(b[:tx, :ty]))
            for a, b, (tx, ty) in zip(alpha, beta, sizes, strict=True)
        ]

    def save(self, path: str | Path) -> None:
        """Write the parameters, without those that hardly matter."""
        forward, reverse = self._directions
        likely = np.maximum(forward.lexicon[:-1], reverse.lexicon[:-1]) > _NEGLIGIBLE
        arrays: dict[str, Any] = {"keys": self._cells.keys[likely]}
        for side, words in zip(("source", "target"), self._words, strict=True):
            arrays[f"{side}_words"] = np.frombuffer("\n".join(words).encode(), np.uint8)
        for name, direction in (("forward", forward), ("reverse", reverse)):
            arrays[f"{name}_lexicon"] = np.append(direction.lexicon[:-1][likely], np.float32(0))
            arrays[f"{name}_unlinked"] = direction.unlinked
            arrays[f"{name}_jumps"] = direction.jumps
        with replacing(path, ".npz") as temporary:
            np.savez_compressed(temporary, **arrays)

    @classmethod
    def load(cls, path: str | Path) -> "HmmAligner":
        """Read what `save` has written; InputError for a missing or damaged file."""
        try:
            with np.load(path) as file:
                source, target = (
                    file[f"{side}_words"].tobytes().decode().split("\n")
                    for side in ("source", "target")
                )
                forward, reverse = (
                    Direction(*(tf.constant(file[f"{name}_{part}"]) for part in Direction._fields))
                    for name in ("forward", "reverse")
                )
                cells = Cells(file["keys"], len(target) + 1)
                return cls((source, target), cells, (forward, reverse))
        except OSError as error:
            raise InputError(f"{path}: {error.strerror or error}") from error
        except (ValueError, KeyError, zipfile.BadZipFile) as error:
            raise InputError(f"{path}: not an aligner, or damaged") from error


@graph_function(reduce_retracing=True)
def _posteriors(e: Any, f: Any, cells: Any, lexicon: Any, unlinked: Any, jumps: Any) -> tf.Tensor:
    """p(a_i = j | e, f), float32 [B, I, J]; ids are -1 for unknown words, 0 for padding."""
    lengths = tuple(tf.math.count_nonzero(ids, axis=1, dtype=tf.int32) for ids in (f, e))
    is_unknown = (e[:, tf.newaxis] < 0) | (f[:, :, tf.newaxis] < 0)
    emissions = tf.where(is_unknown, _UNKNOWN, tf.gather(lexicon, cells))
    alone = tf.where(f < 0, _UNKNOWN, tf.gather(unlinked, tf.maximum(f, 0)))
    return expectations(emissions, alone, jumps, lengths).links


def _with_end(links: np.ndarray) -> np.ndarray:
    """Add the row and the column of `</s>`."""
    weights = np.pad(links, [(0, 1), (0, 1)])
    weights[:, -1] = 1 - weights.sum(axis=1)
    return weights.clip(0)
