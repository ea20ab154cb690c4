"""Report of a reproduction: Markdown, figures, and all numbers as JSON."""

import dataclasses
import importlib.resources
import json
import re
import string
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rnnsearch_tf.config import SENTENCEPIECE
from rnnsearch_tf.evaluation.likelihood import Nll
from rnnsearch_tf.evaluation.metrics import METRICS, with_interval
from rnnsearch_tf.evaluation.scores import SetScores
from rnnsearch_tf.files import write_atomically
from rnnsearch_tf.json_files import plain
from rnnsearch_tf.presets import PRESETS
from rnnsearch_tf.provenance import Provenance
from rnnsearch_tf.reproduction import assessment
from rnnsearch_tf.reproduction.claims import SHORT, TOLERANCE, Claim, claims
from rnnsearch_tf.reproduction.results import ModelResults, SystemResults
from rnnsearch_tf.visualization.alignment_matrix import draw_alignment
from rnnsearch_tf.visualization.curves import draw_bleu_by_length

# Table 1 of the paper, BLEU of all sentences and of those without unknown words, WMT '14 En-Fr.
PAPER_BLEU = {
    "RNNencdec-30": (13.93, 24.19),
    "RNNsearch-30": (21.50, 31.44),
    "RNNencdec-50": (17.82, 26.71),
    "RNNsearch-50": (26.75, 34.16),
    "Moses": (33.30, 35.63),
}
# The other metrics have a table of their own.
_IN_TABLE_1 = ("bleu", "tokenized_bleu", "lowercased_bleu")
_TEMPLATE = string.Template(
    importlib.resources.files(__package__).joinpath("report_template.md").read_text("utf-8")
)
BLEU_FIGURE = "bleu_by_length.svg"
_IN_SUBWORDS = " (in subwords, while test sentences are measured in words)"
_PARTS = ("model", "training", "decoding")  # of the settings
_VERDICTS = {True: "**yes**", False: "**no**", None: "cannot tell"}
_SPECIAL = re.compile(r"([\\`*_<>|\[\]&~])")


@dataclasses.dataclass(frozen=True)
class Report:
    """Results of a reproduction."""

    provenance: Provenance
    texts: dict[str, str]  # role ("training", "test", …) to description
    settings: dict[str, Any]  # `Config`; `architecture` and `max_length` are the models' own
    models: list[ModelResults]  # in the order of the paper's Table 1
    systems: list[SystemResults]  # others

    def to_json(self) -> str:
        """Return the numbers, the claims that follow from them, and the paper's numbers."""
        bleu = {name: {"all": both[0], "no_unknown": both[1]} for name, both in PAPER_BLEU.items()}
        values = {**vars(self), "claims": self.claims(), "the_papers_bleu": bleu}
        return json.dumps(plain(values), indent=1, ensure_ascii=False) + "\n"

    def claims(self) -> list[Claim]:
        """Test the paper's claims on these results."""
        return claims({model.name: model for model in self.models})

    def to_markdown(self) -> str:
        """Return the report as Markdown, which refers to the pictures in `figures/`."""
        models, first, source = self.models, self.models[0], self.provenance
        unk_free = first.no_unknown.sentences if first.no_unknown else 0
        aligned = _aligned(models)
        return _TEMPLATE.substitute(
            names=", ".join(model.name for model in models),
            texts=_items(f"{role}: {_escaped(text)}" for role, text in self.texts.items()),
            claims=_claims(self.claims()),
            tolerance=f"{TOLERANCE:.0%}",
            short=str(SHORT),
            table_1=_table_1(models, self.systems),
            sentences=f"{first.all.sentences:,}",
            unk_free=f"{unk_free:,}",
            other_metrics=_other_metrics(models, self.systems),
            signatures=_signatures(models),
            bleu_figure=BLEU_FIGURE,
            figure_2=_figure_2(models),
            in_subwords=_IN_SUBWORDS if self.settings["tokenizer"] == SENTENCEPIECE else "",
            table_2=_table_2(models),
            train_pairs=" or ".join(_distinct(f"{model.train_pairs:,}" for model in models)),
            training_sample=f"{assessment.TRAINING_SAMPLE:,}",
            validation_pairs=f"{first.validation_pairs:,}",
            by_model=f" by {aligned.name}" if aligned else "",
            figure_3=_figure_3(aligned),
            table_3=_table_3(models),
            settings=_settings(self.settings),
            command=source.command,
            date=source.date,
            hardware=_escaped(source.hardware),
            versions=_escaped(", ".join(f"{name} {v}" for name, v in source.versions.items())),
            software=_escaped(_software(models)),
            commit=source.commit or "unknown: not run from a checkout",
        )


def write_report(report: Report, folder: str | Path) -> None:
    """Write report.json, figures/*.svg and report.md into a folder."""
    folder = Path(folder)
    write_atomically(folder / "report.json", report.to_json().encode())
    draw_bleu_by_length(
        folder / "figures" / BLEU_FIGURE,
        {model.name: model.by_length for model in report.models},
        marks=sorted({model.max_length for model in report.models}),
    )
    aligned = _aligned(report.models)
    for number, pair in enumerate(aligned.alignments if aligned else [], 1):
        path = folder / "figures" / _alignment_figure(number)
        draw_alignment(path, np.array(pair.alignment), pair.source_tokens, pair.target_tokens)
    write_atomically(folder / "report.md", report.to_markdown().encode())


def _software(models: Sequence[ModelResults]) -> str:
    """Return the software that trained the models, only once if it is the same for all."""
    used = _distinct(model.software for model in models)
    each = (f"{model.name}: {model.software}" for model in models)
    return used[0] if len(used) == 1 else "; ".join(each)


def _claims(tested: Sequence[Claim]) -> str:
    rows = [(claim.text, _VERDICTS[claim.holds], claim.evidence) for claim in tested]
    return _table(("claim", "holds here", "numbers (BLEU)"), rows) if rows else "None to test."


def _table_1(models: Sequence[ModelResults], systems: Sequence[SystemResults]) -> str:
    head = (
        "", "all", "all, tokenized (lowercased)", "all, [UNK] replaced", "all, without [UNK]",
        "no UNK", "no UNK, tokenized (lowercased)", "*paper: all*", "*paper: no UNK*",
    )  # fmt: skip
    rows = [
        _bleu_row(m.name, m.all, m.all_replaced, m.all_without_unk, m.no_unknown) for m in models
    ]
    rows += [_bleu_row(s.name, s.all, None, None, s.no_unknown) for s in systems]
    p_rows = [
        (f"{_escaped(system.name)}, {columns}", *map(_p_value, system.p_values[name].values()))
        for system in systems
        for name, columns in (("all", "all"), ("no_unknown", "no UNK"))
    ]
    p_head = (
        "p of the difference in BLEU (two-sided, paired bootstrap)",
        *(model.name for model in models),
    )
    return "\n\n".join([_table(head, rows), *([_table(p_head, p_rows)] if p_rows else [])])


def _bleu_row(name: str, everything: SetScores, *others: SetScores | None) -> tuple[str, ...]:
    paper = [f"*{score:.2f}*" for score in PAPER_BLEU.get(name, ())] or ["–", "–"]
    cells = _bleu(everything), _tokenized(everything), *map(_bleu, others), _tokenized(others[-1])
    return _escaped(name), *cells, *paper


def _other_metrics(models: Sequence[ModelResults], systems: Sequence[SystemResults]) -> str:
    names = [name for name in models[0].all.scores if name not in _IN_TABLE_1]
    titles = [METRICS[name].with_note(METRICS[name].title) for name in names]
    every: list[ModelResults | SystemResults] = [*models, *systems]
    rows = [(_escaped(one.name), *(one.all[name] for name in names)) for one in every]
    return _table(("all", *titles), rows)


def _signatures(models: Sequence[ModelResults]) -> str:
    return _items(
        f"{METRICS[name].title}: `{signature}`"
        for name in models[0].all.scores
        for signature in _distinct(model.all[name].signature for model in models)
    )


def _figure_2(models: Sequence[ModelResults]) -> str:
    rows = [
        (
            f"{b[0].low}–{b[0].high}",
            f"{b[0].sentences:,}",
            *(with_interval(model.bleu, model.interval) for model in b),
        )
        for b in zip(*(model.by_length for model in models), strict=True)
    ]
    return _table(("source words", "sentences", *(model.name for model in models)), rows)


def _table_2(models: Sequence[ModelResults]) -> str:
    head = ("", "weights", "updates", "epochs", "hours", "hardware", "train NLL", "validation NLL")
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
    return _table(head, rows)


def _figure_3(model: ModelResults | None) -> str:
    if model is None:
        return "None: no RNNsearch, or no sentence to show."
    pictures = []
    for number, pair in enumerate(model.alignments, 1):
        source = _escaped(" ".join(pair.source_tokens[:-1]))
        pictures.append(f"![{source}](figures/{_alignment_figure(number)})")
    low, high = assessment.ALIGNED_LENGTHS
    caption = (
        f"Test sentences (at most {assessment.ALIGNED}) drawn at random from those of {low} to "
        f"{high} source words without unknown words. Source along the top, translation down the "
        "side; black 0, white 1."
    )
    return "\n\n".join([*pictures, caption])


def _table_3(models: Sequence[ModelResults]) -> str:
    low, high = assessment.LONG_LENGTHS
    lengths = f"of {low} to {high} source words"
    shown = [model for model in models if model.max_length == 50] or list(models)
    tables = []
    for examples in zip(*(model.examples for model in shown), strict=True):
        rows = [("Source", examples[0].source), ("Reference", examples[0].reference)]
        rows += [(m.name, e.translation) for m, e in zip(shown, examples, strict=True)]
        tables.append(_table(("", ""), [(name, _escaped(text)) for name, text in rows]))
    if not tables:
        return f"None: no sentence {lengths} in the test set by length."
    caption = f"The first sentences (at most {assessment.LONG}) {lengths} in the test set by length"
    return "\n\n".join([*tables, f"{caption}, [UNK] allowed."])


def _settings(settings: dict[str, Any]) -> str:
    paper = dataclasses.asdict(PRESETS["rnnsearch-50"])
    paper["training"]["batching"] = "sorted"
    hidden = ["architecture", "max_length", "source_language", "target_language"]
    if settings["tokenizer"] == SENTENCEPIECE:
        hidden += ["source_vocabulary_size", "target_vocabulary_size"]
        paper["subwords"] = "–"
    both = [(paper, settings), *((paper[part], settings[part]) for part in _PARTS)]
    rows = [
        (f"`{name}`", theirs[name], value)
        for theirs, ours in both
        for name, value in ours.items()
        if name not in (*_PARTS, *hidden) and value != theirs[name]
    ]
    return _table(("setting", "paper", "here"), rows) if rows else "None."


def _table(head: Sequence[object], rows: Iterable[Sequence[object]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def _items(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _bleu(scores: SetScores | None) -> str:
    return str(scores["bleu"]) if scores else "–"


def _tokenized(scores: SetScores | None) -> str:
    if scores is None:
        return "–"
    cased, lower = (scores[name].score for name in ("tokenized_bleu", "lowercased_bleu"))
    return f"{cased:.2f} ({lower:.2f})"


def _p_value(p_value: float | None) -> str:
    return "–" if p_value is None else f"{p_value:.3f}"


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
    """Return text on one line, with Markdown's special characters escaped."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))
