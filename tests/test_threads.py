"""How many threads an operation of TensorFlow has, and when work is done in two halves."""

import os
from typing import Any

import pytest
import tensorflow as tf

from rnnsearch_tf import threads


@pytest.fixture
def machine(monkeypatch):
    """A machine of so many cores and GPUs, and the threads that are set on it."""
    chosen: list[int] = []

    def build(cores: int, gpus: int = 0, **environment: str) -> list[int]:
        devices: list[Any] = ["a GPU"] * gpus
        monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(cores)), raising=False)
        monkeypatch.setattr(tf.config, "get_visible_devices", lambda kind: devices)
        for name in ("TF_NUM_INTEROP_THREADS", "TF_NUM_INTRAOP_THREADS"):
            monkeypatch.delenv(name, raising=False)
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        return chosen

    monkeypatch.setattr(tf.config.threading, "set_intra_op_parallelism_threads", chosen.append)
    return build


@pytest.mark.parametrize(
    ("cores", "options", "expected"),
    [
        (2, {}, True),
        (1, {}, False),
        (2, {"gpus": 1}, False),
        (2, {"TF_NUM_INTEROP_THREADS": "1"}, False),  # one operation at a time
        (2, {"TF_NUM_INTEROP_THREADS": "0"}, True),  # TensorFlow takes it for its default
        (2, {"TF_NUM_INTEROP_THREADS": "two"}, True),
    ],
)
def test_halves_pay(machine, cores, options, expected):
    machine(cores, **options)
    assert threads.halves_pay() == expected


@pytest.mark.parametrize(
    ("options", "expected"),
    [({}, [4]), ({"gpus": 1}, []), ({"TF_NUM_INTRAOP_THREADS": "2"}, [])],
)
def test_operations_get_fewer_threads(machine, options, expected):
    chosen = machine(8, **options)
    threads.limit_operations(threads.cores() // 2)
    threads.limit_operations(0)  # half of one core
    assert chosen == expected


def test_a_tensorflow_that_runs_already_stays_as_it_is(machine, monkeypatch):
    def refuse(count: int) -> None:
        raise RuntimeError("cannot be modified after initialization")

    machine(2)
    monkeypatch.setattr(tf.config.threading, "set_intra_op_parallelism_threads", refuse)
    threads.limit_operations(1)
