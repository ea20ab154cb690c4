"""From a corpus to a `PreparedText`: one pass over the text on all cores, kept in a cache."""

import contextlib
import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import tensorflow as tf

from rnnsearch_tf.data import prepared_corpus
from rnnsearch_tf.data.parallel_corpus import Corpus, ParallelText, checked_blocks, unchanged
from rnnsearch_tf.data.prepared_corpus import PROBLEMS, SIDES, Block, PreparedText, SideWriter
from rnnsearch_tf.digests import code_digest, is_intact, json_digest, write_digests
from rnnsearch_tf.errors import InputError, until_error
from rnnsearch_tf.files import home_path, make_once
from rnnsearch_tf.progress import Bar, say
from rnnsearch_tf.text import composed_form
from rnnsearch_tf.text.composed_form import problem_of_form
from rnnsearch_tf.text.tokenizers import Tokenizer, splits_words
from rnnsearch_tf.tf_functions import untuned
from rnnsearch_tf.threads import cores


def default_cache_dir() -> Path:
    """Return the user's cache folder, by the XDG rules; InputError for a user without a home.

    These rules ignore an `XDG_CACHE_HOME` that is not an absolute path.
    """
    given = home_path(os.environ.get("XDG_CACHE_HOME", ""))
    base = given if given.is_absolute() else Path("~/.cache")
    try:
        return base.expanduser() / "rnnsearch_tf"
    except RuntimeError as error:
        raise InputError("no home directory to keep prepared text in: give --cache_dir") from error


def prepare(
    corpus: Corpus,
    source_tokenizer: Tokenizer,
    target_tokenizer: Tokenizer,
    cache_dir: str | Path | None = None,
) -> PreparedText:
    """Split a corpus into tokens and number them, or take a prepared text from the cache.

    A text in the cache is read whole to check its digests, at up to 1 GB/s; a token takes 4 bytes.
    A damaged one is reported and prepared again. Texts are kept in `cache_dir`, by default
    `default_cache_dir()`, each under a digest of its corpus and of the tokenizers' fingerprints.
    InputError for an unusable corpus, or a cache folder that cannot be written.
    """
    text = corpus.fingerprint()
    tokenizers = source_tokenizer.fingerprint(), target_tokenizer.fingerprint()
    key = json_digest([code_digest(prepared_corpus, composed_form), *tokenizers, text])[:32]
    folder = home_path(cache_dir or default_cache_dir()) / key

    def make(empty: Path) -> None:
        with unchanged(corpus.fingerprint, text):
            _write(empty, corpus, source_tokenizer, target_tokenizer)

    try:
        make_once(folder, is_intact, make)
    except InputError as error:
        if cache_dir or os.access(folder.parent, os.W_OK):
            raise
        raise InputError(f"{error}: give --cache_dir") from error
    return PreparedText(folder)


def _write(folder: Path, corpus: Corpus, source: Tokenizer, target: Tokenizer) -> None:
    started, pairs = time.monotonic(), 0
    problems: list[str] = []
    with contextlib.ExitStack() as files, contextlib.closing(Bar("prepared pair")) as bar:
        sides = [SideWriter(folder, name, files) for name in SIDES]
        bar.update(0)
        for blocks in _tokenized(corpus, source, target, problems):
            for side, block in zip(sides, blocks, strict=True):
                side.add(block)
            pairs += len(blocks[0].lengths)
            bar.update(pairs)
    for side in sides:
        side.finish()
    (folder / PROBLEMS).write_text("".join(f"{problem}\n" for problem in problems), "utf-8")
    write_digests(folder)
    per_second = pairs / max(time.monotonic() - started, 1e-9)
    say(f"prepared the training text: {pairs:,} pairs, {per_second:,.0f} pairs/s")


def _tokenized(
    corpus: Corpus, source: Tokenizer, target: Tokenizer, problems: list[str]
) -> Iterator[tuple[Block, Block]]:
    """Tokenize the corpus block by block; `tf.data` works on several at once.

    Adds to `problems` the first line of each side whose words are not those that a reader sees.
    """
    errors: list[Exception] = []
    lines = tf.TensorSpec([None], tf.string)
    dataset = tf.data.Dataset.from_generator(
        lambda: until_error(_watched(corpus, (source, target), problems), errors),
        output_signature=ParallelText(lines, lines),
    )
    dataset = dataset.map(
        lambda pairs: (_analyze(pairs.source, source), _analyze(pairs.target, target)),
        num_parallel_calls=cores(),
        deterministic=True,
    )
    yield from untuned(dataset).as_numpy_iterator()
    if errors and isinstance(errors[0], OSError):
        raise InputError(f"the training text cannot be read: {errors[0]}") from errors[0]
    if errors:
        raise errors[0]


def _watched(
    corpus: Corpus, tokenizers: Sequence[Tokenizer], problems: list[str]
) -> Iterator[ParallelText]:
    watched = [i for i, tokenizer in enumerate(tokenizers) if not splits_words(tokenizer)]
    done = 0
    for block in checked_blocks(corpus):
        for i in list(watched):
            if problem := problem_of_form(block[i], done):
                watched.remove(i)
                problems.append(f"the {SIDES[i]}: {problem}")
        done += len(block.source)
        yield block


def _analyze(lines: tf.Tensor, tokenizer: Tokenizer) -> Block:
    tokens = tokenizer.tokenize(lines)
    types, numbers, counts = tf.unique_with_counts(tokens.flat_values)
    return Block(types, numbers, counts, tokens.row_lengths())
