"""Word aligner of a model directory: a hidden Markov model in each direction, in `aligner.npz`."""

import math
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from rnnsearch_tf.aligner.hmm import WINDOW, Direction, expectations_of_words
from rnnsearch_tf.aligner.hmm_training import Cells, train_directions
from rnnsearch_tf.errors import InputError
from rnnsearch_tf.files import replacing
from rnnsearch_tf.progress import say
from rnnsearch_tf.text.cleaning import lowercase
from rnnsearch_tf.text.vectorizer import ragged
from rnnsearch_tf.tf_functions import graph_function

_NEGLIGIBLE = 1e-5  # p(f | e) below it is not kept
_WEIGHTS_AT_ONCE = 1 << 22
_MAX_RATIO = 100  # unpacked size / file size; it is below 10 for files that `save` writes
MAX_WORDS = 300  # of a sentence; the time of training grows with the third power of the length

Sentence = Sequence[str]  # its words, without `</s>`


class HmmAligner(tf.Module):
    """Posteriors of links, p(a_i = j | e, f), in both directions."""

    def __init__(
        self,
        words: tuple[Sentence, Sentence],  # of source and target, that it knows, lowercased
        cells: Cells,  # pairs of their ids, which begin at 1
        directions: tuple[Direction, Direction],  # of p(target | source) and p(source | target)
    ):
        super().__init__()
        self._words = words
        self._source_ids, self._target_ids = map(_table, words)
        # Variables, for what a graph holds as constants is limited to 2 GiB.
        self._cells = Cells(_variable(cells.keys), cells.target_words)
        self._forward, self._reverse = (Direction(*map(_variable, one)) for one in directions)
        self._posteriors = graph_function(self.posteriors, reduce_retracing=True)

    @classmethod
    def train(cls, pairs: Iterable[tuple[Sentence, Sentence]]) -> "HmmAligner":
        """Train on sentence pairs; those of more than 300 words on one side are left out.

        InputError if no pair has words on both sides.
        """
        numbers: tuple[dict[str, int], dict[str, int]] = {}, {}
        sides: tuple[list[np.ndarray], list[np.ndarray]] = [], []
        long = 0
        for pair in pairs:
            if max(map(len, pair)) > MAX_WORDS:
                long += 1
                continue
            for words, side, ids in zip(pair, sides, numbers, strict=True):
                row = [ids.setdefault(word.lower(), len(ids) + 1) for word in words]
                side.append(np.array(row, np.int32))
        if long:
            say(f"left out: {long:,} pairs of more than {MAX_WORDS} words")
        if not any(len(x) and len(y) for x, y in zip(*sides, strict=True)):
            raise InputError("no sentence pair has words on both sides")
        source, target = numbers
        aligner = cls((list(source), list(target)), *train_directions(*sides))
        if not aligner._likely().any():
            raise InputError("too little text for an aligner: it would link no words")
        return aligner

    def posteriors(
        self, source: tf.RaggedTensor, target: tf.RaggedTensor
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Align words, string [B, None] without `</s>`, as graph operations.

        Returns α [B, Ty + 1, Tx + 1] and β [B, Tx + 1, Ty + 1], float32, zero at padding. The row
        and the column after a sentence's words are for `</s>`, with the probability of no link.
        """
        x, y, cells = self._read(source, target)
        alpha = _links(x, y, cells, self._forward)
        return alpha, _links(y, x, tf.transpose(cells, (0, 2, 1)), self._reverse)

    def alpha(self, source: tf.RaggedTensor, target: tf.RaggedTensor) -> tf.Tensor:
        """Return α alone; as `posteriors`."""
        return _links(*self._read(source, target), self._forward)

    def _read(
        self, source: tf.RaggedTensor, target: tf.RaggedTensor
    ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """Look words up: ids of both sides, as in `expectations_of_words`, and their cells."""
        x, y = (
            words.with_flat_values(ids.lookup(lowercase(words.flat_values))).to_tensor(0)
            for words, ids in ((source, self._source_ids), (target, self._target_ids))
        )
        return x, y, self._cells.rows(x, y)

    def align(
        self, source: Sequence[Sentence], target: Sequence[Sentence]
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """Align sentence pairs: α [Ty + 1, Tx + 1] and β of each, as in `posteriors`."""
        longest = (max(map(len, side), default=0) for side in (source, target))
        if len(source) > 1 and len(source) * math.prod(longest) > _WEIGHTS_AT_ONCE:
            half = len(source) // 2
            halves = (slice(half), slice(half, None))
            return [pair for some in halves for pair in self.align(source[some], target[some])]
        alphas, betas = self._posteriors(ragged(source), ragged(target))
        sizes = [[len(words) + 1 for words in side] for side in (source, target)]
        # Copies: a view would keep the whole block.
        return [
            (alpha[:ty, :tx].copy(), beta[:tx, :ty].copy())
            for alpha, beta, tx, ty in zip(alphas.numpy(), betas.numpy(), *sizes, strict=True)
        ]

    def _likely(self) -> np.ndarray:
        """Whether a cell matters, in either direction, bool [C]."""
        lexicons = (np.asarray(one.lexicon)[:-1] for one in (self._forward, self._reverse))
        return np.maximum(*lexicons) > _NEGLIGIBLE

    def save(self, path: str | Path) -> None:
        """Write the parameters, without those that hardly matter."""
        directions = [Direction(*map(np.asarray, one)) for one in (self._forward, self._reverse)]
        likely = self._likely()
        arrays: dict[str, Any] = {"keys": self._cells.keys.numpy()[likely]}
        for side, words in zip(("source", "target"), self._words, strict=True):
            arrays[f"{side}_words"] = np.frombuffer("\n".join(words).encode(), np.uint8)
        for name, direction in zip(("forward", "reverse"), directions, strict=True):
            arrays[f"{name}_lexicon"] = np.append(direction.lexicon[:-1][likely], np.float32(0))
            arrays[f"{name}_unlinked"] = direction.unlinked
            arrays[f"{name}_jumps"] = direction.jumps
        with replacing(path, ".npz") as temporary:
            np.savez_compressed(temporary, **arrays)

    @classmethod
    def load(cls, path: str | Path) -> "HmmAligner":
        """Read what `save` has written; InputError for a file that cannot be read or is damaged."""
        try:
            with zipfile.ZipFile(path) as archive:
                size = sum(part.file_size for part in archive.infolist())
            if size > _MAX_RATIO * Path(path).stat().st_size:
                raise ValueError
            with np.load(path) as file:
                parts = _checked(dict(file))
        except (FileNotFoundError, PermissionError) as error:
            raise InputError(f"{path}: {error.strerror}") from error
        except MemoryError as error:
            raise InputError(f"{path}: damaged, or too large for the memory") from error
        except Exception as error:  # NumPy and zipfile do not document all their errors
            raise InputError(f"{path}: not an aligner, or damaged") from error
        return cls(*parts)


def _checked(
    arrays: dict[str, np.ndarray],
) -> tuple[tuple[Sentence, Sentence], Cells, tuple[Direction, Direction]]:
    """Return the arguments of an `HmmAligner`; ValueError if arrays are not those of one."""
    source, target = (
        arrays[f"{side}_words"].tobytes().decode().split("\n") for side in ("source", "target")
    )
    keys = arrays["keys"]
    if keys.dtype != np.int64 or not keys.size or (np.diff(keys) <= 0).any():
        raise ValueError
    forward, reverse = (
        Direction(*(arrays[f"{name}_{part}"] for part in Direction._fields))
        for name in ("forward", "reverse")
    )
    for direction, words in ((forward, target), (reverse, source)):
        sizes = keys.size + 1, len(words) + 1, 2 * WINDOW + 1
        for values, size in zip(direction, sizes, strict=True):
            fits = values.shape == (size,) and values.dtype == np.float32
            if not (fits and np.isfinite(values).all()):
                raise ValueError
    return (source, target), Cells(keys, len(target) + 1), (forward, reverse)


def _table(words: Sentence) -> tf.lookup.StaticHashTable:
    ids = tf.range(1, len(words) + 1, dtype=tf.int64)
    return tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer(tf.constant(words, tf.string), ids), default_value=-1
    )


def _variable(values: Any) -> tf.Variable:
    return tf.Variable(values, trainable=False)


def _links(e: tf.Tensor, f: tf.Tensor, cells: tf.Tensor, direction: Direction) -> tf.Tensor:
    """p(a_i = j | e, f), float32 [B, I + 1, J + 1], `</s>` after the words of each sentence."""
    links = expectations_of_words(e, f, cells, direction).links
    rows, end = (tf.math.count_nonzero(ids, axis=1) for ids in (f, e))
    weights = tf.pad(links, [[0, 0], [0, 1], [0, 1]])
    is_row = tf.sequence_mask(rows + 1, tf.shape(weights)[1], tf.float32)
    unlinked = tf.maximum(is_row - tf.reduce_sum(weights, axis=2), 0)[:, :, tf.newaxis]
    return weights + unlinked * tf.one_hot(end, tf.shape(weights)[2])[:, tf.newaxis]
