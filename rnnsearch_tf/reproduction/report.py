"""Results to a report: Markdown, figures, and all numbers as JSON."""

import dataclasses
import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rnnsearch_tf.files import write_atomically
from rnnsearch_tf.presets import PRESETS
from rnnsearch_tf.provenance import Provenance
from rnnsearch_tf.reproduction.assessment import (
    ALIGNED,
    ALIGNED_LENGTHS,
    LONG,
    LONG_LENGTHS,
    TRAINING_SAMPLE,
)
from rnnsearch_tf.reproduction.claims import TOLERANCE, Claim, claims
from rnnsearch_tf.reproduction.results import ModelResults, SetScore
from rnnsearch_tf.visualization.alignment_matrix import draw_alignment
from rnnsearch_tf.visualization.curves import draw_bleu_by_length

# Table 1 of the paper, BLEU of all sentences and of those without unknown words, WMT '14 En-Fr.
PAPER_BLEU = {
    "RNNencdec-30": (13.93, 24.19),
    "RNNsearch-30": (21.50, 31.44),
    "RNNencdec-50": (17.82, 26.71),
    "RNNsearch-50": (26.75, 34.16),
}
BLEU_FIGURE = "bleu_by_length.png"
_VERDICTS = {True: "**yes**", False: "**no**", None: "cannot tell"}
_SPECIAL = re.compile(r"([\\`*_<>|\[\]])")


@dataclasses.dataclass(frozen=True)
class Report:
    """All that a reproduction has found.

    Attributes:
        provenance: what produced it.
        texts: role ("training", "test", …) to what the text is.
        settings: `Config` as a dict; `architecture` and `max_length` are the models' own.
        models: results, in the order of the paper's Table 1.
    """

    provenance: Provenance
    texts: dict[str, str]
    settings: dict[str, Any]
    models: list[ModelResults]

    def to_json(self) -> str:
        """The numbers, the claims that follow from them, and the paper's numbers."""
        values = {
            "provenance": self.provenance._asdict(),
            "texts": self.texts,
            "settings": self.settings,
            "models": [model.as_dict() for model in self.models],
            "claims": [claim._asdict() for claim in self.claims()],
            "the_papers_bleu": {
                name: {"all": both[0], "no_unknown": both[1]} for name, both in PAPER_BLEU.items()
            },
        }
        return json.dumps(values, indent=1, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> "Report":
        """Read what `to_json` wrote; the claims are drawn anew."""
        values = json.loads(text)
        return cls(
            Provenance(**values["provenance"]),
            values["texts"],
            values["settings"],
            [ModelResults.from_dict(model) for model in values["models"]],
        )

    def claims(self) -> list[Claim]:
        """The paper's claims, put to the test of these results."""
        return claims({model.name: model for model in self.models})

    def to_markdown(self) -> str:
        """For people; figures are looked for in `figures/`."""
        sections = (
            _head(self),
            _claims(self.claims()),
            _table_1(self.models),
            _figure_2(self.models),
            _table_2(self.models),
            _figure_3(self.models),
            _table_3(self.models),
            _settings(self.settings),
            _produced_by(self.provenance),
        )
        return "\n".join(line for section in sections for line in [*section, ""])


def write_report(report: Report, folder: str | Path) -> None:
    """Write report.md, report.json and figures/*.png.

    Args:
        report: what was found.
        folder: exists.
    """
    folder = Path(folder)
    draw_bleu_by_length(
        folder / "figures" / BLEU_FIGURE,
        {model.name: model.by_length for model in report.models},
        marks=sorted({model.max_length for model in report.models}),
    )
    aligned = _aligned(report.models)
    for number, found in enumerate(aligned.alignments if aligned else [], 1):
        path = folder / "figures" / _alignment_figure(number)
        draw_alignment(path, np.array(found.alignment), found.source_tokens, found.target_tokens)
    write_atomically(folder / "report.json", report.to_json().encode())
    write_atomically(folder / "report.md", report.to_markdown().encode())


# --- sections, as lines of Markdown ---------------------------------------------------------------


def _head(report: Report) -> list[str]:
    texts = [f"- {role}: {_escaped(what)}" for role, what in report.texts.items()]
    return [
        "# Reproduction of Bahdanau, Cho & Bengio (ICLR 2015)",
        "",
        f"{', '.join(model.name for model in report.models)}, "
        "trained and evaluated with one command (below). Columns marked *paper* are the paper's "
        "own figures, from other text and other training: they show what to compare the order of "
        "the models with, not their level.",
        "",
        *texts,
    ]


def _claims(found: Sequence[Claim]) -> list[str]:
    rows = [(claim.text, _VERDICTS[claim.holds], claim.evidence) for claim in found]
    return [
        "## What the paper claims, and what is found here",
        "",
        *(_table(("claim", "holds here", "numbers (BLEU)"), rows) if rows else ["None to test."]),
        "",
        "Falls are from a model's best bin of source lengths to its worst bin of sentences longer "
        f"than any in its training; to lose at most {TOLERANCE:.0%} of the best bin is none.",
    ]


def _table_1(models: Sequence[ModelResults]) -> list[str]:
    rows = []
    for model in models:
        paper = [f"*{score:.2f}*" for score in PAPER_BLEU[model.name]]
        found = [_bleu(model.all), _tokenized(model.all)]
        found += [_bleu(model.all_replaced), _bleu(model.all_without_unk)]
        found += [_bleu(model.no_unknown), _tokenized(model.no_unknown)]
        rows.append((model.name, *found, *paper))
    sentences = models[0].all.sentences
    known = models[0].no_unknown.sentences if models[0].no_unknown else 0
    return [
        "## Table 1: BLEU",
        "",
        *_table(
            ("", "all", "all, tokenised", "all, [UNK] replaced", "all, [UNK] barred", "no UNK",
             "no UNK, tokenised", "*paper: all*", "*paper: no UNK*"),
            rows,
        ),
        "",
        f"All: the {sentences:,} sentences of the test set. No UNK: the {known:,} of them without "
        "a word unknown to the models in themselves or in the reference, [UNK] barred from the "
        "output. Replaced: each [UNK] by what the attended source word is mostly translated by in "
        "the training text, or else by that word itself. BLEU is sacreBLEU, cased and detokenised, "
        "± half of the 95% confidence interval (1,000 bootstrap samples); tokenised BLEU is over "
        "cased Moses tokens, as in the paper.",
        "",
        *(f"- BLEU: `{name}`" for name in _distinct(m.signature for m in models)),
        *(f"- tokenised: `{name}`" for name in _distinct(m.tokenized_signature for m in models)),
    ]  # fmt: skip


def _figure_2(models: Sequence[ModelResults]) -> list[str]:
    rows = [
        (f"{b[0].low}–{b[0].high}", f"{b[0].sentences:,}", *(f"{model.bleu:.2f}" for model in b))
        for b in zip(*(model.by_length for model in models), strict=True)
    ]
    return [
        "## Fig. 2: BLEU by source length",
        "",
        f"![BLEU by source length](figures/{BLEU_FIGURE})",
        "",
        *_table(("source tokens", "sentences", *(model.name for model in models)), rows),
        "",
        "The sentences of the test set by length, [UNK] allowed; the dotted lines are the longest "
        "sentences in training.",
    ]


def _table_2(models: Sequence[ModelResults]) -> list[str]:
    rows = [
        (
            model.name,
            f"{model.parameters / 1e6:.1f} M",
            f"{model.updates:,}",
            f"{model.epochs:g}",
            f"{model.hours:.2f}",
            _escaped(model.hardware),
            f"{model.train_nll.per_sentence:.2f} ({model.train_nll.per_token:.3f})",
            f"{model.validation_nll.per_sentence:.2f} ({model.validation_nll.per_token:.3f})",
        )
        for model in models
    ]
    pairs = " or ".join(_distinct(f"{model.train_pairs:,}" for model in models))
    return [
        "## Table 2: training",
        "",
        *_table(
            (
                "",
                "weights",
                "updates",
                "epochs",
                "hours",
                "hardware",
                "train NLL",
                "validation NLL",
            ),
            rows,
        ),
        "",
        "NLL: −log p(y|x) in nats per sentence (per token, `</s>` counted), of the best weights, "
        f"without dropout. Train: on {pairs} pairs drawn at random (at most {TRAINING_SAMPLE:,}) "
        "from those short enough for the model; validation: on all "
        f"{models[0].validation_pairs:,} pairs of the validation set, however long. Updates, "
        "epochs and hours are of the whole training, evaluations not counted.",
    ]


def _figure_3(models: Sequence[ModelResults]) -> list[str]:
    model = _aligned(models)
    if model is None:
        return ["## Fig. 3: alignments", "", "None: no RNNsearch, or no sentence to show."]
    pictures = []
    for number, found in enumerate(model.alignments, 1):
        source = _escaped(" ".join(found.source_tokens[:-1]))
        pictures += [f"![{source}](figures/{_alignment_figure(number)})", ""]
    low, high = ALIGNED_LENGTHS
    return [
        f"## Fig. 3: alignments found by {model.name}",
        "",
        *pictures,
        f"Test sentences (at most {ALIGNED}) drawn at random from those of {low} to {high} source "
        "tokens without unknown words. Source along the top, translation down the side; black 0, "
        "white 1.",
    ]


def _table_3(models: Sequence[ModelResults]) -> list[str]:
    low, high = LONG_LENGTHS
    shown = [model for model in models if model.max_length == 50] or list(models)
    blocks = []
    for examples in zip(*(model.examples for model in shown), strict=True):
        rows = [("Source", examples[0].source), ("Reference", examples[0].reference)]
        rows += [(m.name, e.translation) for m, e in zip(shown, examples, strict=True)]
        blocks += [*_table(("", ""), [(name, _escaped(text)) for name, text in rows]), ""]
    which = f"of {low} to {high} source tokens"
    return [
        "## Table 3: translations of long sentences",
        "",
        *blocks,
        f"The first sentences (at most {LONG}) {which} in the test set by length, [UNK] allowed."
        if blocks
        else f"None: no sentence {which} in the test set by length.",
    ]


def _settings(settings: dict[str, Any]) -> list[str]:
    paper = dataclasses.asdict(PRESETS["rnnsearch-50"])
    rows = [
        (f"`{name}`", paper[part][name], value)
        for part in ("model", "training", "decoding")
        for name, value in settings[part].items()
        if name not in ("architecture", "max_length") and value != paper[part][name]
    ]
    table = _table(("setting", "paper", "here"), rows)
    return ["## Settings that are not the paper's", "", *(table if rows else ["None."])]


def _produced_by(source: Provenance) -> list[str]:
    versions = ", ".join(f"{name} {version}" for name, version in source.versions.items())
    return [
        "## Produced by",
        "",
        f"    {source.command}",
        "",
        f"- {source.date}",
        f"- {_escaped(source.hardware)}",
        f"- {_escaped(versions)}",
        f"- commit {source.commit or 'unknown: not run from a checkout'}",
    ]


def _table(head: Sequence[object], rows: Iterable[Sequence[object]]) -> list[str]:
    lines = [head, ["---"] * len(head), *rows]
    return ["| " + " | ".join(map(str, line)) + " |" for line in lines]


def _bleu(score: SetScore | None) -> str:
    return str(score) if score else "–"


def _tokenized(score: SetScore | None) -> str:
    return f"{score.tokenized_bleu:.2f}" if score else "–"


def _aligned(models: Sequence[ModelResults]) -> ModelResults | None:
    """The model whose alignments are shown: the one with the longest sentences in training."""
    return max((m for m in models if m.alignments), key=lambda m: m.max_length, default=None)


def _alignment_figure(number: int) -> str:
    return f"alignment_{number}.png"


def _distinct(values: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(values))


def _escaped(text: str) -> str:
    """Text that is not Markdown, on one line."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))
