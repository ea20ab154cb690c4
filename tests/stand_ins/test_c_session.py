"""TensorFlow's C runtime as a session: errors, tensors, and nothing leaks."""

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from tfserving import dtypes
from tfserving.c_session import CSession
from tfserving.graph_ops import core_ops, graph_ops
from tfserving.status import StatusError
from tfserving.tensor_proto import to_array, to_proto
from without_python_tensorflow import without_python_tensorflow

pytestmark = pytest.mark.serving

# A quarter of a megabyte goes in and comes back in each call; what is not freed shows.
LEAK = """
import resource, sys
from tfserving.protos import leave_python_tensorflow_out
leave_python_tensorflow_out()
from tfserving import dtypes
from tfserving.c_session import CSession
from tfserving.status import StatusError
session = CSession(sys.argv[1])
word = b"a" * 2**18
def call():
    assert session.run("echo", {"text": [word]})["again"][0] == word
    try:
        session.run("echo", {"text": dtypes.strings([word], (1, 1))})
    except StatusError:
        return
    raise AssertionError("a text of rank 2 was read")
def resident():
    # Not the peak, which loading the graph reaches.
    return int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()
for _ in range(10):
    call()
before = resident()
for _ in range(80):
    call()
for name, module in sys.modules.items():  # generated protobuf classes are TensorFlow's, too
    if name.split(".")[0] == "tensorflow" and not hasattr(module, "__path__"):
        assert name.endswith("_pb2"), name
assert not any(name.startswith("tensorflow.python") for name in sys.modules)
print(resident() - before)
"""


@pytest.mark.skipif(not Path("/proc").exists(), reason="this system has no /proc")
def test_nothing_leaks_and_no_python_tensorflow_is_loaded(tmp_path):
    def echo(text: tf.Tensor) -> dict[str, tf.Tensor]:
        return {"again": tf.concat([text, [""]], 0)}  # which takes no other rank

    module = tf.Module()
    function = tf.function(echo, input_signature=[tf.TensorSpec([None], tf.string, "text")])
    tf.saved_model.save(module, str(tmp_path), {"echo": function})
    assert int(without_python_tensorflow(LEAK, tmp_path)) < 10 * 2**20


def test_ops_that_are_not_tensorflows_are_seen(c_session):
    meta_graph = type(c_session.meta_graph)()
    meta_graph.CopyFrom(c_session.meta_graph)
    meta_graph.graph_def.library.function[0].node_def.add(name="x", op="NobodysOp")
    assert graph_ops(meta_graph) - core_ops() == {"NobodysOp"}


def test_no_rows(c_session):
    found = c_session.run("align", {"text": []})
    assert found["translation"].shape == (0,)
    assert found["alignment"].shape[0] == 0


def test_what_is_no_saved_model(tmp_path):
    with pytest.raises(StatusError, match="NOT_FOUND"):
        CSession(tmp_path / "nowhere")


@pytest.mark.parametrize(
    "array",
    [
        np.float32([[1.5, -2, np.inf]]),
        np.zeros((0, 3), np.float32),
        dtypes.strings([b"", b"a\0", b"\xff", b"b" * 100], (2, 2)),
        dtypes.strings([b"c"], ()),
    ],
)
def test_tensor_protos_are_tensorflows(array):
    """Both ways, and in the form that tf.make_tensor_proto chooses, too."""
    for proto in (to_proto(array), tf.make_tensor_proto(array)):
        kind = np.dtype(object) if array.dtype == object else array.dtype
        assert tf.make_ndarray(proto).tolist() == array.tolist()
        found = to_array(proto)
        assert (found.dtype, found.shape) == (kind, array.shape)
        assert found.tolist() == array.tolist()


def test_the_last_value_of_a_tensor_proto_goes_on():
    proto = to_proto(dtypes.strings([b"a", b"b"]))
    proto.tensor_shape.dim[0].size = 4
    assert to_array(proto).tolist() == [b"a", b"b", b"b", b"b"]
    proto.tensor_shape.dim[0].size = 1
    with pytest.raises(StatusError, match="INVALID_ARGUMENT"):
        to_array(proto)
