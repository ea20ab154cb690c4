"""A warning of text in another language than the model's."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from rnnsearch_tf.scripts.shared.command import Command
from rnnsearch_tf.windows import windows

if TYPE_CHECKING:
    from rnnsearch_tf.inference.translator import Translator

_WINDOW = 256


def warn_of_unknown_words(
    command: Command, translator: "Translator", source: Sequence[str], target: Sequence[str] = ()
) -> None:
    """Warn where a model does not know most words of the first sentences of a text."""
    from rnnsearch_tf.evaluation.unk_free import mostly_unknown

    for problem in mostly_unknown(translator, {"the source": source, "the target": target}):
        command.warn(problem)


def with_warning(
    command: Command, translator: "Translator", pairs: Iterable[tuple[str, str]]
) -> Iterator[tuple[str, str]]:
    """Pass pairs on, after `warn_of_unknown_words` of the first."""
    for number, window in enumerate(windows(pairs, _WINDOW)):
        if not number:
            source, target = zip(*window, strict=True)
            warn_of_unknown_words(command, translator, source, target)
        yield from window
