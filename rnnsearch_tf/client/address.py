"""Addresses of servers, and names of models on them."""

import re
import urllib.parse
from typing import NamedTuple

from rnnsearch_tf.errors import UsageError

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
        raise UsageError(f"server {text!r}: begins with none of {', '.join(_SCHEMES)} and ://")
    if not _HOST.fullmatch(host):
        raise UsageError(f"server {text!r}: {host!r} is no host name")
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
    """Make a `ModelSpec`; raise a UsageError where its values do not go together."""
    if not name:
        raise UsageError("model: must have a name")
    if version is not None and label is not None:
        raise UsageError(
            f"version {version} and label {label!r}: only one of them can be asked for"
        )
    if version is not None and version < 0:
        raise UsageError(f"version {version}: must not be negative")
    if label == "":
        raise UsageError("label: must not be empty")
    return ModelSpec(name, version, label)
