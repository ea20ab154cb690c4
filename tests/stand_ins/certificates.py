"""Certificates for tests of TLS, made with the openssl command."""

import shutil
import subprocess
from pathlib import Path

import pytest

_KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]


class Authority:
    """A certificate authority of the test's own, in `folder`/ca.pem."""

    def __init__(self, folder: Path):
        if shutil.which("openssl") is None:
            pytest.skip("the openssl command is missing")
        self._folder = folder
        self.certificate = folder / "ca.pem"
        # Python 3.13 asks for the use of the key, and for the authority's key in each certificate.
        constraints = ["-addext", "basicConstraints=critical,CA:TRUE"]
        constraints += ["-addext", "keyUsage=critical,keyCertSign,cRLSign"]
        self._openssl(
            "req", "-x509", *_KEY, "-days", "2", "-subj", "/CN=Test CA", *constraints,
            "-keyout", "ca.key", "-out", "ca.pem",
        )  # fmt: skip

    def issue(self, name: str, alternative_names: str) -> tuple[Path, Path]:
        """Certificate and key, made out to names such as DNS:localhost,IP:127.0.0.1."""
        self._openssl(
            "req", *_KEY, "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.csr"
        )
        (self._folder / f"{name}.ext").write_text(
            f"subjectAltName={alternative_names}\nauthorityKeyIdentifier=keyid\n"
        )
        self._openssl(
            "x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key",
            "-CAcreateserial", "-days", "2", "-extfile", f"{name}.ext", "-out", f"{name}.pem",
        )  # fmt: skip
        return self._folder / f"{name}.pem", self._folder / f"{name}.key"

    def _openssl(self, *arguments: str) -> None:
        subprocess.run(["openssl", *arguments], check=True, capture_output=True, cwd=self._folder)
