"""Soft alignments as one HTML file, for pointer, keyboard and screen reader.

The file needs no other file and no server; its policy allows only its own script to run. Text is
never treated as markup.
"""

import base64
import dataclasses
import hashlib
import html
import importlib.resources
import json
import string
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from rnnsearch_tf.files import home_path, write_atomically
from rnnsearch_tf.json_files import finite_or_none
from rnnsearch_tf.results import Alignment

_DIGITS = 4  # of each weight, after the point


class LabeledText(NamedTuple):
    """Text above an alignment."""

    label: str  # "Reference"
    text: str
    language: str = ""  # "fr"; empty if it is not known
    marked: Sequence[tuple[int, int]] = ()  # starts and ends of parts of it that are marked


@dataclasses.dataclass(frozen=True)
class AlignedSentence:
    """Sentence of the page."""

    alignment: Alignment  # its words, a translation's, and α
    heading: str = ""
    texts: Sequence[LabeledText] = ()  # between heading and alignment
    # Several sentences are listed with their scores, and sorted by these.
    scores: Mapping[str, float] = dataclasses.field(default_factory=dict)


def alignment_page(
    sentences: Iterable[AlignedSentence],
    title: str,
    introduction: str = "",
    source_language: str = "",
    target_language: str = "",
) -> str:
    """Make the page.

    It shows both sides of each sentence as words, and α as the paper does: source along the top,
    target down the side, 0 black, 1 white. A word or cell that is pointed at or focused shows its
    weights, and highlights its row and column and the lines to the words it is aligned to. Words
    that the vocabulary lacks are marked. Sentences out of view are drawn when they come near.
    A language that is not known is "".
    """
    style, script = (_asset(f"alignment_page.{ending}") for ending in ("css", "js"))
    languages = source_language, target_language
    sections = [
        _section(sentence, number, languages) for number, sentence in enumerate(sentences, 1)
    ]
    return string.Template(_asset("alignment_page.html")).substitute(
        title=html.escape(title),
        introduction=html.escape(introduction),
        sections="\n".join(sections),
        style=style,
        style_digest=_digest(style),
        script=script,
        script_digest=_digest(script),
    )


def _tag(language: str) -> str:
    return language.replace("_", "-")  # pt_BR is not a language tag of HTML


def write_page(path: str | Path, page: str) -> None:
    """Write an HTML file, and its folder if that is missing."""
    path = home_path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, page.encode("utf-8", "replace"))


def _section(sentence: AlignedSentence, number: int, languages: tuple[str, str]) -> str:
    pair = sentence.alignment
    shape, words = np.shape(pair.weights), (len(pair.target_tokens), len(pair.source_tokens))
    if shape != words:
        raise ValueError(f"sentence {number}: α is {shape}, but there are {words} tokens")
    weights = np.float64(pair.weights)  # JSON has no NaN: what is not finite is drawn empty
    content = {
        "source": pair.source_tokens,
        "target": pair.target_tokens,
        "alignment": np.where(np.isfinite(weights), weights, 0.0).round(_DIGITS).tolist(),
        "languages": [*map(_tag, languages)],
        "unknown": (pair.unknown_source, pair.unknown_target),
    }
    # Without "<", nothing in it can end the element.
    data = json.dumps(content, ensure_ascii=True, separators=(",", ":")).replace("<", "\\u003c")
    heading = sentence.heading or f"Sentence {number}"
    hidden = "" if sentence.heading else ' class="unseen"'
    finite = {name: finite_or_none(value) for name, value in sentence.scores.items()}
    scores = html.escape(json.dumps(finite))
    return "\n".join(
        [
            f'<section aria-labelledby="sentence-{number}" data-scores="{scores}">',
            f'<h2 id="sentence-{number}" tabindex="-1"{hidden}>{html.escape(heading)}</h2>',
            *_texts(sentence.texts),
            f'<script type="application/json">{data}</script>',
            '<div class="alignment"></div>',
            "</section>",
        ]
    )


def _texts(texts: Sequence[LabeledText]) -> list[str]:
    rows = []
    for label, text, language, marked in texts:
        lang = f' lang="{html.escape(_tag(language))}"' if language else ""
        shown = f'<dd dir="auto"{lang}>{_marked(text, marked)}</dd>'
        rows.append(f"<div><dt>{html.escape(label)}</dt>{shown}</div>")
    return ["<dl>", *rows, "</dl>"] if rows else []


def _marked(text: str, marked: Sequence[tuple[int, int]]) -> str:
    parts, end = [], 0
    for start, stop in marked:
        parts += [html.escape(text[end:start]), f"<mark>{html.escape(text[start:stop])}</mark>"]
        end = stop
    return "".join([*parts, html.escape(text[end:])])


def _asset(name: str) -> str:
    return importlib.resources.files("rnnsearch_tf.visualization").joinpath(name).read_text("utf-8")


def _digest(content: str) -> str:
    """Return the name of an element's content in a Content Security Policy."""
    return f"sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}"
