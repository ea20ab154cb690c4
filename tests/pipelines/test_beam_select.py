"""Selection from a sharded pool on Apache Beam: scores and choice are rnnsearch-select's."""

import gzip
import itertools
import random
from pathlib import Path

import numpy as np
import pytest
from beam_processes import job_service

pytest.importorskip("apache_beam", reason="apache_beam is not installed: make test-beam")

from rnnsearch_tf.data.lines import read_lines
from rnnsearch_tf.data.selection.moore_lewis import best_pairs
from rnnsearch_tf.pipelines import selection
from rnnsearch_tf.scripts import beam_select, select
from rnnsearch_tf.synthetic.grammar import generate

Text = list[tuple[str, str]]
SIDES = "source", "target"


def write(folder: Path, name: str, pairs: Text) -> None:
    """Write pairs to `folder`/source/`name` and `folder`/target/`name`."""
    for side, own in zip(SIDES, zip(*pairs, strict=True) if pairs else ([], []), strict=True):
        content = "".join(f"{line}\n" for line in own).encode()
        path = folder / side / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)


def flags(folder: Path, keep: int) -> list[str]:
    """Flags of both commands."""
    files = [f"--in_domain_{side}={folder / 'in' / side / 'text'}" for side in SIDES]
    return [*files, f"--keep={keep}"]


def selected_locally(folder: Path, keep: int, *options: str) -> list[list[str]]:
    """The kept sources, the kept targets and all scores, by rnnsearch-select."""
    out = [folder / f"local.{name}" for name in (*SIDES, "scores")]
    files = [f"--pool_{side}={folder / 'whole' / side / 'text'}" for side in SIDES]
    outputs = [f"--output_source={out[0]}", f"--output_target={out[1]}", f"--scores={out[2]}"]
    assert select.run([*flags(folder, keep), *files, *outputs, *options]) == 0
    return [read_lines(path) for path in out]


def selected_on_beam(folder: Path, keep: int, *options: str) -> list[list[str]]:
    """The same by rnnsearch-beam-select; each shard of the pool has its files, and no others."""
    out = folder / "-".join([f"beam{keep}", *(option.strip("-") for option in options[:1])])
    files = [f"--pool_{side}={folder}/pool/{side}/**" for side in SIDES]
    given = [*flags(folder, keep), *files, f"--output={out}", "--scores", *options]
    assert beam_select.run(given) == 0
    shards = sorted((folder / "pool" / "source").iterdir())
    names = [path.name for path in shards]
    written = sorted(str(path.relative_to(out)) for path in out.rglob("*") if path.is_file())
    assert written == [f"{part}/{name}" for part in ("scores", *SIDES) for name in names]
    return [
        [line for name in names for line in read_lines(out / part / name)]
        for part in (*SIDES, "scores")
    ]


def prepared(folder: Path, in_domain: Text, pool: Text, *cuts: int) -> Path:
    """Write the texts, and the pool in shards too, an empty one among them."""
    write(folder / "in", "text", in_domain)
    write(folder / "whole", "text", pool)
    for number, (start, end) in enumerate(itertools.pairwise((0, *cuts, len(pool)))):
        write(folder / "pool", f"{number:02}{'.gz' if number % 2 else ''}", pool[start:end])
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A pool with pairs that are equal, and some that are blank."""
    general = [(pair.source, pair.target) for pair in generate(600, 3, 4, 14)]
    in_domain = [(pair.source, pair.target) for pair in generate(80, 9, 1, 5)]
    pool = [*general, *in_domain, *in_domain[:40], ("", "Oui."), ("Yes.", " ")]
    random.Random(1).shuffle(pool)
    return prepared(tmp_path_factory.mktemp("selection"), in_domain, pool, 300, 300, 305)


@pytest.mark.parametrize("keep", [1, 60, 700, 5_000])
def test_the_selection_is_the_local_commands(folder, keep, capsys):
    expected = selected_locally(folder, keep)
    assert selected_on_beam(folder, keep) == expected
    kept = len(expected[0])
    said = f"kept {kept} of 722 pairs; 2 have a blank side"
    assert capsys.readouterr().err.splitlines()[-1] == said


@pytest.mark.parametrize("keep", [60, 5_000])
def test_of_equal_pairs_the_pools_first_is_kept(folder, keep):
    expected = selected_locally(folder, keep, "--drop_duplicates")
    assert selected_on_beam(folder, keep, "--drop_duplicates") == expected
    assert len({*zip(*expected[:2], strict=True)}) == len(expected[0])


def test_a_pool_is_not_overwritten(folder, capsys):
    files = [f"--pool_{side}={folder}/pool/{side}/*" for side in SIDES]
    assert beam_select.run([*flags(folder, 5), *files, f"--output={folder}/pool"]) == 2
    assert "00 is a file of the pool" in capsys.readouterr().err


def test_files_of_another_selection_are_not_mixed(folder, capsys, tmp_path):
    files = [f"--pool_{side}={folder}/pool/{side}/*" for side in SIDES]
    older = tmp_path / "out" / "target" / "99"
    older.parent.mkdir(parents=True)
    older.write_text("Oui.\n")
    assert beam_select.run([*flags(folder, 5), *files, f"--output={tmp_path / 'out'}"]) == 1
    assert "out/target has files: remove it, or use another --output" in capsys.readouterr().err
    assert [path for path in (tmp_path / "out").rglob("*") if path.is_file()] == [older]


@pytest.mark.slow
def test_real_text_in_two_processes(real_text, tmp_path):
    europarl = real_text / "europarl"

    def pairs(name: str, count: int) -> Text:
        sides = [
            read_lines(europarl / f"{name}.{language}.gz")[:count] for language in ("en", "fr")
        ]
        return list(zip(*sides, strict=True))

    prepared(tmp_path, pairs("valid", 500), pairs("train50k_len50", 9_500), 9_000)
    expected = selected_locally(tmp_path, 2_000)
    workers = "--direct_num_workers=2", "--direct_running_mode=multi_processing"
    assert selected_on_beam(tmp_path, 2_000, *workers) == expected


@pytest.mark.slow
def test_through_the_portable_job_service(folder):
    """The way in which Flink and Spark run it: job server, artifacts and workers over gRPC."""
    drop = "--drop_duplicates"
    with job_service() as options:
        selected = selected_on_beam(folder, 61, drop, *options)
    assert selected == selected_locally(folder, 61, drop)


@pytest.mark.parametrize("keep", [1, 7, 50, 299, 300, 301, 10_000])
def test_the_cut_is_exact_whatever_the_scores(keep):
    """Histograms of digits find the pairs that sorting all scores finds; ties go to the first."""
    generator = np.random.default_rng(keep)
    scores = np.round(generator.normal(size=300), 1)
    scores[::37] = np.inf
    scores[1::41] = generator.normal(size=8) * 1e-300
    scores[2:4] = 0.0, -0.0
    parts = np.split(scores, [0, 120, 121])
    shards = list(zip(range(len(parts)), parts, parts, strict=True))
    chosen = selection.Selection("", "", keep, ("en", "fr"), order=3, seed=1)
    cut = np.array([0, keep], np.uint64)
    for shift in selection._SHIFTS:
        histograms = [selection._histogram(shard, shift, cut) for shard in shards]
        cut = selection._narrowed(selection._total(histograms), cut)
    ties = (selection._ties(shard, cut) for shard in shards)
    earlier = dict(selection._earlier(chosen, ties))
    kept = np.concatenate([selection._is_kept(shard, cut, earlier) for shard in shards])
    assert np.flatnonzero(kept).tolist() == best_pairs(scores, keep).tolist()


def fails(capsys, folder: Path, *changed: str) -> str:
    capsys.readouterr()
    files = [f"--pool_{side}={folder}/pool/{side}/*" for side in SIDES]
    given = [*flags(folder, 5), *files, f"--output={folder}/out", *changed]
    assert beam_select.run(given) in (1, 2)
    assert not (folder / "out" / "source").exists()
    return capsys.readouterr().err.splitlines()[-1]


def test_bad_input_is_one_line(tmp_path, capsys):
    pairs = [("a b", "x y"), ("a b", "x y")]
    folder = prepared(tmp_path, pairs, pairs, 1)
    (tmp_path / "pool" / "target" / "00").write_text("x y\nz\n")
    assert "pool/target/00 have different numbers of lines" in fails(capsys, folder)
    (tmp_path / "pool" / "target" / "02").touch()
    assert "the pool has 2 files of sources and 3 of targets" in fails(capsys, folder)
    assert "no such file" in fails(capsys, folder, "--pool_source=none")
    same = fails(capsys, folder, f"--pool_target={folder}/pool/source/*")
    assert "names the same files" in same
    assert "--keep 0: must be at least 1" in fails(capsys, folder, "--keep=0")


@pytest.mark.skipif(not Path("/proc").exists(), reason="there is no /proc")
def test_an_output_that_cannot_be_written_is_one_line(tmp_path, capsys):
    pairs = [("a b", "x y"), ("a b", "x y")]
    said = fails(capsys, prepared(tmp_path, pairs, pairs, 1), "--output=/proc/kept")
    assert said == "rnnsearch-beam-select: /proc/kept/source/00: No such file or directory"


def test_a_pair_that_is_not_utf8_is_never_chosen(folder, tmp_path):
    pool = [("Yes.", "Oui."), ("No.", "Non.")] * 5
    prepared(tmp_path, pool, pool)
    path = tmp_path / "pool" / "source" / "00"
    path.write_bytes(b"\xff" + path.read_bytes())
    kept, _, scores = selected_on_beam(tmp_path, 10)
    assert len(kept) == 9 and scores[0] == "inf"


def test_a_block_that_is_missing_or_doubled_is_an_error():
    block = 0, np.zeros(3)
    assert selection._joined(0, {"sizes": [3], "blocks": [block]})[1].tolist() == [0.0] * 3
    for blocks in ([], [block, block]):
        with pytest.raises(RuntimeError):
            selection._joined(0, {"sizes": [3], "blocks": blocks})
