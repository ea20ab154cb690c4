"""The files for TensorFlow Serving, which `rnnsearch-export --kit` writes."""

import os
import shutil
from pathlib import Path

import pytest

from rnnsearch_tf.errors import InputError
from rnnsearch_tf.scripts import export
from rnnsearch_tf.serving import kit

EXPORT = Path(__file__).parents[2] / "export"


@pytest.mark.parametrize("installed", [True, False])
def test_the_kit_is_the_folder_export(tmp_path, monkeypatch, capsys, installed):
    """From the repository, and from where a wheel has it."""
    if installed:
        kit.write_kit(tmp_path / "package" / "kit")
        monkeypatch.setattr(kit, "_PLACES", (tmp_path / "package" / "kit",))
    assert export.run([f"--kit={tmp_path / 'new'}"]) == 0
    assert capsys.readouterr().out == f"{tmp_path / 'new' / 'README.md'}\n"
    written = {path.relative_to(tmp_path / "new") for path in (tmp_path / "new").rglob("*")}
    there = {path.relative_to(EXPORT) for path in EXPORT.rglob("*")}
    assert written == {
        path for path in there if path.suffix not in (".py", ".pyc") and path.name[0] not in "._"
    }
    assert (tmp_path / "new" / "pin_images.sh").stat().st_mode & 0o100
    readme = (tmp_path / "new" / "README.md").read_text("utf-8")
    images = "](https://raw.githubusercontent.com/rnnsearch-tf/rnnsearch_tf/main/docs/"
    assert f"{images}page.png)" in readme
    assert "](../" not in readme and "/blob/main/docs/decoding.md#unknown-words)" in readme


def test_nothing_is_overwritten(tmp_path, capsys):
    (tmp_path / "mine").touch()
    assert export.run([f"--kit={tmp_path}"]) == 1
    assert "is not empty, and nothing was overwritten" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]
    with pytest.raises(InputError, match="is not empty"):  # what came after the command's check
        kit.write_kit(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_the_servers_read_it_whatever_the_umask(tmp_path):
    before = os.umask(0o077)
    try:
        kit.write_kit(tmp_path / "new")
    finally:
        os.umask(before)
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o755


def test_what_a_macs_finder_leaves_is_nothing(tmp_path):
    (tmp_path / ".DS_Store").touch()
    kit.write_kit(tmp_path)
    assert (tmp_path / "README.md").exists()


def test_a_package_that_is_read_only_and_its_owners(tmp_path):
    kit.write_kit(tmp_path / "package")
    parts = [tmp_path / "package", *(tmp_path / "package").rglob("*")]
    for part in parts:
        part.chmod(0o500 if part.stat().st_mode & 0o100 else 0o400)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kit, "_PLACES", (tmp_path / "package",))
        kit.write_kit(tmp_path / "new")
    for part in parts:
        part.chmod(0o755)  # pytest removes them
    modes = {
        str(part.relative_to(tmp_path / "new")): part.stat().st_mode & 0o777
        for part in (tmp_path / "new").rglob("*")
    }
    assert (modes["README.md"], modes["page"], modes["pin_images.sh"]) == (0o644, 0o755, 0o755)
    assert set(modes.values()) == {0o644, 0o755}


def test_a_full_disk_leaves_nothing_and_is_one_line(tmp_path, capsys, monkeypatch):
    def copy(source: object, target: object, **options: object) -> None:
        raise shutil.Error([(source, target, "[Errno 28] No space left on device")] * 50)

    monkeypatch.setattr(shutil, "copytree", copy)
    assert export.run([f"--kit={tmp_path / 'new'}"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line == f"rnnsearch-export: {tmp_path / 'new'}: [Errno 28] No space left on device"
    assert list((tmp_path / "new").iterdir()) == []


def test_an_empty_folder_may_be_there(tmp_path, monkeypatch):
    (tmp_path / "new").mkdir()
    (tmp_path / "link").symlink_to("new")
    monkeypatch.chdir(tmp_path / "new")
    assert export.run(["--kit=."]) == 0
    assert (tmp_path / "new" / "docker-compose.yml").is_file()
    shutil.rmtree(tmp_path / "new")
    (tmp_path / "new").mkdir()
    assert export.run([f"--kit={tmp_path / 'link'}"]) == 0
    assert (tmp_path / "link").is_symlink() and (tmp_path / "new" / "docker-compose.yml").is_file()
    assert not list((tmp_path / "new").glob(".*"))


def test_the_model_is_still_asked_for(tmp_path, capsys):
    assert export.run([f"--export_dir={tmp_path}"]) == 2
    assert "required: --model_dir" in capsys.readouterr().err
    assert export.run([f"--export_dir={tmp_path}", f"--kit={tmp_path / 'kit'}"]) == 2
    assert "--model_dir and --export_dir must be given together" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_an_export_within_the_kit_is_refused_before_it_is_made(tmp_path, model_dir, capsys):
    flags = [f"--model_dir={model_dir}", f"--kit={tmp_path / 'kit'}"]
    for folder in ("kit", "kit/exports"):
        assert export.run([*flags, f"--export_dir={tmp_path / folder}"]) == 2
        assert "--export_dir is inside --kit" in capsys.readouterr().err
    assert export.run([flags[0], f"--export_dir={tmp_path / 'en,fr'}"]) == 2
    assert "must not contain a comma" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
