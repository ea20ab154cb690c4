"""The flags of scripts that write translations: what stands in their lines."""

import functools
from collections.abc import Callable
from typing import Literal

from rnnsearch_tf.config import BEAM_SIZE, DecodingConfig
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.results import Translation
from rnnsearch_tf.scripts.shared.command import Command
from rnnsearch_tf.scripts.shared.translation_lines import text_of

AlignmentFormat = Literal["pharaoh", "json"]


def define_translation_format(command: Command) -> None:
    """Add --score, --word_scores, --n_best and --alignment."""
    command.define(
        "score", bool, "write log p(y|x), nats, after the translation and ' ||| '", False
    )
    command.define(
        "word_scores", bool,
        "write WORD:LOG P for each word and </s>, with blanks between, after the scores and "
        "' ||| '; their sum is that of the sentence",
        False,
    )  # fmt: skip
    command.define(
        "n_best",
        int,
        "different translations of each line, best first; above 1, each is a line 'NUMBER ||| TEXT "
        "||| LOG P ||| LOG P / TOKENS^LENGTH_PENALTY', lines numbered from 0; there may be fewer",
        1,
        BEAM_SIZE,
    )
    command.define(
        "alignment",
        AlignmentFormat,
        "pharaoh: after the translation and ' ||| ', links i-j from source token i to target token "
        "j, from 0: each target token's greatest weight; none where that is on </s>. json: a JSON "
        "object per line, with tokens, scores and weights",
    )


def translation_format(command: Command) -> Callable[[Translation, int], str]:
    """Return the function that formats the result of a line, given its number from 0.

    UsageError where flags do not go together.
    """
    flags = command.flags
    is_json = flags.alignment == "json"
    if is_json and (flags.score or flags.word_scores):
        name = "score" if flags.score else "word_scores"
        raise UsageError(f"--alignment=json has the scores: --{name} is for lines of text")
    return functools.partial(
        text_of,
        as_json=is_json,
        n_best=flags.n_best,
        with_score=flags.score,
        with_links=flags.alignment == "pharaoh",
        with_words=flags.word_scores,
    )


def check_n_best(command: Command, decoding: DecodingConfig) -> None:
    """Raise a UsageError where more translations are asked for than the beam is wide."""
    n_best, beam_size = command.flags.n_best, decoding.beam_size
    if n_best > beam_size:
        raise UsageError(f"--n_best {n_best}: must be from 1 to the beam size, {beam_size}")
