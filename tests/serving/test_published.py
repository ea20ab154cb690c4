"""A published folder is used like its model directory, and its card says what it is."""

import dataclasses
import errno
import json
import os
import shutil

import numpy as np
import pytest
import yaml

from rnnsearch_tf.errors import InputError
from rnnsearch_tf.inference.translator import Translator
from rnnsearch_tf.models import model_directory, weights_file
from rnnsearch_tf.models.model_directory import DEFAULT, ModelDirectory
from rnnsearch_tf.models.translation_model import TranslationModel
from rnnsearch_tf.models.weights_file import write_weights
from rnnsearch_tf.scripts import publish, translate
from rnnsearch_tf.serving.model_card import evaluation_of
from rnnsearch_tf.serving.published import _languages
from rnnsearch_tf.serving.published import publish as write_published
from rnnsearch_tf.training.initial_model import InitialModel

TEXT = "The man will eat."
SCORES = {
    "sentences": 1234,
    "bleu": {"score": 12.345, "signature": "nrefs:1|case:mixed", "interval": 0.5},
    "by_length": [],
}


@pytest.fixture(scope="module")
def flags(model_dir, tmp_path_factory) -> list[str]:
    scores = tmp_path_factory.mktemp("scores") / "newstest.json"
    scores.write_text(json.dumps(SCORES))
    about = ["--license=cc-by-4.0", "--data=Made-up sentences.", f"--evaluation={scores}"]
    return [f"--model_dir={model_dir}", *about]


@pytest.fixture(scope="module")
def published(flags, tmp_path_factory):
    path = tmp_path_factory.mktemp("hub") / "tiny-en-fr"
    assert publish.run([*flags, f"--output={path}", "--beam_size=2"]) == 0
    return path


def test_weights_are_those_of_the_model_rounded(published, model_dir):
    copy, original = (ModelDirectory(path).load_model() for path in (published, model_dir))
    for ours, theirs in zip(copy.get_weights(), original.get_weights(), strict=True):
        assert ours.dtype == np.float32
        np.testing.assert_array_equal(ours, theirs.astype(np.float16).astype(np.float32))
    sizes = [path.stat().st_size for path in (published / "best.weights.h5",
                                              model_dir / "best.weights.h5")]  # fmt: skip
    assert sizes[0] < sizes[1] - 1.9 * sum(weight.size for weight in copy.get_weights())


def test_a_folder_has_no_state_of_the_training(published):
    names = {path.name for path in published.iterdir()}
    assert names == {
        "README.md", "config.json", "source.vocab", "target.vocab", "best.weights.h5",
        "training.jsonl",
    }  # fmt: skip


def test_it_is_loaded_and_a_training_can_begin_from_it(published, model_dir, monkeypatch):
    assert Translator.load(published).config.decoding.beam_size == 2
    monkeypatch.setattr(model_directory, "SHIPPED", published.parent)
    ours, original = (InitialModel(path) for path in (published.name, model_dir))
    assert ours.directory.check_weights() != original.directory.check_weights()
    words = [one.directory.load_vocabularies()[0].tokens for one in (ours, original)]
    assert words[0] == words[1]


def test_the_card_has_metadata_and_scores(published):
    _, metadata, text = (published / "README.md").read_text("utf-8").split("---\n", 2)
    values = yaml.safe_load(metadata)
    assert values["language"] == ["en", "fr"]
    assert values["license"] == "cc-by-4.0"
    assert values["pipeline_tag"] == "translation"
    assert "# tiny-en-fr\n" in text
    assert "Made-up sentences." in text
    assert "| newstest | 1,234 | BLEU | 12.35 ± 0.50 | nrefs:1, case:mixed |" in text
    [best] = [line for line in text.splitlines() if line.startswith("| validation set |  | BLEU")]
    records = ModelDirectory(published).read_log()
    assert f"{max(record['bleu'] for record in records):.2f}" in best
    epoch = records[-1]["epoch"]
    told = "1 epoch" if epoch == 1 else f"{epoch:g} epochs"
    assert f"| training | {told}, sentences of up to" in text
    assert "- attention\n" in metadata and "n' = " in text


@pytest.mark.parametrize(
    ("codes", "metadata"),
    [
        (("en", "fr"), {"language": ["en", "fr"]}),
        (("no", "pt_BR"), {"language": ["no", "pt"], "language_bcp47": ["no", "pt-BR"]}),
    ],
)
def test_languages_are_codes_and_tags(codes, metadata):
    assert yaml.safe_load("\n".join(_languages(*codes))) == metadata


def test_a_model_without_attention(model_dir, tmp_path, capsys):
    """Its card promises no alignments."""
    trained, other = ModelDirectory(model_dir), ModelDirectory(tmp_path / "encdec")
    config = trained.load_config()
    model = dataclasses.replace(config.model, architecture="rnnencdec")
    config = dataclasses.replace(config, model=model)
    other.create(config, *trained.load_vocabularies())
    write_weights(other.weights_path(), TranslationModel(model), other.load_config())
    write_published(other.path, tmp_path / "published", "mit", "Text.")
    with pytest.raises(InputError, match="weights_dtype"):
        write_published(other.path, tmp_path / "half", "mit", "Text.", weights_dtype="bfloat16")
    card = (tmp_path / "published" / "README.md").read_text("utf-8")
    assert "RNNencdec" in card and "- encoder-decoder\n" in card
    assert "attention\n" not in card and "n' = " not in card
    (tmp_path / "input").write_text(TEXT + "\n")
    flags = [f"--model_dir={tmp_path / 'published'}", f"--input={tmp_path / 'input'}"]
    capsys.readouterr()
    assert translate.run([*flags, "--alignment=pharaoh"]) == 0
    told = capsys.readouterr()
    assert told.out.count("\n") == 1
    assert "rnnencdec has no attention: there are no links" in told.err


def test_a_model_is_found_by_its_name(published, monkeypatch, capsys, tmp_path):
    """Without a folder of that name; it is what rnnsearch-translate has by default."""
    monkeypatch.setattr(model_directory, "SHIPPED", tmp_path / "shipped")
    (tmp_path / "shipped").mkdir()
    (tmp_path / "shipped" / DEFAULT).symlink_to(published)
    monkeypatch.chdir(tmp_path)
    assert repr(Translator.load(DEFAULT)).endswith(f"from {DEFAULT})")
    (tmp_path / "input").write_text(TEXT + "\n")
    assert translate.run(["--input=input"]) == 0
    told = capsys.readouterr()
    assert told.out.strip()
    assert f"using the pretrained model {DEFAULT}, en to fr" in told.err
    (tmp_path / DEFAULT).mkdir()
    assert translate.run([f"--model_dir={DEFAULT}", "--input=input"]) == 1
    assert "no config.json" in capsys.readouterr().err


def test_an_existing_folder_is_left_alone(flags, published, capsys):
    before = (published / "README.md").read_bytes()
    assert publish.run([*flags, f"--output={published}"]) == 1
    assert "exists; nothing was overwritten" in capsys.readouterr().err
    assert (published / "README.md").read_bytes() == before


def test_a_link_is_not_published(flags, model_dir, tmp_path, capsys):
    """It may lead to any file of this machine."""
    copy = shutil.copytree(model_dir, tmp_path / "model")
    (copy / "lexicon.tsv").symlink_to(copy / "source.vocab")
    flags = [f"--model_dir={copy}", *flags[1:]]
    assert publish.run([*flags, f"--output={tmp_path / 'out'}"]) == 1
    assert "lexicon.tsv: a symbolic link" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_a_log_adds_no_heading_and_no_tag_to_the_card(flags, model_dir, tmp_path):
    copy = ModelDirectory(shutil.copytree(model_dir, tmp_path / "model"))
    records = copy.read_log()
    for record in records:
        record["bleu_signature"] = "nrefs:1\n\n# Install\n\n<img src=x>"
    copy.write_log(records)
    flags = [f"--model_dir={copy.path}", *flags[1:]]
    assert publish.run([*flags, f"--output={tmp_path / 'out'}"]) == 0
    card = (tmp_path / "out" / "README.md").read_text("utf-8")
    assert "nrefs:1  # Install  &lt;img src=x&gt; |" in card


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ("--model_dir={export}", "is an export"),
        ("--model_dir={model},{model}", "not an ensemble"),
        ("--evaluation={model}/config.json", "config.json: sentences"),
        ("--evaluation={model}/source.vocab", "source.vocab: not JSON"),
        ("--license=mit: or # later", "license 'mit: or # later': expected a name"),
    ],
)
def test_bad_input_is_told_in_a_line(
    flags, changed, message, model_dir, export_dir, tmp_path, capsys
):
    output = tmp_path / "model"
    changed = changed.format(export=export_dir, model=model_dir)
    flags = flags[changed.startswith("--model_dir") :]
    assert publish.run([*flags, changed, f"--output={output}"]) in (1, 2)
    assert message in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_weights_too_large_for_float16_are_refused(flags, model_dir, tmp_path, capsys):
    """And float32 has them."""
    from rnnsearch_tf.models.weights_file import write_weights

    large = shutil.copytree(model_dir, tmp_path / "large")
    directory = ModelDirectory(large)
    model = directory.load_model()
    model.readout.b.assign(model.readout.b + 1e6)
    write_weights(directory.weights_path(), model, directory.load_config())
    flags = [f"--model_dir={large}", *flags[1:]]
    assert publish.run([*flags, f"--output={tmp_path / 'half'}"]) == 1
    assert "a value too large for float16" in capsys.readouterr().err
    assert publish.run([*flags, f"--output={tmp_path / 'full'}", "--weights_dtype=float32"]) == 0
    copy = ModelDirectory(tmp_path / "full").load_model()
    np.testing.assert_array_equal(copy.readout.b, model.readout.b)


def test_what_is_published_can_be_published_again(published, tmp_path):
    write_published(published, tmp_path / "again", "mit", "Text.")
    copies = [(path / "best.weights.h5").read_bytes() for path in (published, tmp_path / "again")]
    assert copies[0] == copies[1]


def test_scores_of_another_model_or_search_are_refused(model_dir, tmp_path):
    path, weights = tmp_path / "test.json", ModelDirectory(model_dir).check_weights()
    for made_by, said in (
        ({"weights_sha256": ["another"]}, "test.json: these are not scores of the model"),
        ({"weights_sha256": [weights, weights]}, "not scores of the model with these weights"),
        ({"weights_sha256": None, "decoding": None}, "not scores of the model"),
        ({"decoding": {"beam_size": 3}}, "scores with beam_size 3, and not "),
        ({"decoding": 3}, "test.json: decoding"),
    ):
        path.write_text(json.dumps({**SCORES, "weights_sha256": [weights], **made_by}))
        with pytest.raises(InputError, match=said):
            write_published(model_dir, tmp_path / "hub", "mit", "Text.", path)
    assert not (tmp_path / "hub").exists()


def test_a_full_disk_does_not_crash_hdf5(model_dir, tmp_path, monkeypatch):
    def full(path, size):
        assert size > 2 * ModelDirectory(model_dir).load_model().count_params()
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    monkeypatch.setattr(weights_file, "check_space", full)
    with pytest.raises(InputError, match="hub: cannot be written: "):
        write_published(model_dir, tmp_path / "hub", "mit", "Text.")
    assert list(tmp_path.iterdir()) == []


def test_weights_that_change_meanwhile_are_not_published(model_dir, tmp_path, monkeypatch):
    digests = iter(["before", "after"])
    monkeypatch.setattr(ModelDirectory, "check_weights", lambda *_: next(digests))
    with pytest.raises(InputError, match="the weights have just changed; publish again"):
        write_published(model_dir, tmp_path / "hub", "mit", "Text.")
    assert not (tmp_path / "hub").exists()


def test_the_last_weights_have_their_own_scores(model_dir, tmp_path):
    path = shutil.copytree(model_dir, tmp_path / "model")
    records = ModelDirectory(path).read_log()
    ModelDirectory(path).write_log([{**records[0], "bleu": 27.0}, {**records[0], "bleu": 25.0}])
    write_published(path, tmp_path / "hub", "mit", "Made-up sentences.", weights="last")
    assert [record["bleu"] for record in ModelDirectory(tmp_path / "hub").read_log()] == [25.0]


def test_last_weights_that_were_not_evaluated_have_no_scores(model_dir, tmp_path):
    path = ModelDirectory(shutil.copytree(model_dir, tmp_path / "model"))
    path.save_weights(path.load_model(), "last", updates=10**6)
    write_published(path.path, tmp_path / "hub", "mit", "Made-up sentences.", weights="last")
    assert ModelDirectory(tmp_path / "hub").read_log() == []
    assert "| validation set" not in (tmp_path / "hub" / "README.md").read_text("utf-8")
    assert path.read_log() and evaluation_of(path, "best") in path.read_log()
