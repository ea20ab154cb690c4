"""Certificates of secure connections."""

import ssl
from pathlib import Path
from typing import NamedTuple

from rnnsearch_tf.errors import InputError, UsageError, input_errors


class Tls(NamedTuple):
    """PEM files; without them, the server needs a certificate that the system trusts."""

    ca_certificate: str | Path | None = None  # trusted in place of the system's authorities
    client_certificate: str | Path | None = None  # for a server that asks for one
    client_key: str | Path | None = None  # unless the certificate's file holds it

    def context(self) -> ssl.SSLContext:
        """Make the settings for Python's TLS; InputError for a file that is not of its purpose."""
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
        """Read authorities, client key and client certificate, as gRPC orders them, checked."""
        self.context()  # gRPC itself would notice a bad file at the first call only
        key = self.client_key or self.client_certificate
        return _content(self.ca_certificate), _content(key), _content(self.client_certificate)


def _content(path: str | Path | None) -> bytes | None:
    if not path:
        return None
    with input_errors(path):
        return Path(path).read_bytes()
