"""The SentencePiece models of a training run: learned from its text, or taken from files."""

import random
from collections.abc import Iterator
from pathlib import Path

import tensorflow as tf

from rnnsearch_tf.config import SENTENCEPIECE, SUBWORD_FILES, Config
from rnnsearch_tf.data.parallel_corpus import Corpus, checked_blocks, unchanged
from rnnsearch_tf.data.preparation import default_cache_dir
from rnnsearch_tf.digests import code_digest, is_intact, json_digest, write_digests
from rnnsearch_tf.extras import require_package
from rnnsearch_tf.files import Paths, as_list, home_path, make_once
from rnnsearch_tf.progress import say
from rnnsearch_tf.text import canonical_composition, cleaning, composed_form, subwords, typography
from rnnsearch_tf.text.cleaning import clean
from rnnsearch_tf.text.subwords import SentencePieceTokenizer, learn_subwords
from rnnsearch_tf.text.typography import reading_plain_forms

_MAX_LINES = 2_000_000  # that pieces are learned from: SentencePiece keeps them in memory


def find_subwords(
    config: Config,
    training: Corpus,  # that models are learned from
    cache_dir: str | Path | None = None,  # for learned models
    files: Paths = (),  # models to be taken instead, of both sides or one for both
) -> list[SentencePieceTokenizer]:
    """Return the tokenizers of both sides, or none where the tokens are words.

    Models are learned once from a text, and kept beside the prepared texts (see `prepare`).
    InputError for an unusable corpus or model, too few subwords for its characters, or a missing
    package.
    """
    if config.tokenizer != SENTENCEPIECE:
        return []
    require_package("tensorflow_text")  # before models are learned, which takes minutes
    paths = [Path(file) for file in as_list(files)] or _learned(config, training, cache_dir)
    return [
        SentencePieceTokenizer.load(config.source_language, paths[0]),
        SentencePieceTokenizer.load(config.target_language, paths[-1]),
    ]


def _learned(config: Config, training: Corpus, cache_dir: str | Path | None) -> list[Path]:
    require_package("sentencepiece")
    import sentencepiece

    code = code_digest(subwords, canonical_composition, cleaning, composed_form, typography)
    text = training.fingerprint()
    rules = [config.subwords, config.joint_subwords, code, sentencepiece.__version__]
    key = json_digest([text, *rules])
    name = f"subwords-{key[:32]}"
    folder = home_path(cache_dir or default_cache_dir()) / name

    def make(empty: Path) -> None:
        say(f"learning {config.subwords:,} subwords from the training text")
        sides = [(0, 1)] * 2 if config.joint_subwords else [(0,), (1,)]
        with unchanged(training.fingerprint, text):
            pairs = sum(len(block.source) for block in checked_blocks(training))
            models = {
                side: learn_subwords(_lines(training, side, pairs), config.subwords)
                for side in set(sides)
            }
        source, target = (models[side] for side in sides)
        files = reading_plain_forms(source), target  # which writes what its text has
        for name, model in zip(SUBWORD_FILES, files, strict=True):
            (empty / name).write_bytes(model)
        write_digests(empty)

    make_once(folder, is_intact, make)
    return [folder / file for file in SUBWORD_FILES]


def _lines(training: Corpus, sides: tuple[int, ...], pairs: int) -> Iterator[str]:
    """Yield the lines of some sides as a tokenizer reads them.

    If there are more than _MAX_LINES, a fixed random sample of them.
    """
    count = len(sides) * pairs
    drawn = random.Random(count)
    for block in checked_blocks(training):
        for side in sides:
            lines = [line for line in block[side] if drawn.random() * count < _MAX_LINES]
            yield from (line.decode() for line in clean(tf.constant(lines, tf.string)).numpy())
