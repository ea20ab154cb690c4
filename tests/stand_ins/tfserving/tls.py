"""The file of --ssl_config_file."""

import dataclasses
import json
import ssl
import tempfile
from pathlib import Path

import grpc

from tfserving.text_message import read_message

_FIELDS = {"server_key": "string", "server_cert": "string"}


@dataclasses.dataclass(frozen=True)
class Tls:
    """Key and certificate, in PEM.

    Args:
        server_key: the private key.
        server_cert: the certificate, with its chain.
    """

    server_key: str
    server_cert: str

    def grpc_credentials(self) -> grpc.ServerCredentials:
        """For gRPC."""
        pair = (self.server_key.encode(), self.server_cert.encode())
        return grpc.ssl_server_credentials([pair])

    def context(self) -> ssl.SSLContext:
        """For HTTP."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:
            file.write(f"{self.server_key}\n{self.server_cert}")
            file.flush()
            context.load_cert_chain(file.name)
        return context


def read_ssl_config(path: str | Path) -> Tls:
    """Read the file, an SSLConfig message in text form.

    Raises:
        ValueError: it is no such message.
    """
    message = read_message(path, _FIELDS)
    return Tls(**{name: getattr(message, name) for name in _FIELDS})


def write_ssl_config(path: str | Path, key: str | Path, certificate: str | Path) -> Path:
    """Write an SSLConfig of PEM files in text form; returns `path`."""
    fields = {"server_key": key, "server_cert": certificate}
    lines = (f"{name}: {json.dumps(Path(pem).read_text())}\n" for name, pem in fields.items())
    Path(path).write_text("".join(lines))
    return Path(path)
