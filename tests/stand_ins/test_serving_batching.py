"""The stand-in's batching is TensorFlow Serving's: what is joined, filled, refused."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import numpy as np
import pytest
from tfserving import dtypes
from tfserving.batching import BatchQueue, BatchScheduler
from tfserving.batching_parameters import BatchingParameters, read_batching_parameters
from tfserving.status import Code, StatusError

NEVER = 10**12  # microseconds
SECONDS = 60


def texts(*values: str) -> dict[str, np.ndarray]:
    return {"text": dtypes.strings([value.encode() for value in values])}


class Recorder:
    """Answers with the inputs, and remembers them; waits at `gate` before it does."""

    def __init__(self):
        self.batches = []
        self.begun = threading.Semaphore(0)
        self.gate = threading.Event()
        self.gate.set()

    def __call__(self, inputs):
        self.batches.append(inputs["text"].tolist())
        self.begun.release()
        assert self.gate.wait(SECONDS)
        return {"echo": inputs["text"], "row": np.arange(len(inputs["text"]))}


def start(function: Callable[..., Any], *arguments: Any) -> Future:
    """Call in a thread that keeps nobody waiting at the end."""
    result: Future = Future()

    def call():
        try:
            result.set_result(function(*arguments))
        except Exception as error:
            result.set_exception(error)

    threading.Thread(target=call, daemon=True).start()
    return result


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.001)


def submit_one_by_one(queue: BatchQueue, *requests: dict) -> list[Future]:
    """Submit requests, each when the one before waits."""
    answers = []
    for request in requests:
        rows = sum(queue.waiting) + len(request["text"])
        answers.append(start(queue.submit, request))
        until(lambda: sum(queue.waiting) == rows)  # noqa: B023 (it has ended when rows changes)
    return answers


def parameters(**given) -> BatchingParameters:
    return BatchingParameters(**{"batch_timeout_micros": NEVER, "num_batch_threads": 1, **given})


def test_a_full_batch_is_run_and_split():
    recorder = Recorder()
    queue = BatchScheduler(parameters(max_batch_size=5)).new_queue("q", recorder)
    requests = [texts("a"), texts("b", "c"), texts("d", "e")]
    answers = [start(queue.submit, request) for request in requests]
    for request, answer in zip(requests, answers, strict=True):
        found = answer.result(SECONDS)
        assert found["echo"].tolist() == request["text"].tolist()
        assert len(found["row"]) == len(found["echo"])
    (batch,) = recorder.batches
    assert sorted(batch) == [b"a", b"b", b"c", b"d", b"e"]


def test_a_request_alone_waits_for_the_time_given():
    recorder = Recorder()
    queue = BatchScheduler(parameters(batch_timeout_micros=1000)).new_queue("q", recorder)
    assert queue.submit(texts("a"))["echo"].tolist() == [b"a"]


def test_what_does_not_fit_begins_a_batch():
    recorder = Recorder()
    queue = BatchScheduler(parameters(max_batch_size=2)).new_queue("q", recorder)
    (first,) = submit_one_by_one(queue, texts("a"))
    assert queue.submit(texts("b", "c"))["echo"].tolist() == [b"b", b"c"]
    assert first.result(SECONDS)["echo"].tolist() == [b"a"]
    assert recorder.batches == [[b"a"], [b"b", b"c"]]


def test_a_full_queue_refuses():
    recorder = Recorder()
    settings = parameters(max_batch_size=1, max_enqueued_batches=2)
    queue = BatchScheduler(settings).new_queue("q", recorder)
    recorder.gate.clear()
    running = start(queue.submit, texts("a"))
    assert recorder.begun.acquire(timeout=SECONDS)  # the one thread is taken
    waiting = submit_one_by_one(queue, texts("b"), texts("c"))
    with pytest.raises(StatusError) as caught:
        queue.submit(texts("d"))
    assert caught.value.code == Code.UNAVAILABLE
    recorder.gate.set()
    for answer, value in zip([running, *waiting], (b"a", b"b", b"c"), strict=True):
        assert answer.result(SECONDS)["echo"].tolist() == [value]


def test_a_closed_scheduler_lets_nobody_wait():
    scheduler = BatchScheduler(parameters())
    queue = scheduler.new_queue("q", Recorder())
    (waiting,) = submit_one_by_one(queue, texts("a"))
    scheduler.close()
    assert waiting.result(SECONDS)["echo"].tolist() == [b"a"]
    assert queue.submit(texts("b"))["echo"].tolist() == [b"b"]
    assert scheduler.new_queue("r", Recorder()).submit(texts("c"))["echo"].tolist() == [b"c"]


def test_a_queue_that_is_removed_is_forgotten():
    scheduler = BatchScheduler(parameters(batch_timeout_micros=0))
    queues = [scheduler.new_queue(name, Recorder()) for name in "xy"]
    scheduler.remove(queues[0])
    assert queues[1].submit(texts("a"))["echo"].tolist() == [b"a"]
    assert list(scheduler._queues) == queues[1:]


@pytest.mark.parametrize(
    ("inputs", "code"),
    [
        (texts("a", "b", "c"), Code.INVALID_ARGUMENT),
        ({"text": dtypes.strings([b"a"], ())}, Code.INVALID_ARGUMENT),
        ({**texts("a"), "translation": dtypes.strings([b"a", b"b"])}, Code.INVALID_ARGUMENT),
    ],
)
def test_what_cannot_be_batched(inputs, code):
    queue = BatchScheduler(parameters(max_batch_size=2)).new_queue("q", Recorder())
    with pytest.raises(StatusError) as caught:
        queue.submit(inputs)
    assert caught.value.code == code


def test_an_error_reaches_every_request_and_the_thread_lives():
    def run(inputs):
        if b"bad" in inputs["text"]:
            raise StatusError(Code.INTERNAL, "bad")
        return {"n": np.arange(2)}

    queue = BatchScheduler(parameters(max_batch_size=2)).new_queue("q", run)
    answers = [start(queue.submit, texts(text)) for text in ("a", "bad")]
    for answer in answers:
        error = answer.exception(SECONDS)
        assert isinstance(error, StatusError)
        assert error.code == Code.INTERNAL
    assert queue.submit(texts("a", "b"))["n"].tolist() == [0, 1]


FILE = """# comment
max_batch_size { value: 32 }
batch_timeout_micros { value: 5000 }
num_batch_threads { value: 2 }
"""


def test_the_parameters_file(tmp_path):
    file = tmp_path / "batching.txt"
    file.write_text(FILE)
    assert read_batching_parameters(file) == BatchingParameters(32, 5000, 10, 2)


@pytest.mark.parametrize(
    "text",
    [
        "max_batch_size: 32",
        "max_batch_size { value: 32",
        'max_batch_size { value: "32" }',
        "max_batchsize { value: 32 }",
        "max_batch_size { value: 8 } allowed_batch_sizes: 4",
    ],
)
def test_parameters_that_are_refused(tmp_path, text):
    file = tmp_path / "batching.txt"
    file.write_text(text)
    with pytest.raises(ValueError, match=r"batching\.txt"):
        read_batching_parameters(file)
