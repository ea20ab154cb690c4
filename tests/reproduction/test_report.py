"""The report of made-up results: tables, JSON and back, and claims that hold or fail."""

import dataclasses
import json
import math
from collections.abc import Sequence

import pytest
from report_reading import read_report

from rnnsearch_tf.evaluation.length_bins import LengthBin
from rnnsearch_tf.evaluation.likelihood import Nll
from rnnsearch_tf.evaluation.metrics import Score
from rnnsearch_tf.evaluation.scores import SetScores
from rnnsearch_tf.presets import PRESETS
from rnnsearch_tf.provenance import Provenance
from rnnsearch_tf.reproduction.claims import TOLERANCE, claims, fall
from rnnsearch_tf.reproduction.report import PAPER_BLEU, Report, write_report
from rnnsearch_tf.reproduction.results import Example, ModelResults, SoftAlignment, SystemResults

LENGTHS = ((1, 30), (31, 50), (51, 60), (61, 97))


def scores(sentences: int, bleu: float, interval: float | None, tokenized: float) -> SetScores:
    return SetScores(
        sentences,
        {
            "bleu": Score(bleu, "tok:13a|version:9", interval),
            "ter": Score(90 - bleu, "tok:tercom|version:9", 1.5),
            "tokenized_bleu": Score(tokenized, "tok:none|version:9", 0.5),
            "lowercased_bleu": Score(tokenized + 0.5, "case:lc|tok:none|version:9", 0.5),
        },
    )


def model(name: str, bleu: float, by_length: tuple[float, ...], **changes) -> ModelResults:
    values = {
        "name": name,
        "max_length": int(name[-2:]),
        "parameters": 12_345_678,
        "updates": 1_100,
        "epochs": 5,
        "hours": 1.5,
        "hardware": "CPU, 2 cores of a_machine",
        "software": "rnnsearch_tf 1 (abc)",
        "train_pairs": 2_000,
        "train_nll": Nll(1.125, 20.25),
        "validation_pairs": 333,
        "validation_nll": Nll(2.125, 40.25),
        "all": scores(700, bleu, 0.75, bleu + 1),
        "all_without_unk": scores(700, bleu + 0.5, 0.75, bleu + 1.5),
        "all_replaced": scores(700, bleu + 0.25, 0.5, bleu + 1.25),
        "no_unknown": scores(300, bleu + 5, 1.25, bleu + 6),
        "by_length": [
            LengthBin(*span, 100, score) for span, score in zip(LENGTHS, by_length, strict=True)
        ],
        "examples": [Example("A | long &lt; ~~one~~.", "Une longue.", f"Par {name} [UNK].")],
        "alignments": [SoftAlignment(["a", "</s>"], ["un", "$", "</s>"], [[0.75, 0.25]] * 3)],
        "translations": ["Un.", "[UNK]."],
        "translations_without_unk": ["Un.", "Deux."],
    }
    return ModelResults(**{**values, **changes})


def report(*models: ModelResults, systems: Sequence[SystemResults] = ()) -> Report:
    return Report(
        Provenance("rnnsearch-reproduce --data x", "2026-01-02", "CPU", {"keras": "3"}, "abc"),
        {"training": "train, 10 pairs"},
        dataclasses.asdict(PRESETS["rnnsearch-small"]),
        list(models),
        list(systems),
    )


# As in the paper: RNNencdec falls, RNNsearch leads everywhere, RNNsearch-50 stays flat.
AS_THE_PAPER = (
    model("RNNencdec-30", 14.0, (20.0, 12.0, 6.0, 3.0)),
    model("RNNsearch-30", 21.5, (25.0, 22.0, 18.0, 14.0)),
    model("RNNencdec-50", 17.75, (21.0, 18.0, 12.0, 9.0)),
    model("RNNsearch-50", 26.75, (26.0, 27.5, 26.5, 25.75)),
)


def verdicts(*models: ModelResults) -> dict[str, bool | None]:
    return {claim.text: claim.holds for claim in claims({m.name: m for m in models})}


def test_all_claims_hold_of_results_like_the_papers():
    holding = verdicts(*AS_THE_PAPER)
    assert len(holding) == 10
    assert set(holding.values()) == {True}


def test_claims_fail_of_results_the_other_way_round():
    worse, better = (20.0, 12.0, 6.0, 3.0), (26.0, 27.5, 26.5, 25.75)
    holding = verdicts(
        model("RNNencdec-30", 21.5, better),
        model("RNNsearch-30", 14.0, worse),
        model("RNNencdec-50", 26.75, better),
        model("RNNsearch-50", 17.75, worse),
    )
    assert len(holding) == 10
    assert set(holding.values()) == {False}


def changed(name: str, **changes) -> dict[str, bool | None]:
    return verdicts(
        *(dataclasses.replace(m, **changes) if m.name == name else m for m in AS_THE_PAPER)
    )


def failing(holding: dict[str, bool | None]) -> list[str]:
    return [text for text, holds in holding.items() if holds is False]


def test_one_bin_behind_fails_the_claim_of_every_length():
    bins = [*AS_THE_PAPER[3].by_length[:1], LengthBin(31, 50, 100, 17.0)]
    holding = changed("RNNsearch-50", by_length=[*bins, *AS_THE_PAPER[3].by_length[2:]])
    assert failing(holding) == ["RNNsearch-50 is better than RNNencdec-50 at every source length"]
    claim = next(c for c in claims({m.name: m for m in AS_THE_PAPER}) if "every source" in c.text)
    assert claim.evidence == "1–30: +5.00; 31–50: +10.00; 51–60: +12.00; 61–97: +11.00"


def test_one_column_behind_fails_the_claim_of_being_better():
    holding = changed("RNNsearch-30", no_unknown=scores(300, 20.0, None, 21.0))
    assert failing(holding) == ["RNNsearch-30 is better than RNNencdec-50"]


def test_a_column_of_few_sentences_fails_no_claim():
    assert failing(changed("RNNsearch-30", no_unknown=scores(9, 20.0, None, 21.0))) == []
    alone = scores(9, 99.0, None, 99.0)
    models = [dataclasses.replace(m, all=alone, no_unknown=None) for m in AS_THE_PAPER[:2]]
    assert verdicts(*models)["RNNsearch-30 is better than RNNencdec-30"] is None


def test_a_lead_within_its_interval_is_not_told():
    both = [scores(700, 20.0, 0.75, 21.0), scores(700, 21.0, 0.75, 22.0)]
    models = [
        dataclasses.replace(m, all=one, no_unknown=None)
        for m, one in zip(AS_THE_PAPER[:2], both, strict=True)
    ]
    assert verdicts(*models)["RNNsearch-30 is better than RNNencdec-30"] is None
    wide = [b._replace(interval=9.0) for b in AS_THE_PAPER[1].by_length]
    text = "RNNsearch-30 is better than RNNencdec-30 at every source length"
    assert changed("RNNsearch-30", by_length=wide)[text] is None


def falling(*bins: LengthBin) -> ModelResults:
    return dataclasses.replace(AS_THE_PAPER[3], by_length=list(bins))


def test_a_fall_is_from_lengths_within_training_to_those_past_it():
    """Without the shortest sentences, and those of too few to tell."""
    found = fall(
        falling(
            LengthBin(1, 10, 90, 99.0, 1.0),
            LengthBin(11, 30, 30, 20.0, 4.0),
            LengthBin(31, 50, 10, 40.0, 9.0),
            LengthBin(51, 60, 50, 23.0, 3.0),
            LengthBin(61, 70, 50, 17.0, 4.0),
            LengthBin(71, 80, 9, 0.0),
        )
    )
    assert found and str(found) == (
        "25.00 ± 3.75 at 11–50 words, 20.00 ± 2.50 at 51–70 words: loses 20% ± 16%"
    )
    assert (found.loss, found.interval) == pytest.approx((0.2, math.hypot(0.8 * 3.75, 2.5) / 25))


def test_a_rise_or_a_drop_within_training_is_no_fall():
    encdec = dataclasses.replace(AS_THE_PAPER[2], by_length=[
        LengthBin(1, 10, 90, 30.0), LengthBin(11, 50, 90, 20.0), LengthBin(51, 90, 90, 21.0),
    ])  # fmt: skip
    deteriorates, *_ = claims({"RNNencdec-50": encdec})
    assert deteriorates.holds is False and "gains 5% ± 0%" in deteriorates.evidence


@pytest.mark.parametrize(
    ("fraction", "interval", "holds"),
    [
        (TOLERANCE - 0.01, 0, True),
        (TOLERANCE + 0.01, 0, False),
        (TOLERANCE - 0.01, 1, None),
        (TOLERANCE + 0.01, 1, None),
        (0.2, 1, False),
    ],
)
def test_more_than_the_tolerance_is_a_fall(fraction, interval, holds):
    model = falling(
        LengthBin(1, 50, 90, 25.0), LengthBin(51, 60, 90, 25 * (1 - fraction), interval)
    )
    (claim,) = claims({"RNNsearch-50": model})
    assert claim.holds is holds


def test_a_test_set_of_short_sentences_cannot_tell():
    short = [dataclasses.replace(m, by_length=m.by_length[:1]) for m in AS_THE_PAPER]
    tested = claims({model.name: model for model in short})
    untold = [claim for claim in tested if claim.holds is None]
    assert [claim.text[:12] for claim in untold] == ["RNNencdec-30", "RNNencdec-50", "RNNsearch-50"]
    assert "cannot tell" in report(short[3]).to_markdown()


def test_a_bleu_of_0_cannot_fall():
    zero = falling(LengthBin(1, 50, 90, 0.0), LengthBin(51, 60, 90, 0.0))
    (claim,) = claims({"RNNsearch-50": zero})
    assert claim.holds is None and "BLEU of 0" in claim.evidence


def test_claims_of_a_model_that_is_not_there_are_not_made():
    assert verdicts(AS_THE_PAPER[1]) == {}
    assert "None to test." in report(AS_THE_PAPER[1]).to_markdown()


# --- the report -----------------------------------------------------------------------------------


def rows(markdown: str, first: str) -> list[list[str]]:
    """The cells of all table rows that begin with `first`."""
    return [
        [cell.strip() for cell in line.strip("|").split(" | ")]
        for line in markdown.splitlines()
        if line.startswith(f"| {first} |")
    ]


def test_tables():
    text = report(*AS_THE_PAPER).to_markdown()
    table_1, others, table_2, table_3 = rows(text, "RNNsearch-50")
    assert table_1[1:] == [
        "26.75 ± 0.75", "27.75 (28.25)", "27.00 ± 0.50", "27.25 ± 0.75",
        "31.75 ± 1.25", "32.75 (33.25)", "*26.75*", "*34.16*",
    ]  # fmt: skip
    assert others[1:] == ["63.25 ± 1.50"]
    assert rows(text, "all")[0][1:] == ["TER (lower is better)"]
    assert table_2[1:] == [
        "12.3 M", "1,100", "5", "1.50", r"CPU, 2 cores of a\_machine",
        "20.25 (1.125, 3.08)", "40.25 (2.125, 8.37)",
    ]  # fmt: skip
    assert table_3[1:] == [r"Par RNNsearch-50 \[UNK\]."]
    assert rows(text, "61–97") == [["61–97", "100", "3.00", "14.00", "9.00", "25.75"]]
    assert rows(text, "Source") == [["Source", r"A \| long \&lt; \~\~one\~\~."]]
    assert rows(text, "`hidden_size`") == [["`hidden_size`", "1000", "256"]]
    for signature in (
        "BLEU: `tok:13a", "TER: `tok:tercom", "BLEU, tokenized: `tok:none",
        "BLEU, lowercased: `case:lc|tok:none",
    ):  # fmt: skip
        assert f"- {signature}|version:9`" in text
    assert "p of the difference" not in text
    assert "the 300 of them" in text and "333 pairs" in text
    assert "Par RNNencdec-30" not in text


def test_settings_and_lengths_of_subwords():
    of_words = report(*AS_THE_PAPER)
    text = of_words.to_markdown()
    assert "in subwords" not in text and rows(text, "`tokenizer`") == []
    assert rows(text, "`source_vocabulary_size`") == [
        ["`source_vocabulary_size`", "30000", "10000"]
    ]
    changed = {**of_words.settings, "tokenizer": "sentencepiece", "joint_subwords": True}
    text = dataclasses.replace(of_words, settings=changed).to_markdown()
    assert text.count("(in subwords, while test sentences are measured in words)") == 2
    assert rows(text, "`tokenizer`") == [["`tokenizer`", "moses", "sentencepiece"]]
    assert rows(text, "`subwords`") == [["`subwords`", "–", "8000"]]
    assert rows(text, "`joint_subwords`") == [["`joint_subwords`", "False", "True"]]
    assert rows(text, "`source_vocabulary_size`") == rows(text, "`target_language`") == []


# As that of the paper, and one whose name is Markdown.
SYSTEMS = (
    SystemResults(
        "Moses",
        scores(700, 33.25, 0.75, 34.25),
        scores(300, 35.75, 1.25, 36.75),
        {
            "all": {m.name: 0.001 * i for i, m in enumerate(AS_THE_PAPER, 1)},
            "no_unknown": {m.name: 0.5 for m in AS_THE_PAPER},
        },
    ),
    SystemResults(
        "a|b",
        scores(700, 3.25, 0.75, 4.25),
        None,
        {name: {m.name: None for m in AS_THE_PAPER} for name in ("all", "no_unknown")},
    ),
)


def test_other_systems_are_rows_of_table_1():
    text = report(*AS_THE_PAPER, systems=SYSTEMS).to_markdown()
    table_1, others = rows(text, "Moses")
    assert table_1[1:] == [
        "33.25 ± 0.75", "34.25 (34.75)", "–", "–", "35.75 ± 1.25", "36.75 (37.25)",
        "*33.30*", "*35.63*",
    ]  # fmt: skip
    assert others[1:] == ["56.75 ± 1.50"]
    assert rows(text, r"a\|b")[0][1:] == ["3.25 ± 0.75", "4.25 (4.75)", *["–"] * 6]
    (head,) = rows(text, "p of the difference in BLEU (two-sided, paired bootstrap)")
    assert head[1:] == [model.name for model in AS_THE_PAPER]
    assert rows(text, "Moses, all")[0][1:] == ["0.001", "0.002", "0.003", "0.004"]
    assert rows(text, "Moses, no UNK")[0][1:] == ["0.500"] * 4
    assert rows(text, r"a\|b, no UNK")[0][1:] == ["–"] * 4


def test_what_trained_the_models_is_told():
    assert "- models trained by rnnsearch\\_tf 1 (abc)" in report(*AS_THE_PAPER).to_markdown()
    older = dataclasses.replace(AS_THE_PAPER[1], software="an older one")
    text = report(AS_THE_PAPER[0], older).to_markdown()
    assert "RNNencdec-30: rnnsearch\\_tf 1 (abc); RNNsearch-30: an older one" in text


def test_a_failing_claim_is_reported_as_failing():
    text = report(model("RNNencdec-30", 30.0, (1.0,) * 4), AS_THE_PAPER[1]).to_markdown()
    (row,) = rows(text, "RNNsearch-30 is better than RNNencdec-30")
    assert row[1] == "**no**"
    assert row[2].startswith("all: 21.50 ± 0.75 against 30.00 ± 0.75; no UNK: 26.50")


def test_without_sentences_of_known_words():
    alone = model("RNNencdec-50", 1.0, (1.0,) * 4, no_unknown=None)
    table_1 = rows(report(alone).to_markdown(), "RNNencdec-50")[0]
    assert table_1[5:7] == ["–", "–"]
    assert read_report(report(alone).to_json()) == report(alone)


def test_json_round_trip():
    whole = report(*AS_THE_PAPER, systems=SYSTEMS)
    assert read_report(whole.to_json()) == whole
    values = json.loads(whole.to_json())
    assert values["models"][3]["all"]["bleu"] == {
        "score": 26.75, "signature": "tok:13a|version:9", "interval": 0.75,
    }  # fmt: skip
    assert values["models"][3]["by_length"][0] == {
        "low": 1, "high": 30, "sentences": 100, "bleu": 26.0, "interval": None, "p_value": None,
    }  # fmt: skip
    assert [claim["holds"] for claim in values["claims"]] == [True] * 10
    assert set(values["the_papers_bleu"]) == set(PAPER_BLEU)


def test_files(tmp_path):
    write_report(report(*AS_THE_PAPER), tmp_path)
    made = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    figures = {"figures/bleu_by_length.svg", "figures/alignment_1.svg"}
    assert made == {"report.md", "report.json", *figures}
    text = (tmp_path / "report.md").read_text("utf-8")
    assert all(f"]({name})" in text for name in figures)
