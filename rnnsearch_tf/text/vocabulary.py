"""Shortlists of words and their ids."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from rnnsearch_tf.errors import InputError
from rnnsearch_tf.files import write_atomically

PAD, EOS, UNK = 0, 1, 2
SPECIAL_TOKENS = ("<pad>", "</s>", "[UNK]")  # by id


class Vocabulary:
    """The words a model knows; a word's id is its place.

    Args:
        tokens: all words, the three special tokens first.

    Raises:
        InputError: the special tokens are not in front, or a word is empty or stands twice.
    """

    def __init__(self, tokens: Sequence[str]):
        self.tokens = list(tokens)
        if tuple(self.tokens[: len(SPECIAL_TOKENS)]) != SPECIAL_TOKENS:
            raise InputError(f"a vocabulary must begin with {' '.join(SPECIAL_TOKENS)}")
        self._ids = {token: i for i, token in enumerate(self.tokens)}
        if len(self._ids) < len(self.tokens) or "" in self._ids:
            raise InputError("a vocabulary must not hold a word twice, nor an empty one")

    def __len__(self) -> int:
        """K, the number of words with the special tokens."""
        return len(self.tokens)

    @classmethod
    def build(cls, counts: Counter[str], size: int) -> "Vocabulary":
        """The `size` − 3 most frequent words; among equals, the first in code point order."""
        words = sorted(
            (w for w in counts if w not in SPECIAL_TOKENS), key=lambda w: (-counts[w], w)
        )
        return cls([*SPECIAL_TOKENS, *words[: max(size - len(SPECIAL_TOKENS), 0)]])

    @classmethod
    def load(cls, path: str | Path) -> "Vocabulary":
        """Read a vocabulary file: UTF-8, one word a line.

        Raises:
            InputError: no such file, or not a vocabulary; the text names the file.
        """
        try:
            text = Path(path).read_bytes().decode("utf-8")
        except OSError as error:
            raise InputError(f"{path}: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise InputError(f"{path}: not UTF-8") from error
        try:
            return cls(text.removesuffix("\n").split("\n"))
        except InputError as error:
            raise InputError(f"{path}: {error}") from error

    def save(self, path: str | Path) -> None:
        """Write the vocabulary file that `load` reads."""
        write_atomically(path, self._text())

    @property
    def digest(self) -> str:
        """SHA-256 of the vocabulary file, in hexadecimal."""
        return hashlib.sha256(self._text()).hexdigest()

    def encode(self, tokens: Iterable[str]) -> list[int]:
        """Words to ids, unknown ones to [UNK], with `</s>` at the end and nowhere else."""
        return [*(max(self._ids.get(token, UNK), UNK) for token in tokens), EOS]

    def decode(self, ids: Iterable[int]) -> list[str]:
        """Ids to words, up to `</s>` or padding."""
        words = []
        for i in ids:
            if i in (EOS, PAD):
                break
            words.append(self.tokens[i])
        return words

    def _text(self) -> bytes:
        return ("\n".join(self.tokens) + "\n").encode()
