"""Pipelines run as jobs: Beam's options, errors as one line, counters."""

import contextlib
import io
import logging
import re
from collections.abc import Callable, Sequence

import apache_beam as beam
import grpc
from apache_beam.io.filesystems import FileSystems
from apache_beam.metrics import Metrics, MetricsFilter
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.runner import PipelineState

from rnnsearch_tf import errors
from rnnsearch_tf.errors import InputError, UsageError, first_line

NAMESPACE = "rnnsearch"
# Beam's DirectRunner first looks for the Prism runner, a program that it downloads.
_LOCAL = "--runner=FnApiRunner"
_LOST_WORKER = "Channel closed prematurely"  # the data channel between runner and worker
_FAILED = re.compile(r"pipeline .*failed", re.IGNORECASE)  # of a job server, and of Dataflow
_STEP = re.compile(r" \[while running .*")  # which Beam adds
_INPUT_ERROR = re.compile(r"rnnsearch_tf\.errors\.(\w+): (.*)")


class LostJobError(InputError):
    """The job server does not answer; the job may still be running."""


def count(name: str, number: int = 1) -> None:
    """Add to a counter of the job, from within a transform."""
    Metrics.counter(NAMESPACE, name).inc(number)


def unknown_options(options: Sequence[str]) -> list[str]:
    """List the options that Beam's Python SDK does not know; a job server may know them.

    UsageError for a value that Beam refuses.
    """
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            PipelineOptions([*options]).get_all_options()
    except SystemExit as error:
        raise UsageError(said.getvalue().rpartition("error: ")[2].strip()) from error
    known = PipelineOptions([]).get_all_options()
    names = [option[2:].partition("=")[0] for option in options]
    return [name for name in names if name not in known and name.removeprefix("no_") not in known]


def set_filesystem_options(options: Sequence[str]) -> None:
    """Pass the options to Beam's filesystems, which would get them only from a pipeline."""
    FileSystems.set_options(PipelineOptions([_LOCAL, *options]))


def run(build: Callable[[beam.Pipeline], object], options: Sequence[str]) -> dict[str, int]:
    """Build a pipeline, run it until it has ended, and return its counters.

    Raises:
        UsageError: an unknown runner.
        InputError: a worker raised one, whose message it has, or died; or the job failed or was
            cancelled. LostJobError: the job server does not answer.
    """
    # Beam logs the traceback of an error that it raises, too.
    logging.getLogger("apache_beam.runners.common").setLevel(logging.CRITICAL)
    try:
        pipeline = beam.Pipeline(options=PipelineOptions([_LOCAL, *options]))
    except (ImportError, ValueError) as error:
        raise UsageError(f"--runner: {first_line(error)}") from error
    build(pipeline)
    try:
        result = pipeline.run()
        try:
            state = result.wait_until_finish()
        except KeyboardInterrupt:
            result.cancel()
            raise
    except (grpc.RpcError, grpc.FutureTimeoutError) as error:
        raise LostJobError(f"the job server does not answer: {first_line(error)}") from error
    except Exception as error:
        said = _STEP.sub("", str(error))
        if isinstance(error, InputError):
            raise type(error)(said) from error
        if found := _INPUT_ERROR.findall(said):
            name, text = found[-1]
            raise getattr(errors, name)(text) from error
        if _LOST_WORKER in str(error):
            raise InputError(
                "a worker died, and this runner does not start another; the files written so far "
                "are complete: rnnsearch-beam-translate writes the rest with --resume, "
                "rnnsearch-beam-select starts again in another --output"
            ) from error
        if _FAILED.search(str(error)):
            raise InputError(f"{first_line(error)}; the runner's log says why") from error
        raise
    if state not in (None, PipelineState.DONE):
        raise InputError(f"the job has ended in state {state}; the runner's log says why")
    try:
        found = result.metrics().query(MetricsFilter().with_namespace(NAMESPACE))["counters"]
    except Exception as error:  # not every runner tells
        logging.warning("no counters: %s", error)
        return {}
    return {counter.key.metric.name: counter.result or 0 for counter in found}
