"""Flags of subwords and of words, which exclude each other."""

from rnnsearch_tf.config import SENTENCEPIECE, Config
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.scripts.shared.command import Command

_OF_SUBWORDS = ("subword_models", "subwords", "joint_subwords")
_OF_WORDS = ("source_vocabulary_size", "target_vocabulary_size")


def check_subword_flags(command: Command, config: Config) -> None:
    """Raise UsageError if a flag has no use with the tokenizer of the settings."""
    in_subwords = config.tokenizer == SENTENCEPIECE
    for name in _OF_WORDS if in_subwords else _OF_SUBWORDS:
        if name in command.flags and command.flags[name].value:
            raise UsageError(
                f"--{name} is of words; with --tokenizer=sentencepiece: --subwords"
                if in_subwords
                else f"--{name} goes with --tokenizer=sentencepiece"
            )
