"""Tokenizers by name: Moses' rules, whitespace for pre-tokenized text, or subwords."""

import dataclasses
import functools
from pathlib import Path

from rnnsearch_tf.config import MOSES, SENTENCEPIECE, SUBWORD_FILES, WHITESPACE, Config
from rnnsearch_tf.text.moses import MosesTokenizer
from rnnsearch_tf.text.nonbreaking_prefixes import read_prefixes
from rnnsearch_tf.text.subwords import SentencePieceTokenizer
from rnnsearch_tf.text.word_tokenizer import Tokenizer, WhitespaceTokenizer


def splits_words(tokenizer: Tokenizer) -> bool:
    """Whether the tokens are parts of words."""
    return tokenizer.word_tokenizer is not tokenizer


@functools.cache
def tokenizer_for(name: str, language: str, prefixes: str = "") -> Tokenizer:
    """Make a tokenizer of words, once: it has no state, so everyone uses the same one.

    ValueError for a language that Moses' rules do not cover, unless its abbreviations are given;
    InputError if they must be read from sacremoses and it is missing.
    """
    if name == WHITESPACE:
        return WhitespaceTokenizer(language)
    return MosesTokenizer(language, prefixes)


def word_tokenizers_for(config: Config) -> tuple[Tokenizer, Tokenizer]:
    """Make the source's and the target's tokenizer of words."""
    source = tokenizer_for(config.tokenizer, config.source_language, config.source_prefixes)
    target = tokenizer_for(config.tokenizer, config.target_language, config.target_prefixes)
    return source, target


def with_prefixes(config: Config) -> Config:
    """Fill in missing abbreviations for Moses' rules; InputError if sacremoses is missing."""
    if config.tokenizer != MOSES:
        return config
    return dataclasses.replace(
        config,
        source_prefixes=config.source_prefixes or read_prefixes(config.source_language),
        target_prefixes=config.target_prefixes or read_prefixes(config.target_language),
    )


def tokenizers_for(config: Config, folder: Path) -> tuple[Tokenizer, Tokenizer]:
    """Make the source's and the target's tokenizer; of subwords, by source.spm and target.spm.

    InputError as in `SentencePieceTokenizer.load`.
    """
    if config.tokenizer != SENTENCEPIECE:
        return word_tokenizers_for(config)
    paths = (folder / name for name in SUBWORD_FILES)
    digests = config.source_subwords, config.target_subwords
    source, target = map(SentencePieceTokenizer.load, config.languages, paths, digests)
    return source, target
