"""lexicon.tsv: for each source word, the target words that translate it, best first."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from rnnsearch_tf.errors import InputError, input_errors
from rnnsearch_tf.text.vocabulary import UNK, Vocabulary

Lexicon = Mapping[str, tuple[str, ...]]  # the first translation is "" where none replaces [UNK]


def required(lexicon: str | Path | None) -> str | Path:
    """Return the path of a lexicon that candidate words need; InputError if there is none."""
    if lexicon is None:
        raise InputError(
            "candidate_words needs lexicon.tsv in the (first) model directory: rnnsearch-lexicon "
            "learns it from training pairs"
        )
    return lexicon


def read_lexicon(path: str | Path) -> dict[str, tuple[str, ...]]:
    """Read a lexicon, which may have been edited by hand: lines of words with tabs between them.

    InputError if the file is not a lexicon; the message has the line.
    """
    lexicon: dict[str, tuple[str, ...]] = {}
    with input_errors(path), open(path, encoding="utf-8", newline="\n") as file:
        for number, line in enumerate(file, 1):
            if line.endswith("\r\n"):
                raise InputError(f"{path}: line {number:,} has a Windows line end: save it without")
            if number == 1 and line.startswith("\ufeff"):
                raise InputError(f"{path}: line 1 has a byte order mark: save it without")
            word, *translations = line.removesuffix("\n").split("\t")
            if not (word and translations and all(translations[1:]) and translations[-1]) or (
                "\r" in line
            ):
                raise InputError(f"{path}: line {number:,} is not word, tab, word")
            if word in lexicon:
                raise InputError(f"{path}: line {number:,}: {word} occurs twice")
            lexicon[word] = tuple(translations)
    return lexicon


def translation_ids(lexicon: Lexicon, source: Vocabulary, target: Vocabulary) -> np.ndarray:
    """Look the translations up: int32 [K_x, n], rows padded with 0; unknown words are left out."""
    rows = [target.encode(lexicon.get(word, ()))[:-1] for word in source.tokens]
    ids = np.zeros([len(rows), max(1, *map(len, rows))], np.int32)
    for row, words in zip(ids, rows, strict=True):
        known = [word for word in words if word != UNK]
        row[: len(known)] = known
    return ids
