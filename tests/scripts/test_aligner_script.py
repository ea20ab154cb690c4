"""rnnsearch-aligner, and rnnsearch-align with what it has trained."""

import errno
import json
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rnnsearch_tf.aligner.hmm_aligner import HmmAligner
from rnnsearch_tf.alignment.word_aligner import WordAligner
from rnnsearch_tf.data.parallel_corpus import ParallelText
from rnnsearch_tf.errors import InputError
from rnnsearch_tf.inference.translator import Translator
from rnnsearch_tf.scripts import align, aligner, export, lexicon, score, translate
from rnnsearch_tf.synthetic.grammar import generate


@pytest.fixture(scope="module")
def model(copied_model: Callable[[], Path], corpus: Path) -> Path:
    """A copy of a model directory, with an aligner."""
    copy = copied_model()
    assert aligner.run([f"--model_dir={copy}", *pairs(corpus, "train")]) == 0
    assert (copy / "aligner.npz").exists()
    return copy


def pairs(corpus: Path, name: str) -> list[str]:
    return [f"--source={corpus / name}.en", f"--target={corpus / name}.fr"]


def test_align_has_the_posteriors_of_both_directions(capsys, model, corpus):
    flags = [f"--model_dir={model}", *pairs(corpus, "valid")]
    assert align.run([*flags, "--format=json"]) == 0
    for line, pair in zip(
        capsys.readouterr().out.splitlines(), generate(20, 2, 1, 12), strict=True
    ):
        read = json.loads(line)
        assert read["source_tokens"] == [*pair.source_tokens, "</s>"]
        alpha, beta = np.array(read["alignment"]), np.array(read["reverse_alignment"])
        assert alpha.shape == beta.T.shape
        np.testing.assert_allclose(alpha.sum(axis=1), 1, atol=1e-5)
        geometric = np.sqrt(alpha * beta.T)[:-1, :-1]
        assert read["links"] == [
            list(x) for x in sorted(zip(*np.where(geometric.T >= 0.35), strict=True))
        ]
    assert align.run([*flags, "--threshold=0.99"]) == 0
    few = capsys.readouterr().out.split()
    assert align.run([*flags, "--threshold=0.01"]) == 0
    assert set(few) < set(capsys.readouterr().out.split())


SENTENCES = [(" ".join(p.source_tokens), " ".join(p.target_tokens)) for p in generate(5, 3, 1, 12)]


@pytest.fixture(scope="module")
def exported(model) -> Path:
    """An export of the model, with no word of what aligns."""
    folder = model.parent / "exports"
    flags = [f"--model_dir={model}", f"--export_dir={folder}", "--beam_size=1"]
    assert export.run(flags) == 0
    return folder


def test_the_translator_and_an_export_align_by_it(model, exported):
    source, target = map(list, zip(*SENTENCES, strict=True))
    translator = Translator.load(model)
    by_attention = Translator.load(model, alignment="attention")
    assert by_attention.aligner is None and translator.aligner is not None
    expected = WordAligner(translator).align(ParallelText(source, target))
    assert json.loads((exported / "1/model.json").read_text())["alignment"] == "aligner"
    of_export = Translator.load(exported, alignment="aligner")
    others = by_attention.align(source, target)
    for aligned in (translator.align(source, target), of_export.align(source, target)):
        for found, pair, other in zip(aligned, expected, others, strict=True):
            assert found.target_tokens == other.target_tokens
            np.testing.assert_allclose(found.weights, pair.weights[0], atol=1e-5)
            assert abs(found.weights - other.weights).max() > 0.1
    results = of_export.translate(source, return_alignment=True)
    plain = Translator.load(model, of_export.config.decoding, alignment="attention")
    for result, same in zip(results, plain.translate(source), strict=True):
        assert (result.text, result.tokens) == (same.text, same.tokens)
        assert result.score == pytest.approx(same.score, abs=1e-4)
        expected = translator.align(result.source, result).weights
        np.testing.assert_allclose(result.alignment, expected, atol=1e-5)
    with pytest.raises(InputError, match="an export always uses its own alignment, aligner"):
        Translator.load(exported, alignment="attention")


def test_attention_aligns_on_request_and_with_a_reverse_model(capsys, model, model_dir, corpus):
    def links(*flags: str) -> str:
        assert align.run([*pairs(corpus, "valid"), *flags]) == 0
        return capsys.readouterr().out

    expected = links(f"--model_dir={model_dir}")
    assert links(f"--model_dir={model}", "--alignment=attention") == expected
    assert links(f"--model_dir={model}") != expected
    flags = [f"--model_dir={model}", *pairs(corpus, "valid"), f"--reverse_model_dir={model}"]
    assert align.run(flags) == 1  # an aligner has no reverse model: attention was to align
    assert "the reverse model is en-fr, not fr-en" in capsys.readouterr().err


def test_links_of_an_export_are_of_one_direction(capsys, model, exported, corpus):
    flags = [f"--model_dir={exported}", *pairs(corpus, "valid")]
    assert align.run([*flags, "--format=json", "--alignment=aligner"]) == 0
    source, target = ((corpus / f"valid.{x}").read_text().splitlines() for x in ("en", "fr"))
    for line, expected in zip(
        capsys.readouterr().out.splitlines(), Translator.load(model).align(source, target),
        strict=True,
    ):  # fmt: skip
        read = json.loads(line)
        assert "reverse_alignment" not in read
        np.testing.assert_allclose(read["alignment"], expected.weights, atol=1e-5)
    assert align.run([*flags, "--alignment=attention"]) == 1
    assert "an export always uses its own alignment, aligner" in capsys.readouterr().err


def test_links_of_training_pairs_without_a_model(capsys, corpus, tmp_path):
    links = tmp_path / "train.links"
    assert aligner.run([*pairs(corpus, "train"), f"--links={links}"]) == 0
    found = [set(line.split()) for line in links.read_text().splitlines()]
    gold = [set(line.split()) for line in (corpus / "train.links").read_text().splitlines()]
    assert len(found) == len(gold) == 300
    agreed = sum(len(a & b) for a, b in zip(found, gold, strict=True))
    assert agreed / sum(map(len, found)) > 0.9
    assert agreed / sum(map(len, gold)) > 0.7


@pytest.mark.parametrize(
    ("script", "flags", "status", "message"),
    [
        (aligner, [], 2, "--model_dir, --links, or both are needed"),
        (aligner, ["--links=x", "--target_language=ja"], 2, "--target_language"),
        (aligner, ["--links={valid}.en"], 2, "another flag names this file too"),
        (aligner, ["--links=x", "--tokenizer=sentencepiece"], 2, "choose one of"),
        (
            aligner,
            ["--model_dir={model}", "--tokenizer=moses"],
            2,
            "cannot be combined with --model_dir",
        ),
        (
            aligner,
            ["--model_dir=europarl-en-fr"],
            2,
            "europarl-en-fr: the pretrained model is read-only",
        ),
        (
            lexicon,
            ["--model_dir=europarl-en-fr"],
            2,
            "europarl-en-fr: the pretrained model is read-only",
        ),
        (align, ["--alignment=aligner", "--model_dir={model}"], 1, "rnnsearch-aligner --model_dir"),
        (
            align,
            ["--alignment=aligner", "--model_dir={model}", "--average_alignments"],
            2,
            "covers both directions",
        ),
    ],
)
def test_errors(capsys, model_dir, corpus, script, flags, status, message):
    values = {"model": str(model_dir), "valid": str(corpus / "valid")}
    flags = [flag.format(**values) for flag in flags]
    before = (corpus / "valid.en").read_bytes()
    assert script.run([*pairs(corpus, "valid"), *flags]) == status
    assert message in capsys.readouterr().err
    assert (corpus / "valid.en").read_bytes() == before


def test_all_pairs_are_linked_however_many_it_is_trained_on(corpus, tmp_path, monkeypatch):
    def train(pairs: Iterable[Any]) -> HmmAligner:
        drawn.extend(pairs)
        return trained(drawn)

    drawn: list[Any] = []
    trained = HmmAligner.train
    monkeypatch.setattr(HmmAligner, "train", train)
    links = tmp_path / "links"
    flags = [f"--links={links}", "--pairs=5", "--source_language=de"]  # sacremoses' abbreviations
    assert aligner.run([*pairs(corpus, "valid"), *flags]) == 0
    assert len(links.read_text().splitlines()) == 20
    text = [line.split() for line in (corpus / "valid.en").read_text("utf-8").splitlines()]
    assert len(drawn) == 5
    assert any(source[:2] not in [line[:2] for line in text[:5]] for source, _ in drawn)


def test_text_that_changes_before_it_is_linked_is_told(capsys, corpus, tmp_path, monkeypatch):
    def train(pairs: Iterable[Any]) -> HmmAligner:
        learned = trained(pairs)
        (tmp_path / "text.fr").write_text("Il rit .\n" * 20, "utf-8")
        return learned

    trained = HmmAligner.train
    monkeypatch.setattr(HmmAligner, "train", train)
    for side in ("en", "fr"):
        shutil.copy(corpus / f"valid.{side}", tmp_path / f"text.{side}")
    assert aligner.run([*pairs(tmp_path, "text"), f"--links={tmp_path / 'links'}"]) == 1
    assert "the text was changed while it was read" in capsys.readouterr().err
    assert not (tmp_path / "links").exists()


def test_an_aligner_that_may_not_be_read_is_told(monkeypatch, model):
    def refuse(path: Path) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(np, "load", refuse)
    with pytest.raises(InputError, match=r"aligner\.npz: Permission denied"):
        HmmAligner.load(model / "aligner.npz")


def test_commands_that_align_nothing_do_not_read_it(capsys, monkeypatch, model, corpus):
    def load(paths: list[str], decoding: Any, weights: str, alignment: Any) -> Translator:
        assert alignment == "attention"
        return loaded(paths, decoding, weights, alignment)

    loaded = Translator.load
    monkeypatch.setattr(Translator, "load", load)
    flags = [f"--model_dir={model}", f"--source={corpus / 'valid.en'}"]
    assert score.run([*flags, f"--target={corpus / 'valid.fr'}"]) == 0
    translation = [f"--model_dir={model}", f"--input={corpus / 'valid.en'}", "--beam_size=1"]
    assert translate.run(translation) == 0
    assert capsys.readouterr().out


def test_the_aligner_sees_the_words_that_the_model_reads(model):
    translator = Translator.load(model, alignment="aligner").with_options(correct_spelling=True)
    known = translator.vocabularies[0]
    word = next(token for token in known.tokens[3:] if len(token) > 5 and token.isalpha())
    wrong = word[:2] + word[3] + word[2] + word[4:]
    assert wrong not in known
    [given], _, read = translator.words_of_pairs([f"The {wrong} ."], ["x"])
    assert given.words[1] == wrong
    assert read == [["The", word, "."]]
