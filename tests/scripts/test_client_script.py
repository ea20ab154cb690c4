"""rnnsearch-client: lines in, lines out; and all of the client against a served export."""

import dataclasses
import gzip
import io
import json
import subprocess
import sys

import pytest
from scripted_model import (
    LINES,
    STATUSES,
    Unlucky,
    both,
    expected,
    over_http,
    score_of,
    translated,
)

from rnnsearch_tf.client import Client, Translation
from rnnsearch_tf.scripts import client as script

pytestmark = pytest.mark.serving

PATIENT = "--deadline=300"


def fails(capsys, *arguments, status=1):
    """Run the script, which must fail with one line, after one on what is kept; return the last."""
    capsys.readouterr()
    assert script.run([PATIENT, *map(str, arguments)]) == status
    *kept, line = capsys.readouterr().err.splitlines()
    assert not kept or (len(kept) == 1 and kept[0].endswith("--resume continues there"))
    assert line.startswith("rnnsearch-client: ")
    return line


def write_lines(path):
    path.write_text("".join(f"{line}\n" for line in LINES))


@both
def test_lines_in_lines_out(serve, tmp_path):
    lines = [*LINES, "", "Élodie 😀", "  "]
    (tmp_path / "in").write_bytes("\r\n".join(lines).encode("utf-8-sig"))
    (tmp_path / "in.gz").write_bytes(gzip.compress("".join(f"{x}\n" for x in lines).encode()))
    for name in ("in", "in.gz"):
        with serve() as served:
            flags = [f"--server={served.url}", "--batch_size=3", "--concurrency=2", PATIENT]
            flags += [f"--input={tmp_path / name}", f"--output={tmp_path / 'out'}"]
            assert script.run(flags) == 0
        assert max(len(request.inputs["text"]) for request in served.requests) == 3
        output = (tmp_path / "out").read_text("utf-8")
        assert output == "".join(translated(line) + "\n" for line in lines)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "in.gz", "out"]


@both
def test_sentences_of_a_line_are_sent_one_by_one(serve, capsys, tmp_path):
    lines = ["Mr. Smith waits. It is cold!", "", "One sentence", "  Yes? No. "]
    sentences = ["Mr. Smith waits.", "It is cold!", "", "One sentence", "Yes?", "No."]
    (tmp_path / "in").write_text("\n".join(lines))
    with serve() as served:
        flags = [f"--server={served.url}", f"--input={tmp_path / 'in'}", PATIENT]
        flags += ["--split_sentences", "--batch_size=2", "--concurrency=2"]
        assert script.run(flags) == 0
        written = capsys.readouterr().out
        with Client(served.url) as client:
            results = list(client.translate(lines, split_sentences=True))
            first = next(client.translate(lines, split_sentences=True))
        assert "needs --signature=serving_default" in fails(
            capsys, "--split_sentences", "--signature=nbest", status=2
        )
    described, *calls = served.requests
    assert described.signature == "describe"
    sent = [text for call in calls[:3] for text in call.inputs["text"]]
    assert sorted(sent) == sorted(sentences)
    assert written == "".join(translated(line.strip()) + "\n" for line in lines)
    assert [result.source for result in results] == lines
    assert first == results[0] and first.text == translated(lines[0])
    assert first.score == sum(map(score_of, sentences[:2]))
    assert first.hypotheses[0].normalized_score is None and first.unknown is None


def test_standard_streams_and_bytes_that_are_not_utf8(capsys, monkeypatch):
    content = b"good\n\xe9t\xe9\n\nlast \xc3"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))
    with over_http() as served:
        assert script.run([f"--server={served.url}", PATIENT]) == 0
    printed = capsys.readouterr()
    assert printed.out == "GOOD\n�T�\n\nLAST �\n"
    assert printed.err.splitlines() == [
        "rnnsearch-client: standard input: line 2 is not UTF-8: invalid bytes are read as U+FFFD, "
        "here and in later lines"
    ]


def test_each_line_is_answered_before_the_next_is_read():
    with over_http() as served:
        command = [
            sys.executable,
            "-m",
            "rnnsearch_tf",
            "client",
            f"--server={served.url}",
            PATIENT,
        ]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            for line in (b"one\n", b"two\n", b"three\n"):
                process.stdin.write(line)
                process.stdin.flush()
                assert process.stdout.readline() == line.upper()
            process.stdin.close()
            assert process.wait() == 0


def test_a_translation_of_two_lines_is_printed_as_one(capsys, tmp_path):
    (tmp_path / "in").write_text("a\n")
    with over_http(lambda request: {"translation": ["un\ndeux"], "score": [0.0]}) as served:
        assert script.run([f"--server={served.url}", f"--input={tmp_path / 'in'}"]) == 0
    assert capsys.readouterr().out == "un deux\n"


@both
def test_n_best_lists_as_json(serve, capsys, tmp_path):
    def behavior(request):
        texts = request.inputs["text"]
        return {
            "translations": [[f"«{text}»", ""] for text in texts],
            "scores": [[-0.1, -3.4028235e38] for _ in texts],
            "normalized_scores": [[-0.05, -3.4028235e38] for _ in texts],
        }

    (tmp_path / "in").write_text("a\nb\nc\n")
    with serve(behavior) as served:
        flags = [f"--server={served.url}", "--signature=nbest", "--batch_size=2", PATIENT]
        assert script.run([*flags, f"--input={tmp_path / 'in'}"]) == 0
    lines = capsys.readouterr().out.splitlines()
    for line, text in zip(lines, "abc", strict=True):
        hypothesis = {
            "translation": f"«{text}»",
            "score": pytest.approx(-0.1),
            "normalized_score": pytest.approx(-0.05),
            "target_tokens": [],
            "word_scores": [],
            "alignment": None,
        }
        source: dict[str, object] = {"source": text, "source_tokens": [], "unknown": None}
        assert json.loads(line) == {**source, "hypotheses": [hypothesis]}


def test_what_is_not_finite_is_null_and_told(capsys, tmp_path):
    lowest = -3.4028235e38
    answer: dict[str, list] = {
        "translation": ["un", ""],
        "score": [-0.5, lowest],
        "source_tokens": [["</s>"]] * 2,
        "target_tokens": [["</s>"]] * 2,
        "alignment": [[[1.0]], [[0.0]]],
    }
    (tmp_path / "in").write_text("one\ntwo\n")
    with over_http(lambda request: answer) as served:
        flags = [f"--server={served.url}", "--signature=align", f"--input={tmp_path / 'in'}"]
        assert script.run([*flags, PATIENT]) == 1
    said = capsys.readouterr()
    best = [json.loads(line)["hypotheses"][0] for line in said.out.splitlines()]
    assert [one["score"] for one in best] == [-0.5, None]
    assert [one["alignment"] for one in best] == [[[1.0]], None]
    assert said.err == "rnnsearch-client: line 2: no finite score\n"


@both
def test_scores(serve, capsys, tmp_path):
    def behavior(request):
        assert request.inputs == {"text": ["a", "b"], "translation": ["c", "d"]}
        return {"score": [-0.1, -12.0]}

    (tmp_path / "en").write_text("a\nb\n")
    (tmp_path / "fr").write_text("c\nd\n")
    files = [f"--input={tmp_path / 'en'}", f"--translation={tmp_path / 'fr'}"]
    with serve(behavior) as served:
        flags = [f"--server={served.url}", "--signature=score", PATIENT]
        assert script.run([*flags, *files]) == 0
        assert capsys.readouterr().out == "-0.100000\n-12.000000\n"
        (tmp_path / "fr").write_text("c\nd\ne\n")
        line = fails(capsys, *flags, *files)
    assert line.endswith("--input has 2 lines, --translation has more")


def test_usage(capsys, tmp_path):
    assert "must be given together" in fails(capsys, "--signature=score", status=2)
    assert "must be given together" in fails(capsys, f"--translation={__file__}", status=2)
    assert "are the same" in fails(capsys, "--signature=score", "--translation=-", status=2)
    assert "which shows all versions" in fails(capsys, "--status", "--label=stable", status=2)
    assert "certificates are for https" in fails(capsys, f"--ca_certificate={__file__}", status=2)


def test_input_that_cannot_be_read(capsys, tmp_path):
    (tmp_path / "half.gz").write_bytes(gzip.compress(b"text\n" * 1000)[:-10])
    with over_http() as served:
        server = f"--server={served.url}"
        line = fails(capsys, server, f"--input={tmp_path / 'none'}")
        assert line.endswith("none: No such file or directory")
        assert "half.gz: not a complete gzip file" in fails(
            capsys, server, f"--input={tmp_path / 'half.gz'}", f"--output={tmp_path / 'out'}"
        )
    assert not (tmp_path / "out").exists()


@both
def test_a_failure_leaves_the_output_file_as_it_was_and_is_resumed(serve, capsys, tmp_path):
    behavior = Unlucky("Sentence 9")
    write_lines(tmp_path / "in")
    (tmp_path / "out").write_text("kept\n")
    with serve(behavior) as served:
        flags = [f"--server={served.url}", f"--input={tmp_path / 'in'}", "--batch_size=4"]
        line = fails(capsys, *flags, f"--output={tmp_path / 'out'}")
        assert line == f"rnnsearch-client: {served.url}: failed with INTERNAL: out of luck"
        assert (tmp_path / "out").read_text() == "kept\n"
        assert (tmp_path / "out.partial").read_text() == "".join(
            f"{translated(line)}\n" for line in LINES[:8]
        )
        assert script.run([*flags, PATIENT]) == 1
        assert capsys.readouterr().out == "".join(x.text + "\n" for x in expected(LINES[:8]))
        behavior.is_lucky = True
        assert script.run([*flags, f"--output={tmp_path / 'out'}", "--resume"]) == 0
    assert (tmp_path / "out").read_text() == "".join(f"{translated(x)}\n" for x in LINES)
    assert {path.name for path in tmp_path.iterdir()} == {"in", "out"}


@both
def test_a_resumed_run_has_one_version_of_a_label(serve, capsys, tmp_path):
    """Another version without the label begins to be served, and leaves it as it is."""
    statuses, behavior = STATUSES[1:], Unlucky("Sentence 9")
    write_lines(tmp_path / "in")
    with serve(behavior, statuses) as served:
        flags = [f"--server={served.url}", "--label=stable", f"--input={tmp_path / 'in'}"]
        flags += ["--batch_size=4", f"--output={tmp_path / 'out'}"]
        fails(capsys, *flags)
        for version in ("2", "3"):
            statuses.append({**statuses[0], "version": version})
        first = statuses.pop(0)
        assert "by another command or another model" in fails(capsys, *flags, "--resume")
        statuses.append(first)
        behavior.is_lucky = True
        assert script.run([*flags, "--resume", PATIENT]) == 0


@both
def test_status(serve, capsys):
    with serve() as served:
        assert script.run([f"--server={served.url}", "--status", PATIENT]) == 0
    assert capsys.readouterr().out == "version 2: LOADING\nversion 1: AVAILABLE\n"
    lost = {"error_code": "NOT_FOUND", "error_message": "no file"}
    with serve(statuses=[{"version": "1", "state": "END", "status": lost}]) as served:
        assert script.run([f"--server={served.url}", "--status", PATIENT]) == 1
    assert capsys.readouterr().out == "version 1: END (NOT_FOUND: no file)\n"


def test_over_grpc_standard_error_stays_quiet(tmp_path):
    (tmp_path / "in").write_text("a\n")
    command = [sys.executable, "-m", "rnnsearch_tf", "client", "--attempts=1"]
    flags = ["--server=grpc://127.0.0.1:1", f"--input={tmp_path / 'in'}", PATIENT]
    done = subprocess.run([*command, *flags], capture_output=True, text=True, check=False)
    said = "rnnsearch-client: grpc://127.0.0.1:1: cannot be reached: Connection refused\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", said)


# Against an export.

SENTENCES = ["The man will eat.", "", "She has seen the cat.", "Élodie's 1,000 words — and more?"]


def clients(served):
    for url in (served.rest, f"grpc://{served.grpc}"):
        yield Client(url, deadline=300, batch_size=4, concurrency=1)


def without_alignment(result: Translation) -> Translation:
    """A result that can be compared."""
    hypotheses = tuple(dataclasses.replace(h, alignment=None) for h in result.hypotheses)
    return dataclasses.replace(result, hypotheses=hypotheses)


def test_both_protocols_find_the_same(served, c_session):
    direct = c_session.run("serving_default", {"text": [text.encode() for text in SENTENCES]})
    results = []
    for client in clients(served):
        with client:
            translations = list(client.translate(SENTENCES))
            pairs = list(zip(SENTENCES, [x.text for x in translations], strict=True))
            aligned = list(client.align(SENTENCES))
            results.append(
                (
                    translations,
                    [without_alignment(x) for x in aligned],
                    [x.alignment.tolist() for x in aligned],
                    list(client.n_best(SENTENCES)),
                    list(client.score(pairs)),
                    client.status(),
                    client.served_version(),
                )
            )
    assert results[0] == results[1]  # to the last bit
    translations, without, alignments, n_best, scores, status, version = results[0]
    assert [x.text.encode() for x in translations] == direct["translation"].tolist()
    assert [x.score for x in translations] == pytest.approx(direct["score"], abs=1e-5)
    assert (translations[1].text, translations[1].score) == ("", 0.0)
    for translation, unaligned, alignment, several in zip(
        translations, without, alignments, n_best, strict=True
    ):
        assert unaligned.text == translation.text
        assert unaligned.source_tokens[-1] == unaligned.tokens[-1] == "</s>"
        assert "" not in unaligned.source_tokens + unaligned.tokens
        assert len(alignment) == len(unaligned.tokens)
        for weights in alignment:
            assert len(weights) == len(unaligned.source_tokens)
            assert sum(weights) == pytest.approx(1, abs=1e-4)
        assert several.text == translation.text
        ranks = [hypothesis.normalized_score for hypothesis in several.hypotheses]
        assert ranks == sorted(ranks, reverse=True)
    assert len(n_best[0].hypotheses) > 1
    assert len(scores) == len(SENTENCES)
    assert [(one.version, one.state) for one in status] == [(1, "AVAILABLE")] and version == 1


def test_what_the_server_refuses(served):
    from rnnsearch_tf.client import NotFoundError

    for url in (served.rest, f"grpc://{served.grpc}"):
        for choice in ({"model": "other"}, {"version": 9}, {"label": "none"}):
            with Client(url, deadline=300, **choice) as client:
                with pytest.raises(NotFoundError, match="does not serve"):
                    list(client.translate(SENTENCES))
                if "label" not in choice:
                    with pytest.raises(NotFoundError, match="does not serve"):
                        client.status()


def test_the_script_translates_and_scores(served, capsys, tmp_path):
    (tmp_path / "in").write_text("".join(f"{sentence}\n" for sentence in SENTENCES))
    flags = [f"--server={served.rest}", PATIENT, "--batch_size=3", f"--input={tmp_path / 'in'}"]
    assert script.run([*flags, "--version=1"]) == 0
    translations = capsys.readouterr().out
    (tmp_path / "fr").write_text(translations, "utf-8")
    score = ["--signature=score", f"--translation={tmp_path / 'fr'}"]
    assert script.run([*flags, *score]) == 0
    assert translations.count("\n") == capsys.readouterr().out.count("\n") == len(SENTENCES)
