"""The machines of a training run: given as a list of hosts, or by TF_CONFIG, or by SLURM."""

import dataclasses
import itertools
import re
import reprlib
from collections.abc import Iterator, Mapping

from rnnsearch_tf.errors import InputError, UsageError
from rnnsearch_tf.json_files import parse_json, typed

_PORT = 2222  # of hosts that are named without one
_JOB_PORTS = 10_000  # the number of ports and the first one, below those of Linux for clients
_EXAMPLE = '{"cluster": {"worker": ["host:port", …]}, "task": {"type": "worker", "index": 0}}'
ROLES = ("chief", "worker")  # a chief of its own, as Vertex AI has it, is the first worker
_PART = r"(?:[\w.:-]|\[[\d,-]+\])+"
# TF_CONFIG may have IPv6 addresses; in lists of hosts, brackets are ranges.
_HOST = re.compile(r"(?:[A-Za-z0-9][\w.-]*|\[[\dA-Fa-f:.]+\]):([1-9]\d{0,4})", re.ASCII)
_LAST_PORT = 65_535
_MOST_HOSTS = 100_000  # of a range
_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?", re.ASCII)


@dataclasses.dataclass(frozen=True)
class Cluster:
    """Machines that train together."""

    workers: list[str]  # host:port; the first is the chief, which evaluates and saves
    index: int  # of this machine, from 0


def find_cluster(workers: str | None, index: int | None, environment: Mapping[str, str]) -> Cluster:
    """Find the machines of a training run; `index` is this machine's position in `workers`.

    `workers` lists hosts (see `expand_hosts`); if None, the hosts come from TF_CONFIG, or else from
    SLURM's variables for a job step. UsageError if nothing names the machines, or the arguments are
    unusable; InputError if the environment is unusable, or leaves this machine out.
    """
    if (workers is None) != (index is None):
        raise UsageError("--workers and --worker_index must be given together")
    if workers is not None and index is not None:
        try:
            hosts = expand_hosts(workers, "--workers")
            return _checked(hosts, "--workers", index, "--worker_index")
        except InputError as error:
            raise UsageError(str(error)) from error
    if "TF_CONFIG" in environment:
        return _of_tf_config(environment["TF_CONFIG"])
    if "SLURM_PROCID" in environment:
        return _of_slurm(environment)
    raise UsageError(
        f"--strategy multi_worker needs --workers and --worker_index, or the variable TF_CONFIG: "
        f"{_EXAMPLE}, or a job step of SLURM"
    )


def direct_connections(workers: list[str], environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variable that makes gRPC bypass a proxy (`http_proxy`) for these workers.

    Hosts that the environment already exempts are kept: gRPC ignores `no_proxy` if this one is set.
    """
    before = environment.get("no_grpc_proxy", environment.get("no_proxy", ""))
    # gRPC compares with an IPv6 address without its brackets.
    hosts = [worker.rpartition(":")[0].strip("[]") for worker in workers]
    return {"no_grpc_proxy": ",".join(dict.fromkeys([*filter(None, before.split(",")), *hosts]))}


def _of_tf_config(text: str) -> Cluster:
    try:
        config = parse_json(text)
        named = typed(dict[str, list[str]], config["cluster"])
        hosts = {role: named.get(role, []) for role in ROLES}
        role, index = config["task"]["type"], int(config["task"]["index"])
        if not 0 <= index < len(hosts[role]):
            raise ValueError("no such worker")
    except (ArithmeticError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"TF_CONFIG is not {_EXAMPLE}: {reprlib.repr(text)}") from error
    before = len(hosts["chief"]) if role == "worker" else 0
    workers = [*hosts["chief"], *hosts["worker"]]
    return _checked(workers, "TF_CONFIG", before + index, "TF_CONFIG")


def _of_slurm(environment: Mapping[str, str]) -> Cluster:
    """Read the variables that `srun` sets for each task of a job step."""

    def value(name: str) -> str:
        if name not in environment:
            raise InputError(f"{name} is not set: under SLURM, srun starts the workers")
        return environment[name]

    def number(name: str) -> int:
        if not re.fullmatch(r"\d{1,9}", value(name), re.ASCII):
            raise InputError(f"{name} {reprlib.repr(value(name))}: is not a number")
        return int(value(name))

    # A port of the job's own: another one may have a worker on the same machine.
    port = _JOB_PORTS + number("SLURM_JOB_ID") % _JOB_PORTS
    workers = expand_hosts(value("SLURM_STEP_NODELIST"), "SLURM_STEP_NODELIST", port)
    tasks = number("SLURM_STEP_NUM_TASKS")
    if tasks != len(workers):
        raise InputError(
            f"SLURM_STEP_NUM_TASKS {tasks}: must be the number of machines, {len(workers)}; "
            "run one task on each (--ntasks-per-node=1)"
        )
    return _checked(workers, "SLURM_STEP_NODELIST", number("SLURM_PROCID"), "SLURM_PROCID")


def _checked(workers: list[str], name: str, index: int, index_name: str) -> Cluster:
    """Check the hosts, which `name` gave, and the index, which `index_name` gave."""
    for host in workers:
        found = _HOST.fullmatch(host)
        if not found or int(found[1]) > _LAST_PORT:
            raise InputError(f"{name}: {reprlib.repr(host)} is not HOST:PORT, such as a:2222")
    if len(set(workers)) < len(workers):
        twice = next(host for host in workers if workers.count(host) > 1)
        raise InputError(f"{name}: {twice} occurs twice")
    if index >= len(workers):
        last = len(workers) - 1
        raise InputError(f"{index_name} {index}: of {len(workers)} workers, the last is {last}")
    return Cluster(workers, index)


def expand_hosts(text: str, name: str, port: int = _PORT) -> list[str]:
    """Expand a list of hosts as SLURM writes it, `node[01-03,7],other:2223`, to host:port each.

    A host without a port has `port`. InputError, which begins with the name, for other text.
    """
    if not re.fullmatch(rf"{_PART}(?:,{_PART})*", text, re.ASCII):
        raise InputError(f"{name} {reprlib.repr(text)}: must be hosts, such as a:2222,b:2222")
    parts = re.findall(_PART, text, re.ASCII)
    return [host if ":" in host else f"{host}:{port}" for p in parts for host in _expand(p, name)]


def _expand(part: str, name: str) -> Iterator[str]:
    """Yield the hosts of `rack[1-2]node[01-02]`, the last number changing first."""
    pieces = re.split(r"\[(.*?)\]", part)
    choices = [list(_numbers(piece, name)) if i % 2 else [piece] for i, piece in enumerate(pieces)]
    return map("".join, itertools.product(*choices))


def _numbers(ranges: str, name: str) -> Iterator[str]:
    """Yield the numbers of `01-03,7`, padded to the width of the first number of each range."""
    for each in ranges.split(","):
        found = _RANGE.fullmatch(each)
        first, last = (int(found[1]), int(found[2] or found[1])) if found else (1, 0)
        if not found or not 0 <= last - first < _MOST_HOSTS:
            raise InputError(f"{name}: [{ranges}] is not a list such as [1-4] or [01-03,7]")
        for number in range(first, last + 1):
            yield str(number).zfill(len(found[1]))
