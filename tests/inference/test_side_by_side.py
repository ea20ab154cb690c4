"""Parts side by side: the same results in the same order, whatever the number of threads."""

import threading

import pytest
import tensorflow as tf

from rnnsearch_tf import threads
from rnnsearch_tf.inference.side_by_side import map_parts, side_by_side

LINES = [f"{'x' * (7 * i % 31)} {i}" for i in range(211)]


@pytest.fixture(params=[1, 3])
def cores(request, monkeypatch):
    """TensorFlow runs each operation on one thread of a machine with so many cores."""
    monkeypatch.setattr(threads, "cores", lambda: request.param)
    monkeypatch.setattr(tf.config.threading, "get_intra_op_parallelism_threads", lambda: 1)
    return request.param


def test_parts_are_of_similar_length_and_do_not_depend_on_the_cores(cores):
    parts = []

    def function(part):
        parts.append(sorted(part, key=len))
        return [line.upper() for line in part]

    with side_by_side() as apply:
        assert map_parts(apply, function, LINES) == [line.upper() for line in LINES]
        assert map_parts(apply, function, []) == []
    rising = sorted(LINES, key=len)
    longest_first = sorted(parts, key=lambda part: -len(part[-1]))
    assert [line for part in reversed(longest_first) for line in part] == rising
    assert [len(part) for part in longest_first] == [64, 64, 64, 19]


def test_as_many_threads_work_as_there_are_cores(cores):
    at_once = threading.Barrier(cores, timeout=20)

    seen = set()

    def function(part):
        at_once.wait()
        seen.add(threading.get_ident())
        return part

    lines = [str(number) for number in range(64 * 2 * cores)]
    with side_by_side() as apply:
        assert map_parts(apply, function, lines) == lines
    assert len(seen) == cores
    assert (seen == {threading.get_ident()}) == (cores == 1)


@pytest.mark.parametrize("cores", [3], indirect=True)
def test_an_interrupted_search_is_not_waited_for(cores):
    released, finished = threading.Event(), []

    def function(part):
        released.wait(60)
        finished.append(part)
        return part

    with pytest.raises(KeyboardInterrupt), side_by_side() as apply:
        apply(function, LINES)
        raise KeyboardInterrupt
    assert not finished
    released.set()


def test_where_tensorflow_has_all_cores_parts_follow_one_another(monkeypatch):
    monkeypatch.setattr(threads, "cores", lambda: 3)
    monkeypatch.setattr(tf.config.threading, "get_intra_op_parallelism_threads", lambda: 0)
    workers = set()

    def function(part):
        workers.add(threading.get_ident())
        return part

    with side_by_side() as apply:
        map_parts(apply, function, LINES)
    assert workers == {threading.get_ident()}


def test_an_error_of_a_part_is_raised(cores):
    def function(part):
        raise ValueError(len(part))

    with side_by_side() as apply, pytest.raises(ValueError, match="64"):
        map_parts(apply, function, LINES)
