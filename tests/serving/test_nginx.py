"""nginx.conf in nginx: the page, the way to the model server, headers and limits."""

import gzip
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
import urllib3
from scripted_model import (
    SECONDS,
    Columns,
    Request,
    Served,
    client_of,
    expected,
    obliging,
    over_http,
)
from scripted_page_server import EXPORT, HEADERS, PAGE

from rnnsearch_tf.client import Client, MessageSizeError

NGINX = shutil.which("nginx", path=f"{os.environ['PATH']}{os.pathsep}/usr/sbin")
pytestmark = [
    pytest.mark.serving,
    pytest.mark.skipif(NGINX is None, reason="nginx is not installed"),
    pytest.mark.skipif(sys.platform != "linux", reason="needs many addresses of this machine"),
]

# What the image's own nginx.conf has around conf.d/default.conf.
AROUND = """
daemon off;
worker_processes 1;
pid pid;
error_log stderr;
events {{ worker_connections 256; }}
http {{
    access_log off;
    types {{ text/html html; }}
    client_body_temp_path body;
    proxy_temp_path proxy;
    fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi;
    scgi_temp_path scgi;
    {server}
}}
"""


class Front(NamedTuple):
    """nginx, and the model server behind it."""

    url: str
    served: Served

    def ask(
        self,
        path: str,
        method: str = "GET",
        host: str = "127.0.0.1",
        body: bytes | None = None,
        headers: dict[str, str] | None = None,
    ):
        pool = urllib3.PoolManager(source_address=(host, 0), headers=headers)
        return pool.request(method, f"{self.url}{path}", body=body, retries=False)


IN_COMPOSE = EXPORT / "nginx.conf"
IN_KUBERNETES = EXPORT / "kubernetes" / "ingress" / "nginx.conf"


def configuration(file: Path, port: int, inner: int, served: Served) -> str:
    conf = file.read_text("utf-8")
    for there, here in (
        ("listen 8080;", f"listen 127.0.0.1:{port};"),
        ("listen 127.0.0.1:8081;", f"listen 127.0.0.1:{inner};"),
        ("http://127.0.0.1:8081;", f"http://127.0.0.1:{inner};"),
        ("serving:8501" if file == IN_COMPOSE else "rnnsearch:8501", served.url.split("//")[1]),
        ("/usr/share/nginx/html", str(PAGE)),
    ):
        assert conf.count(there) == 1
        conf = conf.replace(there, here)
    conf = conf.replace("set_real_ip_from 10.0.0.0/8;", "set_real_ip_from 127.0.0.0/8;")
    return AROUND.format(server=conf)


@pytest.fixture(scope="module")
def front(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Front]:
    yield from run(IN_COMPOSE, tmp_path_factory.mktemp("nginx"))


@pytest.fixture(scope="module")
def front_in_kubernetes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Front]:
    yield from run(IN_KUBERNETES, tmp_path_factory.mktemp("nginx"))


WAITED_FOR = threading.Event()


def obliging_unless_asked_to_wait(request: Request) -> Columns:
    if request.inputs["text"] == ["Wait."]:
        WAITED_FOR.wait(SECONDS)
    return obliging(request)


def run(file: Path, folder: Path) -> Iterator[Front]:
    place = ("127.0.0.1", 0)
    with socket.create_server(place) as probe, socket.create_server(place) as other:
        port, inner = (server.getsockname()[1] for server in (probe, other))
    with over_http(obliging_unless_asked_to_wait) as served:
        (folder / "nginx.conf").write_text(configuration(file, port, inner, served))
        process = start(folder)
        try:
            wait_for(port, process)
            yield Front(f"http://127.0.0.1:{port}", served)
        finally:
            process.terminate()
            process.wait()


def start(folder: Path) -> subprocess.Popen[bytes]:
    assert NGINX is not None
    command = [NGINX, "-p", f"{folder}/", "-c", str(folder / "nginx.conf")]
    return subprocess.Popen([*command, *(["-g", "user root;"] if os.geteuid() == 0 else [])])


def wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    while process.poll() is None:
        try:
            return socket.create_connection(("127.0.0.1", port)).close()
        except ConnectionRefusedError:
            time.sleep(0.01)
    raise AssertionError("nginx does not start")


@pytest.mark.parametrize(
    ("path", "method", "status"),
    [
        ("/", "GET", 200),
        ("/page.js", "GET", 200),
        ("/nothing", "GET", 404),
        ("/v1/models/rnnsearch", "GET", 200),
        ("/v1/models/rnnsearch", "PUT", 403),
        ("/v1/models/rnnsearch", "DELETE", 403),
        ("/monitoring/prometheus/metrics", "GET", 404),
    ],
)
def test_what_is_answered_and_with_which_headers(front, path, method, status):
    answer = front.ask(path, method)
    assert answer.status == status
    assert {name: answer.headers.getlist(name) for name in HEADERS} == {
        name: [value] for name, value in HEADERS.items()
    }
    assert answer.headers["Server"] == "nginx"


def test_who_names_no_version_means_the_stable_one(front):
    for version, meant in ((None, "labels/stable"), (1, "versions/1")):
        with Client(front.url, version=version, deadline=SECONDS) as client:
            assert list(client.translate(["One."])) == expected(["One."])
        assert front.served.requests[-1].model == f"rnnsearch/{meant}"


def test_a_long_text_is_refused(front):
    known = len(front.served.requests)
    body = json.dumps({"instances": ["x" * 262_144]}).encode()
    answer = front.ask("/v1/models/rnnsearch:predict", "POST", body=body)
    assert answer.status == 413
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.json() == {"error": "The text is longer than 256 kB."}
    with client_of(Served(front.url, [])) as client, pytest.raises(MessageSizeError):
        list(client.translate(["x" * 262_144]))
    assert len(front.served.requests) == known
    longest = ["x" * 15] * 16_000  # as many bytes as 32 sentences of 500 tokens have
    with Client(front.url, deadline=SECONDS, batch_size=len(longest)) as client:
        assert len(list(client.translate([" ".join(longest)]))) == 1


def test_too_many_requests_are_refused_to_the_address_that_sends_them(front):
    many = (front.ask("/v1/models/rnnsearch", host="127.0.0.2") for _ in range(10_000))
    refused = next(answer for answer in many if answer.status != 200)
    assert refused.status == 429
    assert refused.json() == {"error": "Too many requests: wait a few seconds."}
    assert front.ask("/v1/models/rnnsearch", host="127.0.0.3").status == 200
    assert front.ask("/", host="127.0.0.2").status == 200


WAIT = json.dumps({"signature_name": "", "inputs": {"text": ["Wait."]}}).encode()


@pytest.mark.parametrize(
    ("body", "network"),
    [(b"{", "127.0.1"), (WAIT, "127.0.2")],
    ids=["slow uploads", "slow answers"],
)
def test_open_requests_are_limited_for_each_address_and_with_the_model_for_all(
    front, body, network
):
    """Uploads that never end are limited for each address alone.

    The model server goes on computing answers that nobody waits for any more, so they count.
    """
    is_upload = body != WAIT

    def begun(host: str) -> socket.socket:
        """A request that waits; as quick as many at once may be."""
        place = ("127.0.0.1", int(front.url.rpartition(":")[2]))
        connection = socket.create_connection(place, source_address=(host, 0))
        head = (
            f"POST /v1/models/rnnsearch:predict HTTP/1.1\r\nHost: a\r\nContent-Length: {len(WAIT)}"
        )
        connection.sendall(f"{head}\r\n\r\n".encode() + body)
        return connection

    def status(host: str) -> int:
        time.sleep(0.3)  # in which the rate allows three more
        return front.ask("/v1/models/rnnsearch", host=host).status

    WAITED_FOR.clear()
    one, other, third, last = (f"{network}.{number}" for number in range(1, 5))
    held = [begun(one) for _ in range(20)]
    assert status(one) == 429
    assert status(other) == 200
    held.pop().close()
    assert status(one) == (200 if is_upload else 429)
    held += [begun(host) for host in [*[one] * is_upload, *[other] * 19, *[third] * 11]]
    assert status(last) == (200 if is_upload else 429)
    for connection in held:
        connection.close()
    assert status(last) == (200 if is_upload else 429)
    WAITED_FOR.set()
    assert 200 in (status(last) for _ in range(100))


def test_a_compressed_request_is_refused(front):
    body = gzip.compress(json.dumps({"instances": ["One."]}).encode())
    headers = {"Content-Encoding": "gzip"}
    answer = front.ask("/v1/models/rnnsearch:predict", "POST", body=body, headers=headers)
    assert answer.status == 415
    assert answer.json() == {"error": "Send the request without compression."}


@pytest.mark.parametrize(
    "chain",
    ["192.0.2.{}", "192.0.3.{}, 172.16.0.5", "192.0.2.9, 192.0.4.{}"],
    ids=["an ingress", "a load balancer before it", "an address that the client has invented"],
)
def test_behind_an_ingress_each_client_has_a_limit_of_its_own(front_in_kubernetes, chain):
    def ask(client: int) -> int:
        headers = {"X-Forwarded-For": chain.format(client)}
        answer = front_in_kubernetes.ask("/v1/models/rnnsearch", headers=headers)
        assert {name: answer.headers[name] for name in HEADERS} == HEADERS
        return answer.status

    assert next(status for status in (ask(1) for _ in range(10_000)) if status != 200) == 429
    assert ask(2) == 200


@pytest.mark.parametrize("network", ["2001:db8:1:2:{:x}::", "2001:db8::{:x}"])
def test_a_network_of_ipv6_has_the_limit_of_an_address(front_in_kubernetes, network):
    def ask(client: str) -> int:
        headers = {"X-Forwarded-For": client}
        return front_in_kubernetes.ask("/v1/models/rnnsearch", headers=headers).status

    statuses = (ask(network.format(number)) for number in range(1, 10_000))
    assert next(status for status in statuses if status != 200) == 429
    assert ask("2001:db8:1:3::1") == 200


def test_the_two_configurations_differ_in_names_and_addresses_alone():
    about = re.compile(
        r"#|resolver|set \$model_server|proxy_pass|(set_)?real_ip|limit_conn open \d"
    )
    one, other = (
        [
            line
            for line in file.read_text("utf-8").splitlines()
            if not about.match(line.strip()) or not line
        ]
        for file in (IN_COMPOSE, IN_KUBERNETES)
    )
    assert one == other
