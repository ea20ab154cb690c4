"""An export that is not the one written is refused: by this package, and by a model server."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tfserving.c_session import CSession
from tfserving.status import StatusError

from rnnsearch_tf.digests import sealed
from rnnsearch_tf.errors import InputError
from rnnsearch_tf.inference.exported import Export
from rnnsearch_tf.inference.loading import load_export

pytestmark = pytest.mark.serving


@pytest.fixture
def version(export_dir, tmp_path) -> Path:
    return shutil.copytree(export_dir / "1", tmp_path / "1")


def exchange(assets: Path) -> None:
    (assets / "source.vocab").rename(assets / "kept")
    (assets / "target.vocab").rename(assets / "source.vocab")
    (assets / "kept").rename(assets / "target.vocab")


def edit(assets: Path, change: Callable[[list[bytes]], list[bytes]]) -> None:
    path = assets / "target.vocab"
    words = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(change(words)))


DAMAGES = {
    "exchanged": exchange,
    "reversed": lambda assets: edit(assets, lambda words: words[:3] + words[:2:-1]),
    "cut": lambda assets: edit(assets, lambda words: words[:-1]),
    "longer": lambda assets: edit(assets, lambda words: [*words, b"more\n"]),
    "one byte": lambda assets: edit(assets, lambda words: [*words[:-1], b"other\n"]),
}


def test_a_model_server_refuses_another_vocabulary(version):
    """It compares one number for each file."""
    DAMAGES["reversed"](version / "assets")
    with pytest.raises(StatusError, match="not the vocabulary this model was made with"):
        CSession(version)


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_another_vocabulary_is_told(version, damage):
    damage(version / "assets")
    with pytest.raises(InputError, match=r"\.vocab: not the vocabulary this model was made w"):
        Export(version).load_vocabularies()
    with pytest.raises(InputError, match=r"\.vocab: missing, or not the file"):
        load_export(Export(version))


def edit_card(version: Path, change: Callable[[dict], object], seal: bool = False) -> None:
    path = version / "model.json"
    card = json.loads(path.read_text("utf-8"))
    del card["sha256"]
    change(card)
    path.write_text(json.dumps(sealed(card) if seal else card), "utf-8")


def test_a_card_as_of_0_1_0_tells_of_the_vocabularies(version):
    edit_card(version, lambda card: card.pop("files"))
    export = Export(version)
    export.load_vocabularies()
    DAMAGES["reversed"](version / "assets")
    with pytest.raises(InputError, match=r"target\.vocab: not the vocabulary"):
        export.load_vocabularies()


def test_a_card_that_was_changed_by_hand(version):
    path = version / "model.json"
    path.write_text(path.read_text("utf-8").replace('"beam_size": 3', '"beam_size": 4'), "utf-8")
    with pytest.raises(InputError, match=r"model\.json: .*to accept the change, delete that field"):
        Export(version)
    edit_card(version, lambda card: None)
    assert Export(version).config.decoding.beam_size == 4


@pytest.mark.parametrize("value", [5, [], None, {"assets/source.vocab": 5}])
def test_a_card_that_is_none(version, value):
    edit_card(version, lambda card: card.update(files=value), seal=True)
    with pytest.raises(
        InputError, match=r"1(/assets/source\.vocab)?: (not a complete|missing, or)"
    ):
        load_export(Export(version))
    (version / "model.json").write_text(json.dumps(value), "utf-8")
    with pytest.raises(InputError, match=r"model\.json: not of an export"):
        Export(version)


def test_a_name_that_tensorflow_takes_for_a_pattern(version, tmp_path):
    edit_card(version, lambda card: card.pop("files"))
    (version / "saved_model.pb").unlink()
    with pytest.raises(InputError, match="1: not a complete export"):
        load_export(Export(version))
    renamed = version.rename(tmp_path / "a[1]")
    with pytest.raises(InputError, match=r"a\[1\]: TensorFlow takes .* for a pattern"):
        load_export(Export(renamed))


def test_every_file_is_compared(version):
    names = json.loads((version / "model.json").read_text("utf-8"))["files"]
    present = {p.relative_to(version).as_posix() for p in version.rglob("*") if p.is_file()}
    assert set(names) == present - {"model.json"}
    assert len(names) >= 6
    random = np.random.default_rng(1)
    for name in names:
        path = version / name
        whole = path.read_bytes()
        damaged = bytearray(whole)
        damaged[random.integers(len(whole))] ^= 1 << random.integers(8)
        for content in (damaged, whole[: len(whole) // 2], None):
            path.unlink() if content is None else path.write_bytes(content)
            with pytest.raises(InputError, match=f"1/{name}: "):
                load_export(Export(version))
        path.write_bytes(whole)
