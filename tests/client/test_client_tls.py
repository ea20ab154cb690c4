"""The client of a served model: secure connections."""

import socket
import ssl
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest
from certificates import Authority
from scripted_model import SECONDS, expected, failure, over_grpc, over_http

from rnnsearch_tf.client import Client, Tls, TlsError, UnavailableError
from rnnsearch_tf.errors import InputError

pytestmark = pytest.mark.serving

LINES = ["One.", "Two."]


class Files(NamedTuple):
    ca: Path
    server: tuple[Path, Path]  # certificate and key
    elsewhere: tuple[Path, Path]
    user: tuple[Path, Path]
    other_ca: Path


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    authority = Authority(tmp_path_factory.mktemp("authority"))
    return Files(
        authority.certificate,
        authority.issue("server", "DNS:localhost,IP:127.0.0.1"),
        authority.issue("elsewhere", "DNS:elsewhere.example,IP:127.0.0.2"),
        authority.issue("user", "DNS:user"),
        Authority(tmp_path_factory.mktemp("other")).certificate,
    )


def secure_http(pair, wanted_ca=None):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*pair)
    if wanted_ca:
        context.load_verify_locations(wanted_ca)
        context.verify_mode = ssl.CERT_REQUIRED
    return over_http(context=context)


def secure_grpc(pair, wanted_ca=None):
    import grpc

    certificate, key = (path.read_bytes() for path in pair)
    wanted = wanted_ca.read_bytes() if wanted_ca else None
    return over_grpc(
        credentials=grpc.ssl_server_credentials([(key, certificate)], wanted, bool(wanted))
    )


both = pytest.mark.parametrize("serve", [secure_http, secure_grpc], ids=["https", "grpcs"])
both_plain = pytest.mark.parametrize("serve", [over_http, over_grpc], ids=["http", "grpc"])


@both
def test_a_trusted_server(serve, files):
    with serve(files.server) as served:
        for url in (served.url, served.url.replace("127.0.0.1", "localhost")):
            with Client(url, deadline=SECONDS, batch_size=1, tls=Tls(files.ca)) as client:
                assert list(client.translate(LINES)) == expected(LINES)
                assert client.status()


def test_a_host_with_a_dot_at_its_end(files, monkeypatch):
    resolve, asked = socket.getaddrinfo, []

    def resolve_localhost(host, *arguments, **options):
        asked.append(host)
        return resolve("127.0.0.1", *arguments, **options)

    monkeypatch.setattr(socket, "getaddrinfo", resolve_localhost)
    with secure_http(files.server) as served:
        url = served.url.replace("127.0.0.1", "localhost.")
        with Client(url, deadline=SECONDS, tls=Tls(files.ca)) as client:
            assert list(client.translate(LINES)) == expected(LINES)
    assert asked == ["localhost."]


@both
def test_a_server_that_nobody_vouches_for(serve, files):
    with serve(files.server) as served:
        for tls in (Tls(files.other_ca), None):
            said = failure(TlsError, served.url, tls=tls)
            assert "its certificate is not trusted (" in said
            assert "issuer" in said
            assert "name the authority with ca_certificate" in said
            assert "attempts" not in said


@both
def test_a_certificate_made_out_to_another(serve, files):
    with serve(files.elsewhere) as served:
        said = failure(TlsError, served.url, tls=Tls(files.ca))
        assert said.endswith("its certificate is not valid for 127.0.0.1")
        url = served.url.replace("127.0.0.1", "localhost")
        assert "not valid for localhost" in failure(TlsError, url, tls=Tls(files.ca))


@both_plain
def test_a_plain_server_behind_a_secure_address(serve, files):
    with serve() as served:
        scheme = served.url.partition(":")[0]
        url = served.url.replace(scheme, f"{scheme}s")
        assert f"does not speak TLS; try {scheme}://" in failure(TlsError, url, tls=Tls(files.ca))


@both
def test_a_secure_server_behind_a_plain_address(serve, files):
    with serve(files.server) as served:
        scheme = served.url.partition(":")[0]
        url = served.url.replace(scheme, scheme[:-1])
        said = failure(UnavailableError, url, attempts=2)
        assert f"if it requires TLS, use {scheme}://" in said


@both
def test_a_server_that_wants_a_certificate(serve, files, tmp_path):
    in_one_file = tmp_path / "both.pem"
    in_one_file.write_bytes(b"".join(path.read_bytes() for path in files.user))
    with serve(files.server, files.ca) as served:
        for tls in (Tls(files.ca, *files.user), Tls(files.ca, in_one_file)):
            with Client(served.url, deadline=SECONDS, tls=tls) as client:
                assert list(client.translate(LINES)) == expected(LINES)
        with (
            Client(served.url, deadline=SECONDS, attempts=1, tls=Tls(files.ca)) as client,
            pytest.raises((TlsError, UnavailableError), match=r"(?i)certificate"),
        ):
            list(client.translate(LINES))


@pytest.mark.parametrize("scheme", ["https", "grpcs"])
def test_files_that_cannot_be_used(scheme, files, tmp_path):
    no_pem = tmp_path / "no.pem"
    no_pem.write_text("not a certificate\n")
    locked = tmp_path / "locked.key"
    lock = ["openssl", "pkcs8", "-topk8", "-in", files.user[1], "-out", locked]
    subprocess.run([*lock, "-passout", "pass:secret"], check=True)
    certificate, key = files.user
    for tls, said in (
        (Tls(tmp_path / "none"), "none: No such file"),
        (Tls(None, certificate, tmp_path / "none"), "none: No such file"),
        (Tls(no_pem), "no.pem: holds no PEM certificate"),
        (Tls(None, no_pem, key), "not a PEM certificate with its private key"),
        (Tls(None, certificate), "in the same file"),
        (Tls(None, certificate, files.server[1]), "not a PEM certificate with its private key"),
        (Tls(None, certificate, locked), "without a password"),
        (Tls(None, None, key), "client_key: needs a client_certificate"),
    ):
        with pytest.raises(InputError, match=said):
            Client(f"{scheme}://localhost:1", tls=tls)
