"""Report of a reproduction: Markdown, figures, and all numbers as JSON."""

import dataclasses
import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rnnsearch_tf.evaluation.likelihood import Nll
from rnnsearch_tf.evaluation.metrics import METRICS
from rnnsearch_tf.evaluation.scores import SetScores
from rnnsearch_tf.files import write_atomically
from rnnsearch_tf.json_files import parse_json, record, typed
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
from rnnsearch_tf.reproduction.results import ModelResults
from rnnsearch_tf.visualization.alignment_matrix import draw_alignment
from rnnsearch_tf.visualization.curves import draw_bleu_by_length

# Table 1 of the paper, BLEU of all sentences and of those without unknown words, WMT '14 En-Fr.
PAPER_BLEU = {
    "RNNencdec-30": (13.93, 24.19),
    "RNNsearch-30": (21.50, 31.44),
    "RNNencdec-50": (17.82, 26.71),
    "RNNsearch-50": (26.75, 34.16),
}
_IN_TABLE_1 = ("bleu", "tokenized_bleu")  # the other metrics have a table of their own
BLEU_FIGURE = "bleu_by_length.svg"
_VERDICTS = {True: "**yes**", False: "**no**", None: "cannot tell"}
_SPECIAL = re.compile(r"([\\`*_<>|\[\]])")


@dataclasses.dataclass(frozen=True)
class Report:
    """Results of a reproduction.

    Attributes:
        provenance: command, machine and code.
        texts: role ("training", "test", …) to description of the text.
        settings: `Config` as a dict; `architecture` and `max_length` are the models' own.
        models: results, in the order of the paper's Table 1.
    """

    provenance: Provenance
    texts: dict[str, str]
    settings: dict[str, Any]
    models: list[ModelResults]

    def to_json(self) -> str:
        """Return the numbers, the claims that follow from them, and the paper's numbers."""
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
        """Read what `to_json` wrote; the claims are tested again.

        Raises:
            ValueError: other text.
        """
        values = typed(dict[str, Any], parse_json(text))
        names = [field.name for field in dataclasses.fields(cls)]
        return record(cls, {name: values.get(name) for name in names})

    def claims(self) -> list[Claim]:
        """Test the paper's claims on these results."""
        return claims({model.name: model for model in self.models})

    def to_markdown(self) -> str:
        """Return the report as Markdown, which refers to the pictures in `figures/`."""
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
    """Write report.md, report.json and figures/*.svg.

    Args:
        report: the results.
        folder: exists.
    """
    folder = Path(folder)
    draw_bleu_by_length(
        folder / "figures" / BLEU_FIGURE,
        {model.name: model.by_length for model in report.models},
        marks=sorted({model.max_length for model in report.models}),
    )
    aligned = _aligned(report.models)
    for number, pair in enumerate(aligned.alignments if aligned else [], 1):
        path = folder / "figures" / _alignment_figure(number)
        draw_alignment(path, np.array(pair.alignment), pair.source_tokens, pair.target_tokens)
    write_atomically(folder / "report.json", report.to_json().encode())
    write_atomically(folder / "report.md", report.to_markdown().encode())


# --- sections, as lines of Markdown ---------------------------------------------------------------


def _head(report: Report) -> list[str]:
    texts = [f"- {role}: {_escaped(description)}" for role, description in report.texts.items()]
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


def _claims(tested: Sequence[Claim]) -> list[str]:
    rows = [(claim.text, _VERDICTS[claim.holds], claim.evidence) for claim in tested]
    return [
        "## Claims of the paper, tested here",
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
        scores = [_bleu(model.all), _tokenized(model.all)]
        scores += [_bleu(model.all_replaced), _bleu(model.all_without_unk)]
        scores += [_bleu(model.no_unknown), _tokenized(model.no_unknown)]
        rows.append((model.name, *scores, *paper))
    sentences = models[0].all.sentences
    unk_free = models[0].no_unknown.sentences if models[0].no_unknown else 0
    return [
        "## Table 1: BLEU",
        "",
        *_table(
            ("", "all", "all, tokenised", "all, [UNK] replaced", "all, without [UNK]", "no UNK",
             "no UNK, tokenised", "*paper: all*", "*paper: no UNK*"),
            rows,
        ),
        "",
        f"All: the {sentences:,} sentences of the test set. No UNK: the {unk_free:,} of them "
        "without a word unknown to the models in themselves or in the reference, with [UNK] not "
        "allowed in the output. Replaced: each [UNK] by the most frequent translation of the "
        "attended source word in the training text, or else by that word itself. Without: [UNK] "
        "not allowed in the output. BLEU is sacreBLEU, cased and detokenised, ± half of the 95% "
        "confidence interval (1,000 bootstrap samples; there is none of fewer than 10 sentences); "
        "tokenised BLEU is over cased Moses tokens, as in the paper.",
        "",
        *_other_metrics(models),
        "",
        *_signatures(models),
    ]  # fmt: skip


def _other_metrics(models: Sequence[ModelResults]) -> list[str]:
    """Return a table of the scores of all sentences that are not BLEU."""
    names = [name for name in models[0].all.scores if name not in _IN_TABLE_1]
    titles = [METRICS[name].with_note(METRICS[name].title) for name in names]
    rows = [(model.name, *(model.all[name] for name in names)) for model in models]
    return _table(("all", *titles), rows)


def _signatures(models: Sequence[ModelResults]) -> list[str]:
    return [
        f"- {METRICS[name].title}: `{signature}`"
        for name in models[0].all.scores
        for signature in _distinct(model.all[name].signature for model in models)
    ]


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
            _nll(model.train_nll),
            _nll(model.validation_nll),
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
        "NLL: −log p(y|x) in nats per sentence (in nats per token, and perplexity per token), "
        "`</s>` counted, of the best weights, without dropout. "
        f"Train: on {pairs} pairs drawn at random (at most {TRAINING_SAMPLE:,}) "
        "from those short enough for the model; validation: on all "
        f"{models[0].validation_pairs:,} pairs of the validation set, however long. Updates, "
        "epochs and hours are of the whole training, evaluations not counted.",
    ]


def _figure_3(models: Sequence[ModelResults]) -> list[str]:
    model = _aligned(models)
    if model is None:
        return ["## Fig. 3: alignments", "", "None: no RNNsearch, or no sentence to show."]
    pictures = []
    for number, pair in enumerate(model.alignments, 1):
        source = _escaped(" ".join(pair.source_tokens[:-1]))
        pictures += [f"![{source}](figures/{_alignment_figure(number)})", ""]
    low, high = ALIGNED_LENGTHS
    return [
        f"## Fig. 3: alignments by {model.name}",
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
    lengths = f"of {low} to {high} source tokens"
    return [
        "## Table 3: translations of long sentences",
        "",
        *blocks,
        f"The first sentences (at most {LONG}) {lengths} in the test set by length, [UNK] allowed."
        if blocks
        else f"None: no sentence {lengths} in the test set by length.",
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


def _bleu(scores: SetScores | None) -> str:
    return str(scores["bleu"]) if scores else "–"


def _tokenized(scores: SetScores | None) -> str:
    return f"{scores['tokenized_bleu'].score:.2f}" if scores else "–"


def _nll(nll: Nll) -> str:
    return f"{nll.per_sentence:.2f} ({nll.per_token:.3f}, {nll.perplexity:.2f})"


def _aligned(models: Sequence[ModelResults]) -> ModelResults | None:
    """Return the model with alignments that was trained on the longest sentences, if any."""
    return max((m for m in models if m.alignments), key=lambda m: m.max_length, default=None)


def _alignment_figure(number: int) -> str:
    return f"alignment_{number}.svg"


def _distinct(values: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(values))


def _escaped(text: str) -> str:
    """Return text on one line in which nothing is Markdown."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))
