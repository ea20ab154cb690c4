"""Load a server with many clients: answers as in single calls, failures, throughput, latency.

The server is the stand-in of tests/stand_ins/tfserving (TensorFlow's C runtime behind TensorFlow
Serving's gRPC interface, its batching emulated): no package index has a TensorFlow Serving binary.
Each client calls it over gRPC as fast as it answers, first without and then with server-side
batching. One call in ten is unusual: strange text, or a bad request.

Prints one line of JSON for each of the two runs. The exit status is 1 if any answer was not the
expected one.
"""

import argparse
import collections
import itertools
import random
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import grpc
import numpy as np
import one_line
import tensorflow as tf
from measure import say
from tensorflow_serving.apis.predict_pb2 import PredictRequest
from tensorflow_serving.apis.prediction_service_pb2_grpc import PredictionServiceStub

from rnnsearch_tf.data.lines import read_lines

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests" / "stand_ins"))

from tfserving import Server, running  # noqa: E402  the stand-in lies among the tests

BATCHING = HERE.parent / "export" / "batching_parameters.txt"
_TOLERANCE = 1e-5  # of a score: absolute, in nats, and relative
_DEADLINE = 300.0  # seconds; beyond it, a call has failed

Answer = Any  # translations and scores (list[bytes], list[float]), or a grpc.StatusCode


class Request(NamedTuple):
    """A named call."""

    name: str
    message: PredictRequest


def predict(texts: Sequence[bytes], signature: str = "serving_default") -> PredictRequest:
    """Make a request for translations."""
    request = PredictRequest()
    request.model_spec.name = "rnnsearch"
    request.model_spec.signature_name = signature
    request.inputs["text"].CopyFrom(tf.make_tensor_proto(list(texts), tf.string))
    return request


def unusual_requests() -> list[Request]:
    """Make requests that a server meets sooner or later."""
    no_input = predict([b"text"])
    del no_input.inputs["text"]
    numbers = predict([b"text"])
    numbers.inputs["text"].CopyFrom(tf.make_tensor_proto([1.0]))
    other_model = predict([b"text"])
    other_model.model_spec.name = "another"
    return [
        Request("blank", predict([b" \t "])),
        Request("not UTF-8", predict([b"a caf\xe9 \xff\xfe with a man"])),
        Request("control characters", predict([b"a\x00man\r\nin\ta\x1bhat"])),
        Request("10,000 words", predict([b"the man and " * 3_334])),
        Request("no signature", predict([b"text"], "none")),
        Request("no input", no_input),
        Request("a number", numbers),
        Request("no model", other_model),
    ]


def usual_requests(lines: Sequence[str]) -> list[Request]:
    """Make requests of one sentence and of four."""
    texts = [line.encode() for line in lines]
    alone = [Request("one sentence", predict([text])) for text in texts]
    fours = zip(*[iter(texts)] * 4, strict=False)
    return alone + [Request("four sentences", predict(four)) for four in fours]


def ask(stub: PredictionServiceStub, request: Request) -> Answer:
    """Return the server's answer."""
    try:
        outputs = stub.Predict(request.message, timeout=_DEADLINE).outputs
    except grpc.RpcError as error:
        return error.code()
    return list(outputs["translation"].string_val), tf.make_ndarray(outputs["score"]).tolist()


def is_same(answer: Answer, expected: Answer) -> bool:
    """Whether the status is equal, or the texts are, and the scores within the tolerance."""
    if isinstance(answer, grpc.StatusCode) or isinstance(expected, grpc.StatusCode):
        return answer == expected
    return answer[0] == expected[0] and np.allclose(
        answer[1], expected[1], rtol=_TOLERANCE, atol=_TOLERANCE
    )


class Client(threading.Thread):
    """A client that calls without a pause until it is time to stop."""

    def __init__(
        self,
        stub: PredictionServiceStub,
        requests: Iterator[tuple[Request, Answer]],
        is_over: Callable[[], bool],
    ):
        super().__init__()
        self._stub = stub
        self._requests = requests
        self._is_over = is_over
        self.seconds: list[float] = []
        self.sentences = 0
        self.calls: collections.Counter[str] = collections.Counter()  # by name
        self.wrong: list[str] = []

    def run(self) -> None:
        """Call, compare, record."""
        while not self._is_over():
            request, expected = next(self._requests)
            begin = time.perf_counter()
            answer = ask(self._stub, request)
            self.seconds.append(time.perf_counter() - begin)
            self.calls[request.name] += 1
            if not isinstance(answer, grpc.StatusCode):
                self.sentences += len(answer[0])
            if not is_same(answer, expected):
                self.wrong.append(f"{request.name}: {answer}, where {expected} was expected")


def shuffled(
    usual: Sequence[tuple[Request, Answer]], unusual: Sequence[tuple[Request, Answer]], seed: int
) -> Iterator[tuple[Request, Answer]]:
    """Draw requests without end, one in ten of them unusual."""
    draw = random.Random(seed)
    for _ in itertools.count():
        yield draw.choice(unusual if draw.random() < 0.1 else usual)


def load(server: Server, requests: Sequence[list[Request]], arguments: Any) -> dict[str, Any]:
    """Send each request once by itself, then let all clients call at once.

    Args:
        server: the server.
        requests: the usual ones and the unusual ones.
        arguments: number of clients and seconds.
    """
    stubs = [PredictionServiceStub(grpc.insecure_channel(server.grpc)) for _ in range(8)]
    usual, unusual = ([(r, ask(stubs[0], r)) for r in part] for part in requests)
    memory = [resident_mib(server.process.pid)]
    begin = time.monotonic()

    def is_over() -> bool:
        return time.monotonic() - begin > arguments.seconds

    clients = [
        Client(stubs[i % len(stubs)], shuffled(usual, unusual, i), is_over)
        for i in range(arguments.clients)
    ]
    for client in clients:
        client.start()
    while any(client.is_alive() for client in clients):
        time.sleep(1.0)
        memory.append(resident_mib(server.process.pid))
    elapsed = time.monotonic() - begin
    seconds = sorted(s for client in clients for s in client.seconds)
    wrong = [line for client in clients for line in client.wrong]
    return {
        "clients": len(clients),
        "seconds": elapsed,
        "calls": len(seconds),
        "sentences_s": sum(client.sentences for client in clients) / elapsed,
        "p50_s": statistics.median(seconds),
        "p99_s": seconds[int(0.99 * (len(seconds) - 1))],
        "rss_mib_before": memory[0],
        "rss_mib_at_third": memory[len(memory) // 3],
        "rss_mib_at_end": memory[-1],
        "kinds": dict(sum((client.calls for client in clients), collections.Counter())),
        "answers_alone": {r.name: str(a) for r, a in unusual if isinstance(a, grpc.StatusCode)},
        "wrong": len(wrong),
        "first_wrong": wrong[:3],
    }


def resident_mib(pid: int) -> float:
    """Return the resident memory of a process."""
    fields = Path(f"/proc/{pid}/status").read_text("utf-8").splitlines()
    (kib,) = (int(line.split()[1]) for line in fields if line.startswith("VmRSS:"))
    return kib / 1024


def main() -> int:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--export_dir", type=Path, required=True, help="holds the versions")
    parser.add_argument("--source", type=Path, required=True, help="sentences to be translated")
    parser.add_argument("--sentences", type=int, default=200, help="that many of them, spread")
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--batching", type=Path, default=BATCHING, help="batching parameters")
    arguments = parser.parse_args()
    lines = read_lines(arguments.source)
    lines = lines[:: max(1, len(lines) // arguments.sentences)]
    requests = usual_requests(lines), unusual_requests()
    status = 0
    for name, flags in (
        ("alone", []),
        ("batched", ["--enable_batching", f"--batching_parameters_file={arguments.batching}"]),
    ):
        with running(arguments.export_dir, *flags) as server:
            figures = load(server, requests, arguments)
        say({"server": name, **figures})
        status |= figures["wrong"] > 0
    return status


if __name__ == "__main__":
    one_line.run(main)
