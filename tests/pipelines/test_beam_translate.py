"""Translation of shards on Apache Beam: Translator's results, in order, whatever happens."""

import gzip
import json
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from beam_processes import job_service, kill, start

pytest.importorskip("apache_beam", reason="apache_beam is not installed: make test-beam")

from apache_beam.io.tfrecordio import _TFRecordUtil as TFRecord

from rnnsearch_tf.data.lines import MAX_LINE_BYTES
from rnnsearch_tf.errors import InputError
from rnnsearch_tf.inference import exported
from rnnsearch_tf.inference.translator import Translator
from rnnsearch_tf.pipelines import jobs, shards, translation
from rnnsearch_tf.scripts import beam_translate
from rnnsearch_tf.synthetic.grammar import generate

BAD = b"The man \xff eats.\n\nThe man will eat.\r\n" + b"the " * 501
WORKERS = ["--direct_num_workers=2", "--direct_running_mode=multi_processing"]


@pytest.fixture(scope="module")
def text(tmp_path_factory) -> Path:
    """Shards of all kinds; that named empty has no lines, and one has three chunks."""
    folder = tmp_path_factory.mktemp("text")
    sentences = [pair.source for pair in generate(2_300, 7, 1, 9)]
    lines = "".join(f"{line}\n" for line in sentences).encode()
    (folder / "a.en").write_bytes(lines)
    (folder / "below").mkdir()
    (folder / "below" / "b.en.gz").write_bytes(gzip.compress(b"\xef\xbb\xbf" + lines[-2_000:]))
    (folder / "bad.en").write_bytes(BAD)
    (folder / "empty.en").touch()
    with open(folder / "c.tfrecord-00000-of-00001", "wb") as file:
        for line in ("It is cold.", "", "The old man eats."):
            TFRecord.write_record(file, line.encode())
    return folder


@pytest.fixture(scope="module")
def expected(text, export_dir) -> dict[str, list[str]]:
    """The translations of each file, by `Translator`."""
    translator = Translator.load(export_dir)
    lines = {path: [*shards.read_lines(str(path))] for path in files(text)}
    return {
        str(path.relative_to(text)): [result.text for result in translator.translate(own)]
        for path, own in lines.items()
    }


def test_workers_do_not_mix_models(model_dir, tmp_path):
    model = shutil.copytree(model_dir, tmp_path / "model")
    handler = translation.TranslatorHandler(str(model), 1, False, False)
    assert handler.load_model().config.source_language == "en"
    with open(model / "config.json", "a", encoding="utf-8") as file:
        file.write("\n")
    with pytest.raises(InputError, match="model: it has changed since the job began"):
        handler.load_model()


def files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def flags(export_dir: Path, text: Path, output: Path, *others: str) -> list[str]:
    return [f"--model_dir={export_dir}", f"--input={text}/**", f"--output={output}", *others]


def translations(output: Path) -> dict[str, list[str]]:
    """The lines of each file of the output; nothing else is in it."""
    return {
        str(path.relative_to(output)): [line.decode() for line in shards.read_lines(str(path))]
        for path in files(output)
    }


def test_shards_are_what_translator_gives(text, expected, export_dir, tmp_path, capsys):
    assert beam_translate.run(flags(export_dir, text, tmp_path / "out")) == 0
    assert translations(tmp_path / "out") == expected
    assert not list((tmp_path / "out").glob(".unfinished*"))
    lines = sum(map(len, expected.values()))
    assert capsys.readouterr().err.splitlines()[-1] == (
        f"5 shards, {lines:,} lines, 2 blank lines, 1 not utf8 lines, 1 truncated lines, "
        "0 lines without translation"
    )


def test_formats_and_scores(text, export_dir, tmp_path):
    """n-best lists, scores and alignments; lines are numbered in their shard."""
    translator = Translator.load(export_dir)
    sources = [*shards.read_lines(str(text / "a.en"))]
    results = translator.translate(sources, n_best=2, return_alignment=True)
    given = [f"--input={text}/a.en", f"--model_dir={export_dir}"]
    listed = [*given, "--n_best=2", "--alignment=pharaoh", f"--output={tmp_path}/n"]
    assert beam_translate.run(listed) == 0
    rows = [line.split(" ||| ") for line in translations(tmp_path / "n")["a.en"]]
    hypotheses = [(i, h) for i, result in enumerate(results) for h in result.hypotheses]
    assert [(int(row[0]), row[1]) for row in rows] == [(i, h.text) for i, h in hypotheses]
    scores = [float(row[2]) for row in rows]
    assert np.allclose(scores, [h.score for _, h in hypotheses], atol=1e-3)
    assert beam_translate.run([*given, "--alignment=json", f"--output={tmp_path}/j"]) == 0
    objects = [json.loads(line) for line in translations(tmp_path / "j")["a.en"]]
    weights = objects[1_500]["hypotheses"][0]["alignment"]
    assert np.allclose(weights, results[1_500].alignment, atol=1e-3)


def test_sentences_of_a_line(export_dir, tmp_path):
    sentences = ["The man will eat.", "It is cold."]
    (tmp_path / "a.en").write_text(" ".join(sentences) + "\n" + " ".join(sentences * 60))
    given = [f"--input={tmp_path}/a.en", f"--model_dir={export_dir}", "--split_sentences"]
    assert beam_translate.run([*given, f"--output={tmp_path}/out"]) == 0
    each = [one.text for one in Translator.load(export_dir).translate(sentences)]
    assert translations(tmp_path / "out")["a.en"] == [" ".join(each), " ".join(each * 60)]


def test_a_line_with_a_sentence_of_too_many_tokens_is_counted(export_dir, monkeypatch):
    counted: dict[str, int] = {}
    monkeypatch.setattr(translation, "count", counted.__setitem__)
    handler = translation.TranslatorHandler(str(export_dir / "1"), 1, False, True)
    longest = b"Gr" + b"r" * 3_000  # in bytes; a token
    lines = [longest + b". He " + b"eats " * 501, longest + b". It is cold.", b"It is cold."]
    handler.run_inference([lines], handler.load_model())
    assert counted == {"truncated_lines": 1}


def test_a_line_with_more_pieces_than_bytes_is_counted(monkeypatch):
    counted: dict[str, int] = {}
    monkeypatch.setattr(translation, "count", counted.__setitem__)
    monkeypatch.setattr(Translator, "translate_windows", lambda *given, **options: [])
    handler = translation.TranslatorHandler("europarl-en-fr", 1, False, False)
    line = ("\u0958" * 84).encode()  # 252 bytes; normalized 504, each of them a piece
    handler.run_inference([[line]], Translator.load("europarl-en-fr"))
    assert counted == {"truncated_lines": 1}


def test_a_model_that_ships(tmp_path):
    (tmp_path / "a.en").write_text("The debate is closed.\n")
    paths = [f"--input={tmp_path}/a.en", f"--output={tmp_path}/out"]
    assert beam_translate.run(["--model_dir=europarl-en-fr", *paths]) == 0
    translated = Translator.load("europarl-en-fr").translate("The debate is closed.").text
    assert translations(tmp_path / "out") == {"a.en": [translated]}


def test_records_with_a_feature(tmp_path):
    from tensorflow.core.example.example_pb2 import Example

    example = Example()
    example.features.feature["text"].bytes_list.value.append(b"It is cold.")
    path = tmp_path / "a.tfrecord.gz"
    shards.write_lines(str(path), [example.SerializeToString()], str(tmp_path / "unfinished"))
    assert list(shards.read_lines(str(path), "text")) == [b"It is cold."]
    with pytest.raises(shards.InputError, match=r"record 1 is not an Example with one string 'x'"):
        list(shards.read_lines(str(path), "x"))


def test_a_record_that_would_fill_the_memory_is_not_read(tmp_path):
    path = tmp_path / "a.tfrecord"
    with open(path, "wb") as file:
        TFRecord.write_record(file, b"a" * (MAX_LINE_BYTES + 1))
    with pytest.raises(shards.InputError, match="a record of more than 16,777,216 bytes"):
        list(shards.read_lines(str(path)))


def test_a_wildcard_matches_nothing_hidden(tmp_path):
    for name in ("a.en", ".DS_Store", "._a.en", "b/c.en", ".git/d.en"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()

    def found(pattern: str) -> list[str]:
        return [path[len(f"{tmp_path}/") :] for path in shards.matching(f"{tmp_path}/{pattern}")]

    assert found("*") == ["a.en"]
    assert found("**") == ["a.en", "b/c.en"]
    assert found(".*.en") == found("._a.en") == ["._a.en"]
    assert found(".git/*") == [".git/d.en"]


@pytest.mark.parametrize("name", ["../../a", "./a", "b//a", r"b\..\a"])
def test_no_name_of_a_bucket_leads_out_of_the_output(monkeypatch, name):
    monkeypatch.setattr(shards, "matching", lambda pattern: [f"gs://text/{name}"])
    with pytest.raises(shards.InputError, match="a name that leads out of its folder"):
        shards.outputs_of("gs://text/**", "/out")


def test_a_folder_of_a_bucket_has_files_though_it_does_not_exist(monkeypatch):
    found = [SimpleNamespace(metadata_list=["gs://bucket/kept/a.en"])]
    monkeypatch.setattr(shards.FileSystems, "exists", lambda path: False)
    monkeypatch.setattr(shards.FileSystems, "match", lambda patterns: found)
    with pytest.raises(InputError, match="gs://bucket/kept has files"):
        shards.check_empty("gs://bucket/kept")


def test_written_again_a_shard_has_the_same_bytes(tmp_path):
    path = tmp_path / "folder" / "a.gz"
    contents = []
    for _ in range(2):
        shards.write_lines(str(path), [b"one", b"two"], str(tmp_path / "unfinished"))
        contents.append(path.read_bytes())
    assert contents[0] == contents[1] and contents[0][4:8] == bytes(4)  # no time
    assert not list((tmp_path / "unfinished").iterdir())


def test_what_a_runner_repeats_changes_nothing(text, expected, export_dir, tmp_path, monkeypatch):
    """Each part of the job is done twice, as by a runner that retries."""
    written = []

    def write_lines(path: str, *given: Any) -> None:
        written.append(path)
        shards.write_lines(path, *given)

    monkeypatch.setattr(translation, "write_lines", write_lines)
    again = "--direct_runner_bundle_repeat=1"
    assert beam_translate.run(flags(export_dir, text, tmp_path / "out", again)) == 0
    assert translations(tmp_path / "out") == expected
    assert sorted(written) == sorted(2 * [*{*written}]) and len(written) == 2 * len(expected)


def test_a_signal_ends_the_job(export_dir, tmp_path, monkeypatch, capfd):
    """It is raised within a transform, and Beam makes another error of it."""
    monkeypatch.setattr(translation, "write_lines", lambda *_: signal.raise_signal(signal.SIGTERM))
    text = tmp_path / "text"
    text.mkdir()
    (text / "a.en").write_text("It is cold.\n")
    assert beam_translate.run(flags(export_dir, text, tmp_path / "out")) == 143
    assert capfd.readouterr().err.splitlines() == ["rnnsearch-beam-translate: ended by SIGTERM"]


# --- several processes ----------------------------------------------------------------------------


@pytest.mark.slow
def test_workers_in_processes_of_their_own(text, expected, export_dir, tmp_path):
    assert beam_translate.run(flags(export_dir, text, tmp_path / "out", *WORKERS)) == 0
    assert translations(tmp_path / "out") == expected


def workers_of(process: subprocess.Popen[bytes]) -> list[int]:
    """The processes of Beam's workers in a group."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        pid = int(path.parent.name)
        try:
            words = path.read_bytes().split(b"\0")
            is_worker = words[1:3] == [b"-m", b"apache_beam.runners.worker.sdk_worker_main"]
            if is_worker and os.getpgid(pid) == process.pid:
                found.append(pid)
        except OSError:  # it has ended
            continue
    return found


def test_other_flags_and_another_model_do_not_resume(export_dir, tmp_path, capsys):
    (tmp_path / "a.en").write_text("It is cold.\n")
    given = flags(export_dir, tmp_path / "a.en", tmp_path / "out")
    given[1] = f"--input={tmp_path}/a.en"
    assert beam_translate.run(given) == 0
    (tmp_path / "b.en").write_text("It is cold.\n")
    resumed = [*given, "--resume", f"--input={tmp_path}/b.en"]
    assert "--n_best was 1, now 2" in fails(capsys, *resumed, "--n_best=2")
    other = fails(capsys, *resumed, "--model_dir=europarl-en-fr")
    assert "the files were made with another model" in other
    again = fails(capsys, *given, "--n_best=2")  # nor do they replace a part
    assert "use another --output, or remove this file and the output" in again
    assert translations(tmp_path / "out").keys() == {"a.en"}
    assert beam_translate.run(resumed) == 0
    assert translations(tmp_path / "out").keys() == {"a.en", "b.en"}


@pytest.mark.slow
def test_a_killed_worker_loses_and_doubles_nothing(text, expected, export_dir, tmp_path):
    """The job fails, each file is whole or not there, and --resume makes those that are not."""
    output, copies = tmp_path / "out", tmp_path / "text"
    shutil.copytree(text, copies)
    given = flags(export_dir, copies, output)
    with open(tmp_path / "log", "wb") as log:
        process = start("rnnsearch_tf", "beam-translate", *given, *WORKERS, stderr=log)
        try:
            deadline = time.monotonic() + 300
            # Beam says it when a worker has begun to translate.
            while b"Resource module is not" not in (tmp_path / "log").read_bytes():
                assert process.poll() is None and time.monotonic() < deadline
                time.sleep(0.1)
            os.kill(workers_of(process)[-1], signal.SIGKILL)
            assert process.wait(300) == 1
        finally:
            kill(process)
    last = (tmp_path / "log").read_text().splitlines()[-1]
    assert last.startswith("rnnsearch-beam-translate: a worker died")
    assert not list(output.glob(".unfinished*"))
    done = translations(output)
    assert done.items() <= expected.items()
    shutil.copytree(text, copies, dirs_exist_ok=True)
    (output / "empty.en").parent.mkdir(exist_ok=True)
    (output / "empty.en").write_text("kept\n")
    assert beam_translate.run([*given, "--resume"]) == 0
    assert translations(output) == {**expected, "empty.en": ["kept"]}


@pytest.mark.slow
def test_through_the_portable_job_service(text, expected, export_dir, tmp_path):
    """The way in which Flink and Spark run it: job server, artifacts and workers over gRPC."""
    with job_service() as options:
        assert beam_translate.run(flags(export_dir, text, tmp_path / "out", *options)) == 0
    assert translations(tmp_path / "out") == expected


# --- bad input ------------------------------------------------------------------------------------


def fails(capsys, *given: str) -> str:
    capsys.readouterr()
    assert beam_translate.run([*given]) in (1, 2)
    return capsys.readouterr().err.splitlines()[-1]


def test_bad_input_is_one_line(text, export_dir, tmp_path, capsys):
    def said(source: str, *others: str) -> str:
        paths = f"--input={source}", f"--output={tmp_path / 'out'}"
        return fails(capsys, f"--model_dir={export_dir}", *paths, *others)

    assert "none*: no such file" in said(f"{tmp_path}/none*")
    assert "--n_best 4: must be from 1 to the beam size, 3" in said(f"{text}/a.en", "--n_best=4")
    assert "a pattern is given twice" in said(f"{text}/a.en", f"--input={text}/a.en")
    same = fails(capsys, *flags(export_dir, text, text))
    assert "reads files there" in same
    assert "reads files there" in fails(capsys, *flags(export_dir, text, text / "out"))
    (tmp_path / "link").symlink_to(text)
    assert "reads files there" in fails(capsys, *flags(export_dir, text, tmp_path / "link"))
    assert "argument --direct_num_workers: invalid int value: 'x'" in said(
        f"{text}/a.en", "--direct_num_workers=x"
    )
    assert "--runner: Unexpected pipeline runner: x" in said(f"{text}/a.en", "--runner=x")
    bad = said(f"{text}/a.en", f"--output={tmp_path}/out[1]")
    assert "out[1]: must not contain *, ? or [" in bad
    assert "--feature needs input in TFRecords" in said(f"{text}/a.en", "--feature=x")
    (tmp_path / "cut.gz").write_bytes((text / "below" / "b.en.gz").read_bytes()[:-20])
    assert "cut.gz: not a complete gzip file (Compressed file ended" in said(f"{tmp_path}/cut.gz")
    (tmp_path / "utf16").write_bytes("été\n".encode("utf-16"))
    assert "utf16: binary, compressed, or UTF-16; text must be UTF-8" in said(f"{tmp_path}/utf16")
    shutil.copy(text / "a.en", tmp_path / "a.en")
    both = said(f"{tmp_path}/a.en", f"--input={text}/a.en")
    assert f"a.en have one output, {tmp_path / 'out'}/a.en" in both
    assert not (tmp_path / "out").exists()
    assert "unexpected argument 'x'" in said(f"{text}/a.en", "x")


def test_a_lost_or_doubled_chunk_is_no_shard(tmp_path):
    for places in ([0], [0, 0, 2], [0, 2, 3]):
        parts: dict[str, list[Any]] = {
            "sizes": [4],
            "chunks": [(place, 2, "x\ny") for place in places],
        }
        with pytest.raises(RuntimeError):
            translation._write((str(tmp_path / "a"), parts), str(tmp_path))
    assert not list(tmp_path.iterdir())


def test_options_of_a_job_server_are_passed_on(capsys):
    assert jobs.unknown_options(["--runner=x", "--of_a_server=4", "--no_use_public_ips"]) == [
        "of_a_server"
    ]


def test_the_options_in_the_documentation_are_beams():
    page = (Path(__file__).parents[2] / "docs" / "beam.md").read_text("utf-8")
    section = page.partition("## Runners")[2].partition("\n## ")[0]
    options = re.findall(r"--\w+=[^\s`]+", section)
    # A placeholder, and the worker pool's.
    assert {*jobs.unknown_options(options)} == {"NAME", "service_port"}


def test_a_model_elsewhere_is_copied(export_dir, tmp_path):
    """Beam's own filesystem in place of a remote one."""

    def copied(folder: Path, name: str) -> set[str]:
        translation._copy(str(folder), tmp_path / name)
        found = {str(path.relative_to(tmp_path / name)): path for path in files(tmp_path / name)}
        assert all(path.read_bytes() == (folder / n).read_bytes() for n, path in found.items())
        return set(found)

    versions = shutil.copytree(export_dir, tmp_path / "versions")
    whole = {str(path.relative_to(versions)) for path in files(versions)}
    shutil.copytree(versions / "1", versions / "0")
    version = translation.find_version(f"{versions}/")
    assert Path(version) == versions / "1"
    assert {f"1/{name}" for name in copied(versions / "1", "export")} == whole
    assert exported.find_version(tmp_path / "export") == tmp_path / "export"
    model = tmp_path / "model"
    for name in (
        "config.json",
        "best.weights.h5",
        "checkpoints/ckpt-1.index",
        "tensorboard/events",
    ):
        (model / name).parent.mkdir(parents=True, exist_ok=True)
        (model / name).touch()
    shutil.copytree(versions / "1", model / "1")
    assert translation.find_version(f"{model}/") == str(model)
    assert copied(model, "directory") == {"config.json", "best.weights.h5", *whole}
    before = translation.model_digests(str(model))
    assert before.keys() == {"config.json", "best.weights.h5"}
    (model / "best.weights.h5").write_bytes(b"other")
    assert translation.model_digests(str(model)) != before
    assert translation.model_digests(version).keys() == {"model.json"}
