"""Vocabularies: the tokens that a model knows and their ids."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from rnnsearch_tf.errors import InputError, input_errors
from rnnsearch_tf.files import write_atomically

PAD, EOS, UNK = 0, 1, 2
SPECIAL_TOKENS = ("<pad>", "</s>", "[UNK]")  # by id


class Vocabulary:
    """The tokens that a model knows; the id of a token is its index.

    InputError if the special tokens do not come first, or a token is empty, repeated or multi-line.
    """

    def __init__(self, tokens: Sequence[str]):
        self.tokens = list(tokens)
        if not all(isinstance(token, str) and "\n" not in token for token in self.tokens):
            raise InputError("a vocabulary must contain strings without line breaks")
        if tuple(self.tokens[: len(SPECIAL_TOKENS)]) != SPECIAL_TOKENS:
            raise InputError(f"a vocabulary must begin with {' '.join(SPECIAL_TOKENS)}")
        self._ids = {token: i for i, token in enumerate(self.tokens)}
        if len(self._ids) < len(self.tokens) or "" in self._ids:
            raise InputError("a vocabulary must not contain empty or repeated tokens")

    def __len__(self) -> int:
        """K, the number of tokens, special ones included."""
        return len(self.tokens)

    def __contains__(self, token: str) -> bool:
        """Whether a token is in the vocabulary."""
        return token in self._ids

    @classmethod
    def build(
        cls, counts: Counter[str], size: int, known: Sequence[str] = SPECIAL_TOKENS
    ) -> "Vocabulary":
        """Choose the most frequent tokens beside the `known` ones, which come first: `size` in all.

        Among equals, the first by code point.
        """
        others = counts.keys() - known
        tokens = sorted(others, key=lambda token: (-counts[token], token))
        return cls([*known, *tokens[: max(size - len(known), 0)]])

    @classmethod
    def load(cls, path: str | Path, digest: str | None = None) -> "Vocabulary":
        """Read a vocabulary file, UTF-8, one token per line; `digest` is its expected SHA-256.

        InputError, which names the file, if it cannot be read, is not a vocabulary, or has another
        digest.
        """
        with input_errors(path):
            text = Path(path).read_bytes().decode("utf-8")
        try:
            vocabulary = cls(text.removesuffix("\n").split("\n"))
        except InputError as error:
            raise InputError(f"{path}: {error}") from error
        if digest not in (None, vocabulary.digest):
            raise InputError(f"{path}: not the vocabulary this model was made with")
        return vocabulary

    def save(self, path: str | Path) -> None:
        """Write the vocabulary file that `load` reads."""
        write_atomically(path, self._text())

    @property
    def digest(self) -> str:
        """SHA-256 of the vocabulary file, in hexadecimal."""
        return hashlib.sha256(self._text()).hexdigest()

    def encode(self, tokens: Iterable[str | bytes]) -> list[int]:
        """Look up tokens, unknown ones as [UNK], and add the id of `</s>`.

        Tokens are given without `</s>`: among them, it is an unknown word of the text. Bytes are
        UTF-8. TypeError for a str or bytes in place of a list, or for a token of another type.
        """
        if isinstance(tokens, str | bytes):
            raise TypeError(f"expected a list of tokens, not a {type(tokens).__name__}")
        return [*map(self._id, tokens), EOS]

    def _id(self, token: str | bytes) -> int:
        if isinstance(token, bytes):
            token = token.decode()
        if not isinstance(token, str):
            raise TypeError(f"expected a token, a str, not {token!r}")
        return max(self._ids.get(token, UNK), UNK)

    def unknown(self, tokens: Sequence[str]) -> tuple[int, ...]:
        """Find the tokens, `</s>` last, that are read as [UNK]: their positions, from 0."""
        return tuple(position for position, i in enumerate(self.encode(tokens[:-1])) if i == UNK)

    def decode(self, ids: Iterable[int]) -> list[str]:
        """Look up ids, up to `</s>` or padding; IndexError for an id that no token has."""
        tokens = []
        for i in ids:
            if i in (EOS, PAD):
                break
            if not 0 <= i < len(self):
                raise IndexError(f"id {i}: the vocabulary has ids from 0 to {len(self) - 1}")
            tokens.append(self.tokens[i])
        return tokens

    def _text(self) -> bytes:
        return ("\n".join(self.tokens) + "\n").encode()
