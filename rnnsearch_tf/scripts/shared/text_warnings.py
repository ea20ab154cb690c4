"""Warnings about text in another language than the model's, and about lines that are too long."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from rnnsearch_tf.config import SENTENCEPIECE
from rnnsearch_tf.scripts.shared.command import Command
from rnnsearch_tf.windows import text_windows, windows

if TYPE_CHECKING:
    from rnnsearch_tf.inference.translator import Translator

_WINDOW = 256


def warn_of_unknown_words(
    command: Command, translator: "Translator", source: Sequence[str], target: Sequence[str] = ()
) -> None:
    """Warn of a text whose words a model may not know; as `unknown_word_problems`."""
    from rnnsearch_tf.evaluation.unk_free import unknown_word_problems

    texts = {"the source": source, "the target": target}
    tokenizers = translator.source_tokenizer, translator.target_tokenizer
    for problem in unknown_word_problems(texts, tokenizers, translator.vocabularies):
        command.warn(problem)


def warn_of_cut_lines(
    command: Command,
    translator: "Translator",
    source: Sequence[str],
    target: Sequence[str] = (),
    before: int = 0,  # lines of the text before these
    source_name: str = "source line",
) -> None:
    """Warn of each line that the model truncates."""
    max_length = translator.config.decoding.max_length
    has_pieces = translator.config.tokenizer == SENTENCEPIECE
    for name, lines, lengths in (
        (source_name, source, translator.source_lengths),
        ("target line", target, translator.target_lengths),
    ):
        # Few bytes are few words; pieces may be of a normalized line, which can be longer.
        long = [i for i, line in enumerate(lines) if has_pieces or len(line.encode()) > max_length]
        for some in windows(long, _WINDOW):
            for i, length in zip(some, lengths([lines[i] for i in some]), strict=True):
                if length > max_length:
                    said = f"has {length:,} tokens: only {max_length:,} are read"
                    command.warn(f"{name} {before + i + 1:,} {said}")


def with_warnings(
    command: Command, translator: "Translator", pairs: Iterable[tuple[str, str]], done: int
) -> Iterator[tuple[str, str]]:
    """Pass on pairs, which follow `done` others; warn of unknown words and of truncated lines."""
    for number, window in enumerate(text_windows(pairs, _WINDOW)):
        source, target = zip(*window, strict=True)
        if not number:
            warn_of_unknown_words(command, translator, source, target)
        warn_of_cut_lines(command, translator, source, target, done)
        done += len(window)
        yield from window
