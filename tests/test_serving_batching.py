"""The stand-in's batching is TensorFlow Serving's: what is joined, filled, refused."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from serving import dtypes
from serving.batching import BatchScheduler
from serving.batching_parameters import BatchingParameters, read_batching_parameters
from serving.status import Code, StatusError

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


@pytest.fixture
def pool():
    with ThreadPoolExecutor(16) as pool:
        yield pool


def parameters(**given) -> BatchingParameters:
    return BatchingParameters(**{"batch_timeout_micros": NEVER, "num_batch_threads": 1, **given})


def test_a_full_batch_is_run_and_split(pool):
    recorder = Recorder()
    queue = BatchScheduler(parameters(max_batch_size=5)).new_queue("q", recorder)
    requests = [texts("a"), texts("b", "c"), texts("d", "e")]
    answers = [pool.submit(queue.submit, request) for request in requests]
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


def test_batches_are_filled_with_the_last_requests_first_row():
    recorder = Recorder()
    settings = parameters(max_batch_size=4, allowed_batch_sizes=(1, 4), batch_timeout_micros=0)
    queue = BatchScheduler(settings).new_queue("q", recorder)
    assert queue.submit(texts("a", "b"))["echo"].tolist() == [b"a", b"b"]
    assert queue.submit(texts("c"))["echo"].tolist() == [b"c"]
    assert recorder.batches == [[b"a", b"b", b"a", b"a"], [b"c"]]


def test_what_does_not_fit_begins_a_batch(pool):
    recorder = Recorder()
    queue = BatchScheduler(parameters(max_batch_size=2)).new_queue("q", recorder)
    first = pool.submit(queue.submit, texts("a"))
    second = pool.submit(queue.submit, texts("b", "c"))
    assert second.result(SECONDS)["echo"].tolist() == [b"b", b"c"]
    last = pool.submit(queue.submit, texts("d"))
    for answer, value in ((first, b"a"), (last, b"d")):
        # Where the pair came first, "a" and "d" share a batch; else "a" went alone, "d" waits.
        if not recorder.batches[0] == [b"a"]:
            assert answer.result(SECONDS)["echo"].tolist() == [value]
    queue.submit(texts("e", "f"))
    assert first.result(SECONDS)["echo"].tolist() == [b"a"]
    assert last.result(SECONDS)["echo"].tolist() == [b"d"]


def test_a_full_queue_refuses(pool):
    recorder = Recorder()
    settings = parameters(max_batch_size=1, max_enqueued_batches=2)
    queue = BatchScheduler(settings).new_queue("q", recorder)
    recorder.gate.clear()
    running = pool.submit(queue.submit, texts("a"))
    assert recorder.begun.acquire(timeout=SECONDS)  # the one thread is taken
    waiting = [pool.submit(queue.submit, texts("w")) for _ in range(6)]
    refused = 0
    while refused < 4:  # two batches may wait
        refused = sum(answer.done() for answer in waiting)
    assert sum(not answer.done() for answer in waiting) == 2
    recorder.gate.set()
    assert running.result(SECONDS)["echo"].tolist() == [b"a"]
    codes = [answer.exception(SECONDS) for answer in waiting]
    assert sum(error is None for error in codes) == 2
    assert {error.code for error in codes if error} == {Code.UNAVAILABLE}


def test_queues_share_the_threads_in_turn(pool):
    scheduler = BatchScheduler(parameters(max_batch_size=1, max_enqueued_batches=10))
    log, recorder = [], Recorder()
    blocked = scheduler.new_queue("blocked", recorder)
    recorder.gate.clear()
    first = pool.submit(blocked.submit, texts("a"))
    assert recorder.begun.acquire(timeout=SECONDS)

    def noted(name):
        def run(inputs):
            log.append(name)
            return inputs

        return scheduler.new_queue(name, run)

    queues = {name: noted(name) for name in "xy"}
    answers = [pool.submit(queues[name].submit, texts("b")) for name in "xxxyyy"]
    while sum(queue.due is None or len(queue._batches) < 3 for queue in queues.values()):
        pass  # until all six wait
    recorder.gate.set()
    for answer in [first, *answers]:
        answer.result(SECONDS)
    assert "".join(log) in ("xyxyxy", "yxyxyx")


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


def test_an_error_reaches_every_request_and_the_thread_lives(pool):
    def run(inputs):
        if b"bad" in inputs["text"]:
            raise StatusError(Code.INTERNAL, "bad")
        return {"n": np.arange(3 if b"short" in inputs["text"] else 2)}

    queue = BatchScheduler(parameters(max_batch_size=2)).new_queue("q", run)
    for word, code in (("bad", Code.INTERNAL), ("short", Code.FAILED_PRECONDITION)):
        answers = [pool.submit(queue.submit, texts(text)) for text in ("a", word)]
        assert {answer.exception(SECONDS).code for answer in answers} == {code}
    assert queue.submit(texts("a", "b"))["n"].tolist() == [0, 1]


FILE = """# comment
max_batch_size { value: 32 }
batch_timeout_micros { value: 5000 }
num_batch_threads { value: 2 }
thread_pool_name { value: "t" }
pad_variable_length_inputs: true
allowed_batch_sizes: [1, 8]
allowed_batch_sizes: 32
"""


def test_the_parameters_file(tmp_path):
    file = tmp_path / "batching.txt"
    file.write_text(FILE)
    found = read_batching_parameters(file)
    assert found == BatchingParameters(32, 5000, 10, 2, (1, 8, 32))
    assert [found.padded_size(n) for n in (1, 2, 8, 9, 32)] == [1, 8, 8, 32, 32]


@pytest.mark.parametrize(
    "text",
    [
        "max_batch_size: 32",
        "max_batch_size { value: 32",
        'max_batch_size { value: "32" }',
        "max_batchsize { value: 32 }",
        "max_batch_size { value: 0 }",
        "num_batch_threads { value: 0 }",
        "max_batch_size { value: 8 } allowed_batch_sizes: 4",
        "max_batch_size { value: 8 } allowed_batch_sizes: [8, 4, 8]",
    ],
)
def test_parameters_that_are_refused(tmp_path, text):
    file = tmp_path / "batching.txt"
    file.write_text(text)
    with pytest.raises(ValueError, match=r"batching.txt|must"):
        read_batching_parameters(file)
