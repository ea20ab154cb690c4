"""Parts that the scripts on Apache Beam share: sharded files, and options that are Beam's own."""

import contextlib
import json
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from rnnsearch_tf.errors import InputError, UsageError, input_errors
from rnnsearch_tf.files import real_path
from rnnsearch_tf.json_files import parse_json
from rnnsearch_tf.scripts.shared.command import Command
from rnnsearch_tf.scripts.shared.resumable_file import check_same_flags

if TYPE_CHECKING:
    import apache_beam as beam

_FREE = ("model_dir", "input", "output", "resume")  # flags that may differ when a job is resumed

_WAY_OUT = "; use another --output, or remove this file and the output"

PASSED_ON = (
    "Other flags, written --NAME=VALUE, are Beam's options, such as --runner (docs/beam.md); "
    "without them, the job runs in this process. Paths may be on any filesystem that Beam "
    "supports: gs://, s3://, hdfs:// and others."
)
SHARDS = "a file or a pattern; * matches within a folder, ** also in all folders below it"


def pass_options_on(command: Command) -> None:
    """Check Beam's options and pass them to its filesystems; call it before any path is used."""
    from rnnsearch_tf.pipelines import jobs

    for name in jobs.unknown_options(command.passed_on):
        command.warn(f"--{name} is unknown to Beam's Python SDK; the job server may know it")
    jobs.set_filesystem_options(command.passed_on)


def output_folder(command: Command, inputs: list[str]) -> str:
    """Return --output as workers find it; UsageError for a pattern, or if inputs would be lost."""
    from rnnsearch_tf.pipelines.shards import absolute, folder_of

    output = absolute(command.flags.output).rstrip("/")
    if re.search(r"[*?[]", output):  # Beam would search other folders than it writes to
        raise UsageError(f"--output {output}: must not contain *, ? or [")
    own = real_path(output)  # it may be a link
    for pattern in inputs:
        folder = real_path(folder_of(pattern))
        if own == folder or ("**" in pattern and own.is_relative_to(folder)):
            raise UsageError(f"--output {output}: {pattern} reads files there")
    return output


def check_resumed(command: Command, output: str, model: Any) -> None:
    """Record flags and model beside an output folder, or compare them with those recorded.

    `model` identifies the model, JSON-serializable. InputError if the files that are there were
    made with other flags or another model.
    """
    from apache_beam.io.filesystems import FileSystems

    from rnnsearch_tf.pipelines.shards import read_lines, write_lines

    flags = {name: command.flags[name].value for name in command.flags if name not in _FREE}
    path = f"{output}.made-by.json"
    with input_errors(path):
        if not FileSystems.exists(path):
            content = json.dumps({"flags": flags, "model": model}, indent=2)
            write_lines(path, content.encode().splitlines(), FileSystems.split(path)[0])
            return
        earlier = parse_json(b"\n".join(read_lines(path)))
        before, model_before = dict(earlier["flags"]), earlier["model"]
    check_same_flags(path, before, flags, _WAY_OUT)
    if model_before != model:
        raise InputError(f"{path}: the files were made with another model{_WAY_OUT}")


def run_job(
    command: Command, build: Callable[["beam.Pipeline"], Any], outputs: list[str], unfinished: str
) -> dict[str, int]:
    """Run a pipeline with the options that were passed on, and return its counters.

    The folder of unfinished files is removed afterward, unless the job may go on. InputError if
    one of the outputs is not there.
    """
    from rnnsearch_tf.pipelines import jobs
    from rnnsearch_tf.pipelines.shards import check_written, remove_folder

    may_go_on = False
    try:
        counters = jobs.run(build, command.passed_on)
    except jobs.LostJobError:
        may_go_on = True
        raise
    finally:
        if not may_go_on:
            with contextlib.suppress(OSError):
                remove_folder(unfinished)
    check_written(outputs)
    return counters
