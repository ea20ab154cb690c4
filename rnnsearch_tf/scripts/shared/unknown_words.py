"""A warning of text in another language than the model's."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

from rnnsearch_tf.inference.exported import vocabularies_of
from rnnsearch_tf.scripts.shared.command import Command
from rnnsearch_tf.scripts.shared.decoding_flags import model_dirs
from rnnsearch_tf.windows import windows

if TYPE_CHECKING:
    from rnnsearch_tf.inference.translator import Translator

_FIRST = 256  # sentences that are looked at

Item = TypeVar("Item")


def warn_of_unknown_words(
    command: Command, translator: "Translator", source: Sequence[str], target: Sequence[str] = ()
) -> None:
    """Warn once of each side whose words the model mostly does not know.

    Args:
        command: warns.
        translator: the model of --model_dir.
        source: the first sentences of a text.
        target: of their translations, where they are given.
    """
    from rnnsearch_tf.evaluation.unk_free import many_unknown

    tokenizers = translator.source_tokenizer, translator.target_tokenizer
    vocabularies = vocabularies_of(model_dirs(command)[0])
    sides = zip(("source", "target"), (source, target), tokenizers, vocabularies, strict=True)
    for name, lines, tokenizer, vocabulary in sides:
        if problem := many_unknown(name, lines[:_FIRST], tokenizer, vocabulary):
            command.warn(problem)


def with_warning(
    command: Command, translator: "Translator", pairs: Iterable[tuple[str, str]]
) -> Iterator[tuple[str, str]]:
    """Pass pairs on, after `warn_of_unknown_words` of the first."""
    for number, window in enumerate(windows(pairs, _FIRST)):
        if not number:
            source, target = zip(*window, strict=True)
            warn_of_unknown_words(command, translator, source, target)
        yield from window
