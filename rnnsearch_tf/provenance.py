"""Provenance of results: command, date, machine, versions, commit, and a digest of the code."""

import contextlib
import datetime
import functools
import platform
import subprocess
from pathlib import Path
from typing import NamedTuple

import keras
import numpy as np
import sacrebleu
import tensorflow as tf

import rnnsearch_tf
from rnnsearch_tf.digests import file_digest, json_digest
from rnnsearch_tf.threads import cores

_PACKAGE = Path(rnnsearch_tf.__file__).parent
_CPU_NUMBERS = (("family", "cpu family"), ("model", "model"))


class Provenance(NamedTuple):
    """Provenance of a result."""

    command: str
    date: str  # UTC
    hardware: str
    versions: dict[str, str]
    commit: str | None  # of the checkout that contains the package, if one does


def provenance(command: str) -> Provenance:
    """Return the provenance of what a command line makes now."""
    return Provenance(
        command,
        datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        hardware(),
        library_versions(),
        commit(),
    )


def library_versions() -> dict[str, str]:
    """Return the versions of this package, Python, and the libraries that results depend on."""
    libraries = {"tensorflow": tf, "keras": keras, "numpy": np, "sacrebleu": sacrebleu}
    return {
        "rnnsearch_tf": rnnsearch_tf.__version__,
        "python": platform.python_version(),
        **{name: library.__version__ for name, library in libraries.items()},
    }


@functools.cache
def software() -> str:
    """Return the versions that training depends on, with this package's commit, if it has one."""
    state = commit()
    own = rnnsearch_tf.__version__ + (f" ({state})" if state else "")
    return f"rnnsearch_tf {own}, TensorFlow {tf.__version__}, Keras {keras.__version__}"


def hardware(most: int | None = None) -> str:
    """Describe the GPUs that TensorFlow sees, at most `most`, or else the CPU, with a count."""
    gpus = tf.config.get_visible_devices("GPU")[:most]
    if gpus:
        details = tf.config.experimental.get_device_details(gpus[0])
        return f"{len(gpus)} × {details.get('device_name', 'GPU')}"
    count = cores()
    return f"CPU, {count} {'core' if count == 1 else 'cores'} of {processor()}"


def processor() -> str:
    """Return the processor's name; on Linux with family and model, as names can be ambiguous."""
    facts = _cpu_facts()
    if not facts:
        return platform.processor() or platform.machine()
    numbers = [f"{name} {facts[key]}" for name, key in _CPU_NUMBERS if key in facts]
    name = facts.get("model name", platform.machine())
    return f"{name} ({', '.join(numbers)})" if numbers else name


def lacks_bfloat16() -> bool:
    """Whether products run on a CPU that is known to lack instructions for bfloat16."""
    facts = _cpu_facts()
    features = facts.get("flags") or facts.get("Features", "")  # of x86, of Arm
    has_gpu = bool(tf.config.get_visible_devices("GPU"))
    return bool(features) and "bf16" not in features and not has_gpu


def _cpu_facts() -> dict[str, str]:
    """Read what Linux reports about the first core; empty on other systems."""
    facts: dict[str, str] = {}
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text("utf-8").splitlines():
            name, _, value = line.partition(":")
            facts.setdefault(name.strip(), value.strip())
    return facts


def commit() -> str | None:
    """Return the package's commit; None for an installed package.

    It ends in "-dirty" where files differ from the commit.
    """
    # A package installed below somebody else's checkout is not tracked there.
    if _git("ls-files", "--error-unmatch", "__init__.py") is None:
        return None
    return _git("describe", "--always", "--dirty", "--abbrev=12", "--exclude=*")


def code_fingerprint(package: Path = _PACKAGE) -> str:
    """Return the SHA-256 of a package's Python sources and word tables, and their paths.

    It distinguishes states of the code that have the same version.
    """
    paths = [*package.rglob("*.py"), *package.rglob("*.txt")]
    return json_digest({path.relative_to(package).as_posix(): file_digest(path) for path in paths})


def _git(*arguments: str) -> str | None:
    """Run git in the package's folder; None if that fails, or git is absent."""
    try:
        finished = subprocess.run(
            ["git", "-C", str(_PACKAGE), *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # it may name a folder in another encoding
            text=True,
        )
    except OSError:
        return None
    return finished.stdout.strip() if finished.returncode == 0 else None
