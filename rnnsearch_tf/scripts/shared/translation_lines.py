"""The flags of scripts that write translations, and the lines, in formats that others read."""

from collections.abc import Callable, Iterator
from typing import Any, Literal

from rnnsearch_tf.alignment.formats import pharaoh
from rnnsearch_tf.alignment.links import LinkRule
from rnnsearch_tf.config import BEAM_SIZE, DecodingConfig
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.extras import require_package
from rnnsearch_tf.results import Hypothesis, Translation
from rnnsearch_tf.scripts.shared.command import Command
from rnnsearch_tf.scripts.shared.finite_values import json_line
from rnnsearch_tf.terminal import single_line

SEPARATOR = " ||| "
AlignmentFormat = Literal["pharaoh", "json"]


def define_split_sentences(command: Command) -> None:
    """Add --split_sentences."""
    command.define(
        "split_sentences",
        bool,
        "translate the sentences of a line one by one and join the translations: models translate "
        "several sentences at once worse; can be combined with --score, but not with --n_best, "
        "--word_scores or alignments; needs sentencex",
        False,
    )


def check_split_sentences(command: Command, aligns: bool) -> None:
    """Raise a UsageError or an InputError if lines cannot be split into sentences."""
    flags = command.flags
    if flags.split_sentences:
        if aligns or flags.word_scores or flags.n_best > 1:
            raise UsageError(
                "--split_sentences cannot be combined with --n_best, --word_scores or alignments"
            )
        require_package("sentencex")


def define_translation_format(command: Command) -> None:
    """Add --score, --word_scores, --n_best and --alignment."""
    command.define(
        "score", bool, "append ' ||| ' and log p(y|x), in nats, to the translation", False
    )
    command.define(
        "word_scores", bool,
        "append ' ||| ' and WORD:LOG P of each word and of </s>, separated by spaces; they sum to "
        "the log p of the sentence",
        False,
    )  # fmt: skip
    command.define(
        "n_best",
        int,
        "distinct translations of each line, best first; above 1, each is a line 'NUMBER ||| TEXT "
        "||| LOG P ||| LOG P / TOKENS^LENGTH_PENALTY', lines numbered from 0; there may be fewer",
        1,
        BEAM_SIZE,
    )
    command.define(
        "alignment",
        AlignmentFormat,
        "pharaoh: append ' ||| ' and links i-j from source word i to target word j, counted from "
        "0: each target word is linked to the source word with the largest weight, unless that is "
        "</s>. Words are the tokens that json shows, not whitespace-separated words. json: write a "
        "JSON object per line, with words, scores and weights",
    )


def translation_format(command: Command, n_best: int) -> Callable[[Translation, int], str]:
    """Return the function that formats the result of a line, given its number from 0.

    Each result has up to `n_best` hypotheses. UsageError for flags that cannot be combined.
    """
    flags = command.flags
    is_json = flags.alignment == "json"
    if is_json and (flags.score or flags.word_scores):
        name = "score" if flags.score else "word_scores"
        raise UsageError(f"--{name} cannot be combined with --alignment=json, which has scores")
    if is_json:
        return lambda result, number: json_line(result)
    options: dict[str, Any] = {
        "n_best": n_best,
        "with_score": flags.score,
        "with_links": flags.alignment == "pharaoh",
        "with_words": flags.word_scores,
    }
    return lambda result, number: "\n".join(plain_lines(result, number, **options))


def check_n_best(command: Command, decoding: DecodingConfig) -> None:
    """Raise a UsageError if --n_best is larger than the beam size."""
    n_best, beam_size = command.flags.n_best, decoding.beam_size
    if n_best > beam_size:
        raise UsageError(f"--n_best {n_best}: must be from 1 to the beam size, {beam_size}")


def plain_lines(
    result: Translation,
    number: int,
    *,
    n_best: int,
    with_score: bool,
    with_links: bool,
    with_words: bool = False,
) -> Iterator[str]:
    """Format one line, or Moses' n-best list: `NUMBER ||| TEXT ||| SCORE ||| NORMALIZED SCORE`.

    The number is that of the line, from 0; a list has `n_best` above 1. The score is log p in nats.
    Those of words (see `scored_words`) follow; the links of the hard alignment, Pharaoh's `i-j`,
    come last.
    """
    for hypothesis in result.hypotheses:
        fields = [single_line(hypothesis.text)]
        if n_best > 1:
            scores = f"{hypothesis.score:.4f}", f"{hypothesis.normalized_score:.4f}"
            fields = [str(number), *fields, *scores]
        elif with_score:
            fields.append(f"{hypothesis.score:.4f}")
        if with_words:
            fields.append(scored_words(hypothesis))
        if with_links:
            assert hypothesis.alignment is not None  # return_alignment was True
            fields.append(pharaoh(LinkRule().links(hypothesis.alignment)))
        yield SEPARATOR.join(fields)


def scored_words(hypothesis: Hypothesis) -> str:
    """Format `WORD:LOG P` of each word and `</s>`, in nats; a word may hold colons itself.

    Empty for an export of version 0.1.0, which gives no scores of words.
    """
    pairs = zip(hypothesis.tokens, hypothesis.word_scores, strict=False)
    return single_line(" ".join(f"{word}:{score:.4f}" for word, score in pairs))
