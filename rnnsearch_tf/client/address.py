"""Addresses of servers, certificates of connections to them, and names of models on them."""

import os
import re
import ssl
import urllib.parse
from pathlib import Path
from typing import NamedTuple

from rnnsearch_tf.errors import InputError, UsageError, input_errors
from rnnsearch_tf.given_texts import checked_text

_SCHEMES = ("http", "https", "grpc", "grpcs")
_LABEL = r"[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
_HOST = re.compile(rf"{_LABEL}(\.{_LABEL})*\.?|[0-9a-f:.]*:[0-9a-f:.]*")  # a name, IPv4 or IPv6


class Address(NamedTuple):
    """A server's address."""

    scheme: str
    host: str  # without the brackets of IPv6
    port: int

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}"

    @property
    def authority(self) -> str:
        """Host and port as in a URL."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    @property
    def is_rest(self) -> bool:
        """Whether the protocol is REST; it is gRPC otherwise."""
        return self.scheme in ("http", "https")

    @property
    def is_secure(self) -> bool:
        """Whether the connection is TLS."""
        return self.scheme in ("https", "grpcs")


class ModelSpec(NamedTuple):
    """A model by name, with a version or a label; with neither, the server chooses."""

    name: str
    version: int | None
    label: str | None

    def __str__(self) -> str:
        if self.version is not None:
            return f"version {self.version} of model {self.name}"
        if self.label is not None:
            return f"label {self.label} of model {self.name}"
        return f"model {self.name}"


def parse_address(text: str) -> Address:
    """Read an address such as `http://host:8501`; UsageError unless scheme://host:port."""
    try:
        parts = urllib.parse.urlsplit(text)
        host, port = parts.hostname or "", parts.port
    except ValueError as error:
        raise UsageError(f"server {text!r}: {error}") from error
    if parts.scheme not in _SCHEMES:
        raise UsageError(f"server {text!r}: must begin with one of {', '.join(_SCHEMES)} and ://")
    if not _HOST.fullmatch(host):
        raise UsageError(f"server {text!r}: {host!r} is not a host name")
    if not port:
        raise UsageError(
            f"server {text!r}: has no port; TensorFlow Serving's are 8501 for REST, 8500 for gRPC"
        )
    address = Address(parts.scheme, host, port)
    rest = parts._replace(scheme="", netloc="", path=parts.path.removesuffix("/"))
    if rest.geturl() or "@" in parts.netloc:
        raise UsageError(f"server {text!r}: is more than scheme, host and port: {address}")
    return address


def model_spec(name: str, version: int | None, label: str | None) -> ModelSpec:
    """Make a `ModelSpec`; InputError for names that are not Unicode, or incompatible ones."""
    if not name:
        raise UsageError("model: must have a name")
    if version is not None and label is not None:
        raise UsageError(f"version {version} and label {label!r}: give only one of them")
    if version is not None and version < 0:
        raise UsageError(f"version {version}: must not be negative")
    if label == "":
        raise UsageError("label: must not be empty")
    checked_text(name, "model")
    checked_text(label or "", "label")
    return ModelSpec(name, version, label)


class Tls(NamedTuple):
    """PEM files; without them, the server needs a certificate that the system trusts."""

    ca_certificate: str | Path | None = None  # trusted in place of the system's authorities
    client_certificate: str | Path | None = None  # for a server that asks for one
    client_key: str | Path | None = None  # unless the certificate's file holds it

    def context(self) -> ssl.SSLContext:
        """Make Python's TLS settings; InputError for a bad file, UsageError for a key alone."""
        if self.client_key and not self.client_certificate:
            raise UsageError("client_key: needs a client_certificate")
        for path in self:
            _content(path)  # for its error: that of `ssl` does not name the file
        try:
            context = ssl.create_default_context(cafile=self.ca_certificate)
        except ssl.SSLError as error:
            raise InputError(f"{self.ca_certificate}: holds no PEM certificate") from error
        if self.client_certificate:
            try:
                # Without a password given here, one would be asked for on the terminal.
                context.load_cert_chain(self.client_certificate, self.client_key, password="")
            except ssl.SSLError as error:
                raise InputError(
                    f"{self.client_certificate}: not a PEM certificate with its private key "
                    f"(without a password) in {self.client_key or 'the same file'}"
                ) from error
        return context

    def contents(self) -> tuple[bytes | None, bytes | None, bytes | None]:
        """Check and read authorities, client key and client certificate, in gRPC's order."""
        self.context()  # gRPC itself would notice a bad file only at the first call
        authorities = self.ca_certificate or _system_authorities()
        key = self.client_key or self.client_certificate
        return _content(authorities), _content(key), _content(self.client_certificate)


def _system_authorities() -> str | None:
    """Return the file of the system's authorities; None leaves the choice to gRPC."""
    is_chosen = "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH" in os.environ
    return None if is_chosen else ssl.get_default_verify_paths().cafile


def _content(path: str | Path | None) -> bytes | None:
    if not path:
        return None
    with input_errors(path):
        return Path(path).read_bytes()
