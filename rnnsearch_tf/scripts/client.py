"""rnnsearch-client: lines in, lines out, by a served model."""

import functools
import itertools
import math
import os
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Literal, TypeVar

from rnnsearch_tf.errors import InputError, UsageError
from rnnsearch_tf.extras import require_package
from rnnsearch_tf.limits import COUNT, INT64, Limits
from rnnsearch_tf.scripts.shared.command import Command
from rnnsearch_tf.scripts.shared.file_flags import INPUT_FILE, INPUT_LINES
from rnnsearch_tf.scripts.shared.finite_values import json_line
from rnnsearch_tf.scripts.shared.line_stream import LineStream
from rnnsearch_tf.scripts.shared.resumable_file import define_line_output, line_output
from rnnsearch_tf.scripts.shared.text_input import Decoder, input_lines, is_live, live_windows
from rnnsearch_tf.scripts.shared.text_output import show
from rnnsearch_tf.terminal import single_line

if TYPE_CHECKING:
    from rnnsearch_tf.client import Client, Translation

Signature = Literal["serving_default", "score", "nbest", "align"]
_NOT_FINITE = "no finite score"
_WINDOWS_OF_CALLS = 8  # rounds of calls in a live window; only its last calls wait for each other

Item = TypeVar("Item")
Result = TypeVar("Result")

COMMAND = Command(
    "rnnsearch-client",
    "translate text with a model in TensorFlow Serving, one sentence per line: N lines in, "
    "N lines out, in order; a blank line gives a blank line.",
    "rnnsearch-client --server=grpc://localhost:8500 --input=test.en",
)
FLAGS = COMMAND.flags
COMMAND.group("Server")
COMMAND.define(
    "server",
    str,
    "scheme://host:port; http and https are REST, grpc and grpcs are gRPC; s means TLS",
    "http://localhost:8501",
)
COMMAND.define("model", str, "the name under which the model is served", "rnnsearch")
COMMAND.define(
    "version",
    int,
    "the version; without it and --label, the server decides",
    limits=Limits(0, INT64),
)
COMMAND.define("label", str, "a label of a version, such as stable")
COMMAND.define("status", bool, "only print the versions of the model and their states")
COMMAND.define(
    "signature",
    Signature,
    "serving_default prints translations; score prints log p(translation|text) in nats; nbest and "
    "align print a JSON object per line, as rnnsearch-translate --alignment=json",
    "serving_default",
)
COMMAND.group("Data")
COMMAND.define("input", INPUT_LINES, "text, UTF-8, plain or .gz; - is standard input", "-")
COMMAND.define(
    "split_sentences",
    bool,
    "translate the sentences of a line one by one; only for --signature=serving_default",
    False,
)
COMMAND.define(
    "translation",
    INPUT_LINES,
    "for --signature=score: translations, line by line; - is standard input",
)
define_line_output(COMMAND, "results")
COMMAND.group("Calls")
COMMAND.define(
    "deadline",
    float,
    "maximum seconds of a batch, including retries",
    60.0,
    Limits(0, 86_400, without_low=True),
)
COMMAND.define("batch_size", int, "lines in a call", 32, COUNT)
COMMAND.define("concurrency", int, "calls at once, and batches read ahead", 4, Limits(1, 1_000))
COMMAND.define(
    "attempts", int, "maximum attempts of a call while the server is unavailable", 5, COUNT
)
COMMAND.group("TLS")
COMMAND.define(
    "ca_certificate", INPUT_FILE, "PEM file of trusted authorities, instead of the system's"
)
COMMAND.define("client_certificate", INPUT_FILE, "PEM file, for a server that asks for one")
COMMAND.define(
    "client_key", INPUT_FILE, "PEM file of its private key, unless it is in the same file"
)


@COMMAND.entry
def run() -> int:
    """Call the server."""
    _check_flags()
    with _client() as client:
        if FLAGS.status:
            return _print_status(client)
        # Asked once: the second check is for a model loaded after the first; a client loads none.
        output = line_output(COMMAND, functools.cache(lambda: _version(client)))
        output.write(_results(client, output))
    return int(output.has_failed)


def _check_flags() -> None:
    if FLAGS.status:
        COMMAND.refuse(("label",), "cannot be combined with --status, which shows all versions")
        names = "signature", "input", "output", "resume", "split_sentences"
        COMMAND.refuse(names, "cannot be combined with --status: nothing is translated")
    if (FLAGS.signature == "score") != bool(FLAGS.translation):
        raise UsageError("--signature=score and --translation must be given together")
    if FLAGS.translation and FLAGS.translation == FLAGS.input:
        raise UsageError("--input and --translation are the same")
    if FLAGS.split_sentences:
        if FLAGS.signature != "serving_default":
            raise UsageError("--split_sentences needs --signature=serving_default")
        require_package("sentencex")


def _client() -> "Client":
    # The library of gRPC writes to standard error what it also says in its errors.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    from rnnsearch_tf.client import Client, Tls

    return Client(
        FLAGS.server,
        FLAGS.model,
        FLAGS.version,
        FLAGS.label,
        deadline=FLAGS.deadline,
        batch_size=FLAGS.batch_size,
        concurrency=FLAGS.concurrency,
        attempts=FLAGS.attempts,
        tls=Tls(FLAGS.ca_certificate, FLAGS.client_certificate, FLAGS.client_key),
    )


def _print_status(client: "Client") -> int:
    """Print a line for each version; fail unless one is available."""
    versions = client.status()
    for version in versions:
        line = f"version {version.version}: {version.state}"
        if version.error_code != "OK":
            line += f" ({version.error_code}: {version.error_message})"
        show(line)
    return 0 if any(version.state == "AVAILABLE" for version in versions) else 1


def _version(client: "Client") -> list[int] | None:
    """Return the version that answers; None if the server does not say it."""
    from rnnsearch_tf.client import AddressError, AnswerError, NotFoundError, RequestError

    try:
        return [client.served_version()]
    except (AddressError, AnswerError, NotFoundError, RequestError):  # as from a gateway
        return None


def _results(client: "Client", output: LineStream) -> Iterator[str]:
    """Format the result for each line of the input."""
    lines = _lines(FLAGS.input)
    if FLAGS.signature == "score":
        pairs = output.rest_of(_pairs(lines, _lines(FLAGS.translation)))
        scores = _as_they_come(client.score, pairs, FLAGS.input, FLAGS.translation)
        for number, score in enumerate(scores, output.done + 1):
            output.check(number, math.isfinite(score), _NOT_FINITE)
            yield f"{score:.6f}"
        return

    def translate(texts: Iterable[str]) -> Iterator["Translation"]:
        return client.translate(texts, split_sentences=FLAGS.split_sentences)

    call, line = {
        "nbest": (client.n_best, json_line),
        "align": (client.align, json_line),
        "serving_default": (translate, lambda result: single_line(result.text)),
    }[FLAGS.signature]
    results = _as_they_come(call, output.rest_of(lines), FLAGS.input)
    for number, result in enumerate(results, output.done + 1):
        output.check(number, math.isfinite(result.score), _NOT_FINITE)
        yield line(result)


def _as_they_come(
    call: Callable[[Iterable[Item]], Iterator[Result]], items: Iterable[Item], *paths: str
) -> Iterator[Result]:
    """Call with all items or, if their writer may wait for answers, with those that arrived."""
    if not any(map(is_live, paths)):
        return call(items)
    ahead = _WINDOWS_OF_CALLS * FLAGS.batch_size * FLAGS.concurrency
    return itertools.chain.from_iterable(map(call, live_windows(items, ahead)))


def _pairs(texts: Iterable[str], translations: Iterable[str]) -> Iterator[tuple[str, str]]:
    for number, (text, translation) in enumerate(itertools.zip_longest(texts, translations)):
        if text is None:
            raise InputError(f"--input has {number:,} lines, --translation has more")
        if translation is None:
            raise InputError(f"--translation has {number:,} lines, --input has more")
        yield text, translation


def _lines(path: str) -> Iterator[str]:
    name = "standard input" if path == "-" else path
    decoder = Decoder(lambda warning: COMMAND.warn(f"{name}: {warning}"))
    for number, line in enumerate(input_lines(path), 1):
        yield decoder(line, number)
