"""WMT '14 from TensorFlow Datasets, without its text and without a network."""

from pathlib import Path
from unittest import mock

import pytest
import scripted_train_step
import tensorflow as tf
import tensorflow_datasets as tfds

from rnnsearch_tf.data import wmt14
from rnnsearch_tf.data.wmt14 import SUBSETS, Wmt14
from rnnsearch_tf.errors import InputError
from rnnsearch_tf.scripts import train

ENGLISH = ["A dog sleeps.", "Dogs don't sleep.", "A café."] * 4
FRENCH = ["Un chien dort.", "Les chiens ne dorment pas.", "Un café."] * 4


def as_dataset(self, *arguments, **options):
    """Stand in for `builder.as_dataset`, without the real text."""
    return tf.data.Dataset.from_tensor_slices({"en": ENGLISH, "fr": FRENCH})


def joined(corpus: Wmt14) -> tuple[list[str], list[str]]:
    pairs = [pair for block in corpus.blocks() for pair in zip(*block, strict=True)]
    return [source for source, _ in pairs], [target for _, target in pairs]


def test_subsets_are_those_of_tensorflow_datasets():
    builder = tfds.builder("wmt14_translate/fr-en", try_gcs=False)
    assert sorted(builder.subsets["train"]) == sorted(SUBSETS)


def test_pairs_go_from_english_to_french(tmp_path):
    with tfds.testing.mock_data(as_dataset_fn=as_dataset):
        assert joined(Wmt14(data_dir=tmp_path)) == (ENGLISH, FRENCH)
        backwards = Wmt14(data_dir=tmp_path, source_language="fr", target_language="en")
        assert joined(backwards) == (FRENCH, ENGLISH)


def test_blocks_are_not_larger_than_asked_for(monkeypatch):
    monkeypatch.setattr(wmt14, "BLOCK_PAIRS", 5)
    with tfds.testing.mock_data(as_dataset_fn=as_dataset):
        assert [len(block.source) for block in Wmt14().blocks()] == [5, 5, 2]


def test_fingerprints_tell_subsets_and_directions_apart(tmp_path):
    fingerprints = [
        Wmt14().fingerprint(),
        Wmt14(["commoncrawl"]).fingerprint(),
        Wmt14(["europarl_v7", "commoncrawl"]).fingerprint(),
        Wmt14(source_language="fr", target_language="en").fingerprint(),
    ]
    assert len(set(fingerprints)) == len(fingerprints)
    reordered = Wmt14(["commoncrawl", "europarl_v7", "commoncrawl"], tmp_path)
    assert reordered.fingerprint() == fingerprints[2]
    assert Wmt14(tuple(reversed(SUBSETS))).fingerprint() == fingerprints[0]


def test_what_wmt14_does_not_have():
    with pytest.raises(InputError, match="no subset europarl: choose from europarl_v7,"):
        Wmt14(["europarl"])
    with pytest.raises(InputError, match="English and French, not en and de"):
        Wmt14(target_language="de")


def test_a_failed_download_is_one_line(tmp_path):
    def refuse(self, url):
        raise ConnectionError("no route to host\nmore about it")

    with (
        mock.patch.object(tfds.download.DownloadManager, "download_and_extract", refuse),
        pytest.raises(InputError) as caught,
    ):
        next(Wmt14(["commoncrawl"], tmp_path).blocks())
    assert str(caught.value).startswith(f"WMT '14 could not be downloaded to {tmp_path}/")
    assert str(caught.value).endswith(": no route to host")


def archive(folder: Path) -> Path:
    """Two subsets as they lie in WMT's archives; the sentences name their files."""
    for name in ("training/europarl-v7", "commoncrawl"):
        for language in ("fr", "en"):
            path = folder / f"{name}.fr-en.{language}"
            path.parent.mkdir(exist_ok=True)
            path.write_text(f"{path.name} 1\n{path.name} 2\n", "utf-8")
    return folder


def test_a_choice_of_subsets_is_made_of_their_files_alone(tmp_path):
    files = archive(tmp_path)
    asked = []

    def unpacked(self, url):
        if not isinstance(url, str):
            return type(url)()
        asked.append(url)
        return files

    with mock.patch.object(tfds.download.DownloadManager, "download_and_extract", unpacked):
        both = joined(Wmt14(["europarl_v7", "commoncrawl"], tmp_path / "data"))
        one = joined(Wmt14(["commoncrawl"], tmp_path / "data"))
        asked.clear()
        assert joined(Wmt14(["commoncrawl"], tmp_path / "data")) == one
    assert asked == []  # the second time, what was made the first time is read
    assert sorted(zip(*one, strict=True)) == [
        (f"commoncrawl.fr-en.en {i}", f"commoncrawl.fr-en.fr {i}") for i in (1, 2)
    ]
    assert {source.split(".")[0] for source in both[0]} == {"commoncrawl", "europarl-v7"}
    assert len(both[0]) == 4
    assert [s.replace(".en ", ".fr ") for s in both[0]] == both[1]


def run(capsys, *flags: str) -> tuple[int, str]:
    status = train.run(list(flags))
    return status, capsys.readouterr().err


@pytest.mark.slow
def test_one_flag_trains_on_it(capsys, tmp_path, monkeypatch):
    scripted_train_step.use(monkeypatch)
    tiny = ["--embedding_size=3", "--hidden_size=5", "--attention_size=2", "--maxout_size=2"]
    flags = ["--preset=rnnsearch-tiny", *tiny, "--epochs=1", f"--model_dir={tmp_path / 'model'}"]
    with tfds.testing.mock_data(as_dataset_fn=as_dataset):
        status, said = run(capsys, "--wmt14=all", *flags)
    assert status == 0, said
    assert "12 of 12 pairs are used" in said
    words = (tmp_path / "model" / "source.vocab").read_text("utf-8").split("\n")
    assert "dog" in words
    assert "chien" not in words


def test_flags_that_exclude_one_another(capsys, train_flags, tmp_path):
    model = f"--model_dir={tmp_path / 'model'}"
    status, said = run(capsys, "--wmt14=all", *train_flags, model)
    assert (status, said.strip()) == (
        2, "rnnsearch-train: --wmt14 cannot be combined with --train_source and --train_target",
    )  # fmt: skip
    status, said = run(capsys, "--wmt14=commoncrawl,paracrawl", model)
    assert status == 2
    assert "no subset paracrawl: choose from" in said
