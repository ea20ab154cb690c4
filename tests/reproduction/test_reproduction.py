"""The paper's experiment in small: four models, a report, and nothing done twice."""

import dataclasses
import json
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest
import scripted_train_step
from report_reading import read_report
from tiny_training import SIZES

from rnnsearch_tf.config import Config, DecodingConfig
from rnnsearch_tf.data.parallel_corpus import ParallelText
from rnnsearch_tf.data.sampling import random_pairs
from rnnsearch_tf.evaluation.evaluator import Evaluator
from rnnsearch_tf.inference.translator import Translator
from rnnsearch_tf.models.model_directory import ModelDirectory
from rnnsearch_tf.reproduction import reproduce as training
from rnnsearch_tf.reproduction.assessment import assess, trained_by
from rnnsearch_tf.reproduction.models import Texts
from rnnsearch_tf.reproduction.report import Report
from rnnsearch_tf.reproduction.results import ModelResults
from rnnsearch_tf.scripts import reproduce
from rnnsearch_tf.training import run
from rnnsearch_tf.training.tensorboard import Summaries

pytestmark = pytest.mark.slow

MODELS = ("rnnencdec-30", "rnnsearch-30", "rnnencdec-50", "rnnsearch-50")
SETTINGS = SIZES
TESTED = 60  # pairs of the test set


def copy_trained(model_dir: Path, copy: Path, max_length: int) -> None:
    shutil.copytree(model_dir, copy)
    shutil.rmtree(copy / "checkpoints")  # none is needed
    (record,) = ModelDirectory(copy).read_log()
    assert record.pop("hardware") and record.pop("software")
    ModelDirectory(copy).write_log([record])  # as of a version that did not tell
    config = json.loads((copy / "config.json").read_text("utf-8"))
    config["training"]["max_length"] = max_length
    del config["sha256"]  # of the config before the change
    (copy / "config.json").write_text(json.dumps(config), "utf-8")


@pytest.fixture(scope="module")
def flags(corpus: Path, model_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """A reproduction of seconds, into a folder that holds two models trained before."""
    data, output = tmp_path_factory.mktemp("data"), tmp_path_factory.mktemp("reproduction")
    for path in corpus.glob("*.[ef]?"):
        shutil.copy(path, data)
    for language in ("en", "fr"):
        lines = (corpus / f"train.{language}").read_text("utf-8").splitlines(keepends=True)
        (data / f"test.{language}").write_text("".join(lines[:TESTED]), "utf-8")
    for length in (30, 50):
        copy_trained(model_dir, output / f"rnnsearch-{length}", length)
    return [f"--data={data}", "--test_lengths=valid", "--preset_size=tiny", f"--output={output}",
            "--beam_size=2", "--max_length_ratio=1.5", "--epochs=1", *SETTINGS]  # fmt: skip


@pytest.fixture(scope="module")
def output(flags: list[str]) -> Path:
    """The folder of that reproduction, which began with one model, and has trained that alone.

    A model for 50 words is a copy of that for 30, whose results it is given. A script makes the
    updates, a word stands for [UNK] where it is not allowed, and the lexicon has one word.
    """
    output = Path(next(flag for flag in flags if flag.startswith("--output=")).partition("=")[2])
    assessed = {}

    def assess_once(
        name: str, path: Path, config: Config, text: Texts, sample: ParallelText
    ) -> ModelResults:
        architecture = config.model.architecture
        if architecture not in assessed:
            assessed[architecture] = assess(name, path, config, text, sample)
        made_by: Any = trained_by(path)
        return dataclasses.replace(
            assessed[architecture],
            name=name,
            max_length=config.training.max_length,
            **made_by,
        )

    def without_unk(evaluator: Evaluator, lines: list[str]) -> list[str]:
        translations, _ = evaluator.translate_and_replace(lines)
        return [line.replace("[UNK]", "le") for line in translations]

    def lexicon_of(translator: Translator, pairs: ParallelText) -> dict[str, tuple[str, ...]]:
        assert translator.aligns and len(pairs.source) == 300
        return {"the": ("le",)}

    with pytest.MonkeyPatch.context() as patch:
        scripted_train_step.use(patch, scripted_train_step.SlowTrainStep)  # hours above 0
        patch.setattr(run, "Summaries", lambda folder, *samples: Summaries(folder))
        patch.setattr(training, "lexicon_of", lexicon_of)
        patch.setattr(training, "assess", assess_once)
        patch.setattr(Evaluator, "translate_without_unk", without_unk)
        assert reproduce.run([*flags, "--models=rnnencdec-30"]) == 0
        copy_trained(output / "rnnencdec-30", output / "rnnencdec-50", 50)
        assert reproduce.run(flags) == 0
    return output


def read(output: Path) -> Report:
    return read_report((output / "report.json").read_text("utf-8"))


def test_four_models_and_a_report(output):
    report = read(output)
    assert [model.name.lower() for model in report.models] == list(MODELS)
    assert [model.max_length for model in report.models] == [30, 30, 50, 50]
    for model in report.models:
        assert (output / model.name.lower() / "best.weights.h5").exists()
        assert model.epochs == 1 and model.updates > 0 and model.hours > 0
        assert 0 < model.train_nll.per_token < model.train_nll.per_sentence
        sizes = model.train_pairs, model.validation_pairs, model.all.sentences
        assert sizes == (300, 20, TESTED)
        assert sum(b.sentences for b in model.by_length) == 20
        attends = model.name.startswith("RNNsearch")
        assert bool(model.alignments) == bool(model.all_replaced) == attends
        assert (output / model.name.lower() / "lexicon.tsv").exists() == attends
    text = (output / "report.md").read_text("utf-8")
    for name in ("## Table 1", "## Fig. 2", "## Table 2", "## Fig. 3", "## Table 3", "tok:13a"):
        assert name in text
    assert "rnnsearch-reproduce --" in text and "--hidden_size=11" in text
    figures = {path.name for path in (output / "figures").iterdir()}
    assert {"bleu_by_length.svg", "alignment_1.svg"} <= figures


def test_a_model_trained_before_is_not_trained_again(output):
    trained_here, *before = [model.hardware for model in read(output).models]
    assert before == ["not recorded"] * 3 and trained_here != "not recorded"
    assert len((output / "rnnsearch-30" / "training.jsonl").read_text().splitlines()) == 1


def test_nothing_is_done_twice(output, flags, monkeypatch):
    def never(*arguments):
        raise AssertionError("done twice")

    models = read(output).models
    monkeypatch.setattr("rnnsearch_tf.reproduction.reproduce.train", never)
    monkeypatch.setattr("rnnsearch_tf.reproduction.reproduce.assess", never)
    assert reproduce.run(flags) == 0
    assert read(output).models == models


@pytest.fixture
def evaluated(output, monkeypatch) -> list[tuple[str, DecodingConfig]]:
    """Names and searches of models, as they are evaluated: given their results."""
    results = {model.name: model for model in read(output).models}
    evaluated: list[tuple[str, DecodingConfig]] = []

    def assess(name: str, path: Path, config: Config, *_: object) -> ModelResults:
        evaluated.append((name, config.decoding))
        return results[name]

    monkeypatch.setattr("rnnsearch_tf.reproduction.reproduce.assess", assess)
    return evaluated


def test_what_changes_results_makes_the_model_be_evaluated_again(
    output, flags, tmp_path, monkeypatch, evaluated
):
    # As of a text with long targets, whose translations may be longer than --max_length_ratio=1.5.
    monkeypatch.setattr("rnnsearch_tf.data.training_data._LONG_TARGET", 1.0)
    copy = tmp_path / "copy"
    shutil.copytree(output, copy)
    changed = [*flags, f"--output={copy}", "--models=rnnsearch-50", "--min_length_ratio=1.4"]
    before = (copy / "rnnsearch-50" / "training.jsonl").read_bytes()
    for _ in range(2):  # the second time it is done already
        assert reproduce.run(changed) == 0
        [(name, search)] = evaluated
        assert (name, search.beam_size, search.min_length_ratio) == ("RNNsearch-50", 2, 1.4)
        assert 3 < search.max_length_ratio < 4
    assert (copy / "rnnsearch-50" / "training.jsonl").read_bytes() == before
    (model,) = read(copy).models
    assert model == read(output).models[3]
    keys = [
        json.loads((path / "results/rnnsearch-50.json").read_text())["key"]
        for path in (copy, output)
    ]
    assert keys[0] != keys[1]


def test_other_code_evaluates_again(output, flags, tmp_path, monkeypatch, evaluated):
    copy = tmp_path / "copy"
    shutil.copytree(output, copy)
    models = read(output).models
    monkeypatch.setattr("rnnsearch_tf.reproduction.reproduce.code_fingerprint", lambda: "other")
    for _ in range(2):  # the second time it is done already
        assert reproduce.run([*flags, f"--output={copy}"]) == 0
        assert [name for name, _ in evaluated] == [model.name for model in models]
    assert read(copy).models == models


def test_other_systems_are_scored_anew_by_each_run(output, flags, tmp_path, evaluated):
    models = read(output).models
    assert models[1].translations != models[1].translations_without_unk
    content = "".join(f"{line}\n" for line in models[1].translations_without_unk)
    (tmp_path / "copy").write_text(content, "utf-8")
    data = Path(flags[0].partition("=")[2])
    systems = [f"--system=Moses:{data / 'test.fr'}", f"--system=copy:{tmp_path / 'copy'}"]
    assert reproduce.run([*flags, *systems]) == 0
    report = read(output)
    moses, copy = report.systems
    assert report.models == models and evaluated == []
    assert (moses.name, moses.all["bleu"].score) == ("Moses", pytest.approx(100))
    assert moses.no_unknown is not None and models[1].no_unknown is not None
    assert moses.no_unknown.sentences == models[1].no_unknown.sentences
    assert list(moses.p_values) == ["all", "no_unknown"]
    for p_values in moses.p_values.values():
        assert p_values == {model.name: pytest.approx(1 / 1001) for model in models}
    assert (copy.all, copy.no_unknown) == (models[1].all_without_unk, models[1].no_unknown)
    assert copy.p_values["all"]["RNNsearch-30"] != 1
    assert copy.p_values["no_unknown"]["RNNsearch-30"] == 1
    assert " ".join(systems) in (output / "report.md").read_text("utf-8")
    assert reproduce.run(flags) == 0
    assert read(output).systems == []


def test_a_stopped_training_ends_the_reproduction(flags, tmp_path, monkeypatch):
    monkeypatch.setattr(training, "train", lambda *_: signal.SIGTERM)
    assert reproduce.run([*flags, f"--output={tmp_path}"]) == 128 + signal.SIGTERM
    assert not (tmp_path / "report.md").exists()


def test_a_longer_training_leaves_no_lexicon_of_earlier_weights(
    output, flags, tmp_path, monkeypatch
):
    copy = shutil.copytree(output, tmp_path / "copy")
    lexicon = copy / "rnnsearch-50" / "lexicon.tsv"
    assert lexicon.exists()
    monkeypatch.setattr("rnnsearch_tf.reproduction.reproduce.train", lambda *_: signal.SIGTERM)
    longer = [*flags, f"--output={copy}", "--models=rnnsearch-50", "--epochs=2"]
    assert reproduce.run(longer) == 128 + signal.SIGTERM
    assert not lexicon.exists()


def test_other_settings_and_texts_are_refused_before_a_model_is_trained(
    output, flags, tmp_path, capsys, monkeypatch
):
    copy = shutil.copytree(output, tmp_path / "copy")
    shutil.rmtree(copy / "rnnencdec-30")  # it would be trained first
    monkeypatch.setattr("rnnsearch_tf.reproduction.reproduce.train", None)
    for changed, said in (
        ("--hidden_size=13", "hidden_size is 11, not 13"),
        ("--train=valid", "the training text differs"),
        ("--valid=train", "the validation set differs"),
    ):
        assert reproduce.run([*flags, f"--output={copy}", changed]) == 1
        assert said in capsys.readouterr().err


def test_bad_input_is_one_line(flags, tmp_path, capsys):
    (tmp_path / "short").write_text("Un.\n")
    short = f"{tmp_path / 'short'}"
    for status, changed, said in (
        (1, ["--system=Moses:none"], "--system none: No such file"),
        (1, [f"--system=Moses:{short}"], f"short has 1 lines, the source has {TESTED}"),
        (2, [f"--system={short}"], "short: must be NAME:FILE"),
        (2, [f"--system=RNNsearch-50:{short}"], "with a name of its own"),
        (2, [f"--system=Moses:{short}"] * 2, "there are two systems named Moses"),
        (1, [f"--data={tmp_path}"], "train.en: no such file, nor with .gz"),
        (1, ["--test=nothing"], "nothing.en: no such file"),
        (2, ["--models=rnnsearch-40"], "--models rnnsearch-40: choose from"),
        (2, ["--preset_size=huge"], "--preset_size 'huge': choose one of"),
        (2, ["--subwords=300"], "--subwords needs --tokenizer=sentencepiece"),
        (2, ["--tokenizer=sentencepiece"], "--source_vocabulary_size counts words; use"),
        (2, ["--letter_noise=0.1"], "--letter_noise needs --tokenizer=sentencepiece"),
        (2, ["--source_language=xx"], "--source_language 'xx': the Moses tokenizer has rules for"),
    ):
        capsys.readouterr()
        assert reproduce.run([*flags, f"--output={tmp_path / 'out'}", *changed]) == status
        (line,) = capsys.readouterr().err.splitlines()
        assert said in line
        assert not (tmp_path / "out").exists()


def test_subwords_of_any_language(corpus, tmp_path, monkeypatch):
    for stem in ("train", "valid"):
        shutil.copy(corpus / f"{stem}.fr", tmp_path / f"{stem}.en")
        shutil.copy(corpus / f"{stem}.fr", tmp_path / f"{stem}.sw")
    given = []
    monkeypatch.setattr(
        "rnnsearch_tf.reproduction.reproduce.reproduce", lambda *arguments: given.extend(arguments)
    )
    assert reproduce.run([
        f"--data={tmp_path}", "--test=valid", "--target_language=sw", "--tokenizer=sentencepiece",
        "--subwords=300", "--joint_subwords", "--subword_sampling=0.3",
    ]) == 0  # fmt: skip
    configs, texts, *_ = given
    assert list(configs) == list(MODELS)
    for config in configs.values():
        assert (config.tokenizer, config.subwords, config.joint_subwords) == (
            "sentencepiece", 300, True,
        )  # fmt: skip
        assert config.training.subword_sampling == 0.3
    assert texts.described["test"] == "valid, 20 pairs en–sw"


def test_the_sample_is_of_all_the_text_and_the_same_every_time():
    text = ParallelText([str(i) for i in range(100)], [f"-{i}" for i in range(100)])
    sample = random_pairs(text, 7, 1)
    assert sample == random_pairs(text, 7, 1)
    assert len(set(sample.source)) == 7
    assert sample.target == [f"-{i}" for i in sample.source]
    assert max(map(int, sample.source)) > 50


def test_the_machines_of_a_training_run_are_named_in_their_order(tmp_path):
    (tmp_path / "model").mkdir()
    machines: Any = ({}, {"hardware": "a GPU"}, {"hardware": "a CPU"}, {"hardware": "a CPU"})
    records = [{"updates": n, **machine} for n, machine in enumerate(machines)]
    ModelDirectory(tmp_path / "model").write_log(records)
    assert trained_by(tmp_path / "model") == {
        "hardware": "not recorded, then a GPU, then a CPU", "software": "not recorded",
    }  # fmt: skip
