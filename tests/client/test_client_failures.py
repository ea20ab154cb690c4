"""Each way in which a call of a served model can fail, one by one."""

import contextlib
import errno
import gzip
import json
import math
import queue
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from scripted_model import (
    SECONDS,
    SERVERS,
    HttpHandler,
    Refusal,
    Request,
    both,
    client_of,
    expected,
    failure,
    obliging,
    over_grpc,
    over_http,
    translated,
)

import rnnsearch_tf
from rnnsearch_tf.client import (
    AddressError,
    AnswerError,
    Client,
    DeadlineError,
    MessageSizeError,
    NotFoundError,
    RequestError,
    ServerError,
    SignatureError,
    UnavailableError,
    VersionStatus,
    grpc_transport,
    http_exchange,
    rest_transport,
    serving_pb2,
)
from rnnsearch_tf.client.address import Tls, parse_address
from rnnsearch_tf.client.call import Call

pytestmark = pytest.mark.serving

each_scheme = pytest.mark.parametrize("scheme", SERVERS)


# Refusals, and which of them are tried again.


@both
def test_an_unavailable_server_is_tried_again(serve):
    refusals = [Refusal("UNAVAILABLE", "queue is full"), Refusal("UNAVAILABLE", "still full")]

    def behavior(request):
        if refusals:
            raise refusals.pop()
        return obliging(request)

    with serve(behavior) as served, client_of(served) as client:
        assert list(client.translate(["One."])) == expected(["One."])
    assert len(served.requests) == 3


def always(code, text):
    def behavior(request):
        raise Refusal(code, text)

    return behavior


@pytest.mark.parametrize("code", ["UNAVAILABLE", "RESOURCE_EXHAUSTED"])
@both
def test_a_server_that_stays_unavailable(serve, code, monkeypatch):
    pauses: list[float] = []
    monkeypatch.setattr("random.uniform", lambda low, high: high)
    monkeypatch.setattr(Call, "pause", lambda call, seconds: pauses.append(seconds))
    with serve(always(code, "no room in the queue")) as served:
        said = failure(UnavailableError, served.url, attempts=8)
        assert said.endswith("is unavailable: no room in the queue (8 attempts)")
        assert len(served.requests) == 8
        assert pauses == pytest.approx([0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 10])
        pauses.clear()  # those until there is no time for another
        monkeypatch.setattr(Call, "remaining", lambda call: 60 - sum(pauses))
        said = failure(UnavailableError, served.url, attempts=1_000)
        assert "is unavailable: no room in the queue" in said
        assert pauses[:7] == pytest.approx([0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 10])
        assert pauses[7:] == [10, 10, 10]


@pytest.mark.parametrize(
    ("code", "text", "kind", "said"),
    [
        ("NOT_FOUND", "Servable not found for request: Latest(rnnsearch)", NotFoundError,
         "does not serve model rnnsearch: Servable not found"),
        ("INVALID_ARGUMENT", "Unrecognized servable version label: stable", NotFoundError,
         "does not serve model rnnsearch: Unrecognized"),
        ("FAILED_PRECONDITION", 'Serving signature key "serving_default" not found.',
         SignatureError, "model rnnsearch has no signature serving_default"),
        ("INVALID_ARGUMENT", 'Serving signature name: "x" not found in signature def',
         SignatureError, "has no signature serving_default"),
        ("INVALID_ARGUMENT", "input text:\n  has the wrong shape", RequestError,
         "refuses the request: input text: has the wrong shape"),
        ("UNAUTHENTICATED", "no token", RequestError, "denies access: no token"),
        ("PERMISSION_DENIED", "not you", RequestError, "denies access: not you"),
        ("RESOURCE_EXHAUSTED", "out of memory", ServerError,
         "failed with RESOURCE_EXHAUSTED: out of memory"),
        ("INTERNAL", "x" * 1000, ServerError, "failed with INTERNAL: xxx"),
        ("DEADLINE_EXCEEDED", "batching took too long", DeadlineError,
         "gave up on the request (a smaller batch_size may help): batching took too long"),
        ("UNIMPLEMENTED", "unknown method", AddressError, "is not TensorFlow Serving"),
    ],
)  # fmt: skip
@both
def test_refusals_are_told_apart_and_not_tried_again(serve, code, text, kind, said):
    with serve(always(code, text)) as served:
        told = failure(kind, served.url)
    assert said in told
    assert len(told) < 400
    assert len(served.requests) == 1


@both
def test_what_was_asked_for_is_named(serve):
    with serve(always("NOT_FOUND", "no")) as served:
        assert "does not serve version 4 of model m" in failure(
            NotFoundError, served.url, model="m", version=4
        )
        assert "does not serve label next of model m" in failure(
            NotFoundError, served.url, model="m", label="next"
        )


# No connection.


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@each_scheme
def test_a_refused_connection(scheme):
    with socket.socket() as taken:  # bound, so that nobody else listens there
        taken.bind(("127.0.0.1", 0))
        url = f"{scheme}://127.0.0.1:{taken.getsockname()[1]}"
        said = failure(UnavailableError, url, attempts=3)
        assert said == f"{url}: cannot be reached: Connection refused (3 attempts)"
        with Client(url, attempts=1) as client, pytest.raises(UnavailableError) as caught:
            client.status()
    assert caught.value.attempts == 1


@each_scheme
def test_a_server_that_comes_up_meanwhile(scheme, monkeypatch):
    port = free_port()
    pause = Call.pause
    with contextlib.ExitStack() as stack:

        def start_server(call, seconds):
            if call.attempts == 2:
                stack.enter_context(SERVERS[scheme](port=port))
            pause(call, seconds)

        monkeypatch.setattr(Call, "pause", start_server)
        url = f"{scheme}://127.0.0.1:{port}"
        client = stack.enter_context(Client(url, deadline=SECONDS, attempts=8))
        assert list(client.translate(["One."])) == expected(["One."])


def test_a_connection_that_the_system_gives_up(monkeypatch):
    """Before the deadline, which is not to blame."""

    def connect(*_: Any) -> None:
        raise TimeoutError(errno.ETIMEDOUT, "Connection timed out")

    monkeypatch.setattr(socket.socket, "connect", connect)
    said = failure(UnavailableError, "http://127.0.0.1:8501", attempts=2)
    assert said.endswith(": cannot be reached: Connection timed out (2 attempts)")


def test_an_address_from_which_nothing_comes(monkeypatch):
    """As of a machine without power: the name's next address is tried."""
    with over_http() as served, socket.socket() as silent:
        port = parse_address(served.url).port
        silent.bind(("127.0.0.2", port))
        silent.listen(0)  # one connection fills its queue
        tcp = (socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "")
        addresses = [(*tcp, (host, port)) for host in ("127.0.0.2", "127.0.0.1")]
        with socket.create_connection(("127.0.0.2", port)), client_of(served) as client:
            monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: addresses)
            monkeypatch.setattr(http_exchange, "_CONNECT_SECONDS", 0.05)
            assert [result.text for result in client.translate(["a"])] == [translated("a")]


def test_an_unknown_host(monkeypatch):
    def resolve(*arguments: Any, **options: Any) -> Any:
        raise socket.gaierror(socket.EAI_NONAME, "not known")

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    said = failure(AddressError, "http://no-such-host.invalid:8500")
    assert "no address is known for the host no-such-host.invalid: not known" in said
    assert "attempts" not in said


@pytest.mark.parametrize(
    ("details", "error"),
    [
        ("Domain name not found", AddressError),
        ("Could not contact DNS servers", UnavailableError),
    ],
)
def test_an_unknown_host_over_grpc(details, error):
    from rnnsearch_tf.client.grpc_transport import _of_library

    address = parse_address("grpc://no-such-host.invalid:8500")
    details = f"DNS resolution failed for no-such-host.invalid:8500: {details}"
    said = _of_library(address, "UNAVAILABLE", details)
    assert type(said) is error
    assert "no address is known for the host no-such-host.invalid: DNS resolution" in str(said)


def test_a_resolver_that_fails_for_the_moment(monkeypatch):
    resolve, failures = socket.getaddrinfo, [socket.gaierror(socket.EAI_AGAIN, "try again")] * 2

    def resolve_later(*arguments: Any, **options: Any) -> Any:
        if failures:
            raise failures.pop()
        return resolve(*arguments, **options)

    with over_http() as served:
        monkeypatch.setattr(socket, "getaddrinfo", resolve_later)
        assert list(client_of(served).translate(["One."])) == expected(["One."])
    assert not failures


def test_the_deadline_holds_for_the_resolver_too(monkeypatch):
    done = threading.Event()

    def resolve(*arguments: Any, **options: Any) -> Any:
        done.wait(SECONDS)
        raise socket.gaierror(socket.EAI_NONAME, "no")

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    try:
        assert "within 0.2 s" in failure(DeadlineError, "http://somewhere:8501", deadline=0.2)
    finally:
        done.set()


# Connections of HTTP that break.

Answer = Callable[[socket.socket, int, threading.Event], Any]


@contextlib.contextmanager
def raw_server(answer: Answer) -> Iterator[str]:
    """Call `answer(connection, number, over)` for each connection; `over` is set at the end."""
    listener = socket.create_server(("127.0.0.1", 0))
    over = threading.Event()

    def serve(connection: socket.socket, number: int) -> None:
        with connection, contextlib.suppress(OSError):
            connection.settimeout(SECONDS)
            answer(connection, number, over)

    def accept() -> None:
        with contextlib.suppress(OSError):
            for number in range(1_000):
                connection, _ = listener.accept()
                threading.Thread(target=serve, args=(connection, number), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        over.set()
        with contextlib.suppress(OSError):  # which a Mac says of a socket that listens
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()


def read_request(connection: socket.socket) -> None:
    received = b""
    while b"\r\n\r\n" not in received:
        received += connection.recv(4096)
    head, _, body = received.partition(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
    while len(body) < length:
        body += connection.recv(4096)


OUTPUTS = {"outputs": {"translation": ["ONE."], "score": [-0.5]}}
HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n"


def whole_answer(content: Any = OUTPUTS) -> bytes:
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    return HEAD % len(body) + body


def reset(connection: socket.socket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    connection.close()


def test_a_connection_that_ends_before_an_answer_is_tried_again():
    numbers = []

    def answer(connection, number, over):
        numbers.append(number)
        read_request(connection)
        if number == 1:
            reset(connection)
        if number == 2:
            connection.sendall(whole_answer())

    with raw_server(answer) as url, Client(url, deadline=SECONDS) as client:
        assert list(client.translate(["One."])) == expected(["One."])
    assert numbers == [0, 1, 2]


def test_a_server_that_only_ever_closes():
    with raw_server(lambda connection, number, over: read_request(connection)) as url:
        said = failure(UnavailableError, url, attempts=2)
    assert "closed the connection without an answer; if it requires TLS, use https://" in said
    assert said.endswith("(2 attempts)")


@pytest.mark.parametrize("ending", [reset, socket.socket.close])
def test_an_answer_that_breaks_off(ending):
    numbers = []

    def answer(connection, number, over):
        numbers.append(number)
        read_request(connection)
        connection.sendall(whole_answer()[:-5])
        ending(connection)

    with raw_server(answer) as url:
        assert "the answer ended early" in failure(UnavailableError, url, attempts=2)
    assert numbers == [0, 1]


# Deadlines.


@each_scheme
def test_a_client_that_is_closed_between_attempts(scheme, monkeypatch):
    client = Client(f"{scheme}://127.0.0.1:1", deadline=SECONDS, attempts=1_000)
    monkeypatch.setattr(Call, "pause", lambda call, seconds: client.close())
    with pytest.raises(DeadlineError, match="the client was closed before the answer came"):
        list(client.translate(["a"]))


def test_a_cancelled_call_does_not_wait_for_its_work():
    """As a connection that is being made, or a name that is being resolved."""
    never = threading.Event()
    call: Call[bool] = Call(parse_address("http://localhost:1"), SECONDS)
    call.start(lambda: never.wait(SECONDS))
    call.attempts = 3
    call.cancel()
    with pytest.raises(DeadlineError, match=r"the client was closed .* \(3 attempts\)"):
        call.result()
    with call.broken_off_by(never.set):
        assert never.is_set()


@both
def test_a_slow_answer(serve):
    left = threading.Event()

    def behavior(request):
        if request.wait_until_left():
            left.set()
        return obliging(request)

    with serve(behavior) as served:
        said = failure(DeadlineError, served.url, deadline=0.5)
        assert "no complete answer within 0.5 s" in said
        assert left.wait(SECONDS)
    assert len(served.requests) == 1


@pytest.mark.parametrize("in_one_piece", [0, len(HEAD)])
def test_an_answer_that_trickles(in_one_piece):
    """Each byte comes in time and the answer is a good one; as a whole it is late."""
    endings: queue.SimpleQueue = queue.SimpleQueue()

    def answer(connection, number, over):
        read_request(connection)
        content = whole_answer()
        connection.sendall(content[:in_one_piece])
        try:
            for byte in content[in_one_piece:]:
                connection.sendall(bytes([byte]))
                over.wait(0.1)
            endings.put("sent")
        except ConnectionError:
            endings.put("left")

    with raw_server(answer) as url:
        assert "within 0.5 s" in failure(DeadlineError, url, deadline=0.5)
        assert endings.get(timeout=SECONDS) == "left"


@pytest.mark.parametrize("scheme", ["http", "https", "grpc", "grpcs"])
def test_a_server_that_says_nothing(scheme):
    with raw_server(lambda connection, number, over: over.wait()) as url:
        url = url.replace("http", scheme)
        assert "within 0.5 s" in failure(DeadlineError, url, deadline=0.5)
        with Client(url, deadline=0.5) as client, pytest.raises(DeadlineError):
            client.status()


# Answers that are not what the signature promises.


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"translation": ["a"], "scores": [0.0]}, "has no output 'score'"),
        ({"translation": [], "score": []}, "'translation' has 0 where 1 belong"),
        ({"translation": ["a", "b"], "score": [0.0, 0.0]}, "'translation' has 2 where 1 belong"),
        ({"translation": ["a"], "score": [0.0, 0.0]}, "'score' has 2 where 1 belong"),
        ({"translation": [1.0], "score": [0.0]}, "'translation' has float where text belongs"),
        ({"translation": [["a"]], "score": [0.0]}, "'translation' has list where text belongs"),
        ({"translation": ["a"], "score": ["0"]}, "'score' has str where a number belongs"),
        ({"translation": "a", "score": [0.0]}, "'translation' has str where a list belongs"),
        ({"translation": ["a"], "score": [float("nan")]}, "a number that is not finite"),
        ({"translation": ["a"], "score": [float("-inf")]}, "a number that is not finite"),
    ],
)
@both
def test_columns_that_do_not_fit(serve, columns, said):
    with serve(lambda request: columns) as served:
        told = failure(AnswerError, served.url)
    assert "the answer is not what serving_default promises: " in told
    assert said in told
    assert len(served.requests) == 1


@both
def test_outputs_that_do_not_fit_each_other(serve):
    wide = {"translations": [["a", "b"]], "scores": [[0.0]], "normalized_scores": [[0.0]]}
    with (
        serve(lambda request: wide) as served,
        client_of(served) as client,
        pytest.raises(AnswerError, match="output 'scores' has 1 where 2 belong"),
    ):
        list(client.n_best(["a"]))
    empty: dict[str, list] = {name: [[]] for name in wide}
    with (
        serve(lambda request: empty) as served,
        client_of(served) as client,
        pytest.raises(AnswerError, match="output 'translations' has an empty list"),
    ):
        list(client.n_best(["a"]))


@pytest.mark.parametrize(
    "body",
    [
        b"", b"<html>Hello</html>", b"[1]", b'"text"', b"{}", b'{"outputs": 3}',
        b'{"outputs": null}', b'{"outputs": [1]}', b'{"predictions": ["a"]}', b"[" * 100_000,
        b'{"outputs": {"translation": ["\xff"], "score": [0]}}',
        b'{"outputs": {"translation": ["\\ud800"], "score": [0]}}',
        b'{"outputs": {"translation": [{"b64": "YQ=="}], "score": [0]}}',
        b'{"outputs": {"translation": ["a"], "score": [true]}}',
        b'{"outputs": {"translation": ["a"], "score": [1e40]}}',
        b'{"outputs": {"translation": ["a"], "score": [%s]}}' % (b"9" * 400),
        b'{"outputs": {"translation": ["a"], "score": [null]}}',
    ],
)  # fmt: skip
def test_json_that_is_no_answer(body):
    def answer(connection, number, over):
        read_request(connection)
        connection.sendall(whole_answer(body))

    with raw_server(answer) as url:
        assert "the answer" in failure(AnswerError, url)


@pytest.mark.parametrize("size", [b"-1", b"-5"])
def test_a_chunk_of_a_negative_size(size):
    """`http.client` reads until the server ends, or fails without an error of its own."""

    def answer(connection, number, over):
        read_request(connection)
        head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        connection.sendall(head + size + b"\r\n" + json.dumps(OUTPUTS).encode())

    with raw_server(answer) as url:
        assert "the answer ended early" in failure(UnavailableError, url, attempts=1)


def test_an_answer_is_not_unpacked():
    """A few bytes could become gigabytes."""
    body = gzip.compress(json.dumps(OUTPUTS).encode())

    def answer(connection, number, over):
        read_request(connection)
        head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n"
        connection.sendall(head % len(body) + body)

    with raw_server(answer) as url:
        assert "the answer is not a JSON object" in failure(AnswerError, url)


@pytest.mark.parametrize("values", [b"[]," * 1_000_000, b"1," * (1 << 24)])
def test_an_answer_of_more_values_than_there_are_is_not_parsed(values):
    """As Python objects, they would take many times the memory of their text."""
    assert rest_transport._parsed(b'{"outputs": [%s1, 1]}' % values) is None
    assert rest_transport._parsed(b'{"outputs": [1, 1]}') == {"outputs": [1, 1]}
    keys = b", ".join(b'"%d": 0' % number for number in range(1_000_001))
    assert rest_transport._parsed(b"{%s}" % keys) is None


def test_the_deadline_holds_for_the_reading_of_an_answer(monkeypatch):
    """The answer is whole in time, and reading it takes no time at all; yet its time is over."""
    parse = rest_transport._parsed

    def parse_late(body):
        monkeypatch.setattr(Call, "remaining", lambda call: 0.0)
        return parse(body)

    monkeypatch.setattr(rest_transport, "_parsed", parse_late)
    with over_http() as served:
        assert "no complete answer within" in failure(DeadlineError, served.url)


def test_a_status_that_is_none():
    infinite = {"version": math.inf, "state": "AVAILABLE"}
    for one in (None, 3, {"state": "AVAILABLE"}, {"version": "x", "state": "END"}, infinite):
        with (
            over_http(statuses=one and [one]) as served,
            client_of(served) as client,
            pytest.raises(AnswerError, match="is not the status"),
        ):
            client.status()
    with (
        over_http(statuses=[infinite]) as served,
        client_of(served) as client,
        pytest.raises(AnswerError, match="does not name a version"),
    ):
        client.served_version()


def grpc_answering(answer: bytes) -> Any:
    """A gRPC server that answers every call with these bytes."""
    import grpc

    class Handler(grpc.GenericRpcHandler):
        def service(self, details: Any) -> Any:
            return grpc.unary_unary_rpc_method_handler(lambda request, context: answer)

    @contextlib.contextmanager
    def serving() -> Iterator[str]:
        server = grpc.server(ThreadPoolExecutor(2), handlers=[Handler()])
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        try:
            yield f"grpc://127.0.0.1:{port}"
        finally:
            server.stop(None).wait()

    return serving()


def test_an_idle_connection_is_closed(monkeypatch):
    """Before a firewall forgets it: calls on it would wait for their deadlines."""
    import grpc

    monkeypatch.setattr(grpc_transport, "_IDLE_MS", 50)
    with (
        grpc_answering(b"") as url,
        grpc_transport._channel(parse_address(url), Tls(), 1 << 20) as channel,
    ):
        channel.unary_unary("/any/method")(b"")
        states: queue.Queue[Any] = queue.Queue()
        channel.subscribe(states.put)
        while states.get(timeout=SECONDS) is not grpc.ChannelConnectivity.IDLE:
            pass


def test_a_connection_whose_other_end_is_gone_is_given_up(monkeypatch):
    """As of a machine without power; the library then also shortens the system's time."""
    import grpc

    options: dict[str, Any] = {}
    monkeypatch.setattr(grpc, "insecure_channel", lambda target, given: options.update(given))
    grpc_transport._channel(parse_address("grpc://localhost:8500"), Tls(), 1 << 20)
    assert options["grpc.keepalive_time_ms"] > 300_000  # servers refuse pings within 5 minutes


def test_a_state_that_is_unknown():
    answer = serving_pb2.GetModelStatusResponse()
    answer.model_version_status.add(version=1, state=99)
    with grpc_answering(answer.SerializeToString()) as url, Client(url) as client:
        assert client.status() == [VersionStatus(1, "99", "OK", "")]


def test_tensors_that_are_no_answer():
    import tensorflow as tf
    from tensorflow_serving.apis.predict_pb2 import PredictResponse

    text, score = tf.make_tensor_proto(["a"]), tf.make_tensor_proto([0.5])
    not_utf8 = tf.make_tensor_proto([b"\xff"])
    whole_numbers = tf.make_tensor_proto([1])
    too_few = tf.make_tensor_proto([0.5])
    too_few.float_val[:] = []
    odd = tf.make_tensor_proto([0.5])
    odd.tensor_content = b"\0\0\0"
    for outputs, said in (
        ({}, "has no output 'translation'"),
        ({"translation": not_utf8, "score": score}, "'translation' has text that is not UTF-8"),
        ({"translation": text, "score": whole_numbers}, "'score' is neither text nor float32"),
        ({"translation": text, "score": too_few}, "'score' has 0 values for the shape [1]"),
        ({"translation": text, "score": odd}, "'score' has bytes that are not float32"),
    ):
        answer = PredictResponse()
        for name, tensor in outputs.items():
            answer.outputs[name].CopyFrom(tensor)
        with grpc_answering(answer.SerializeToString()) as url:
            assert said in failure(AnswerError, url)
    with grpc_answering(b"\xff\xff\xff") as url:
        assert "is not a message of TensorFlow Serving" in failure(AnswerError, url)


# Other servers.


def test_a_grpc_server_spoken_to_over_rest():
    with over_grpc() as served:
        said = failure(AddressError, served.url.replace("grpc", "http"))
    assert f"does not speak REST at port {said.rpartition(':')[2]}; " in said
    assert said.endswith(f"if this is its gRPC port, use {served.url}")


def test_a_rest_server_spoken_to_over_grpc():
    with over_http() as served:
        said = failure(AddressError, served.url.replace("http", "grpc"))
    assert said.endswith(f"if this is its REST port, use {served.url}")


@pytest.mark.parametrize(
    ("status", "kind", "tries"),
    [
        *((status, UnavailableError, 3) for status in (429, 502, 503)),
        (504, DeadlineError, 1),
        (500, ServerError, 1),
        *((status, RequestError, 1) for status in (401, 403)),
    ],
)
def test_a_gateway_that_answers_in_html(status, kind, tries):
    class Gateway(HttpHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.served.requests.append(Request("m", "", {}, self.wait_until_left))
            self.send_error(status)

    with over_http(handler=Gateway) as served:
        assert f": HTTP {status} '" in failure(kind, served.url, attempts=3)
    assert len(served.requests) == tries


@pytest.mark.parametrize("status", [302, 404, 405, 418])
def test_another_http_server(status):
    class Page(HttpHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(status)
            self.send_header("Content-Length", "6")
            self.send_header("Location", "/elsewhere")
            self.end_headers()
            self.wfile.write(b"<html>")

    with over_http(handler=Page) as served:
        said = failure(AddressError, served.url)
    assert f"not what TensorFlow Serving's REST port answers: HTTP {status} '<html>'" in said


def test_another_server():
    def answer(connection, number, over):
        connection.sendall(b"220 mail.example.com ESMTP\r\n")
        over.wait()

    with raw_server(answer) as url:
        assert "does not answer in HTTP" in failure(AddressError, url)


# Sizes.


@both
def test_messages_larger_than_the_client_takes(serve):
    def behavior(request):
        return {"translation": ["x" * 10_000], "score": [0.0]}

    with serve(behavior) as served:
        said = failure(MessageSizeError, served.url, max_message_bytes=5_000)
        assert "a smaller batch_size may help" in said
        assert len(served.requests) == 1
        failure(MessageSizeError, served.url, max_message_bytes=10)
        assert len(served.requests) == 1  # a large request is not sent


def test_messages_larger_than_a_grpc_server_takes():
    with over_grpc(options=[("grpc.max_receive_message_length", 10)]) as served:
        assert "a smaller batch_size may help" in failure(MessageSizeError, served.url)


def test_messages_larger_than_an_http_server_takes():
    agents = []

    class Small(HttpHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            agents.append(self.headers["User-Agent"])
            self.send_error(413)

    with over_http(handler=Small) as served:
        assert "a smaller batch_size may help: HTTP 413" in failure(MessageSizeError, served.url)
    assert agents == [f"rnnsearch_tf/{rnnsearch_tf.__version__}"]
