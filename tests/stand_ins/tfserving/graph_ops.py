"""The operations of a graph, and those of TensorFlow."""

import ctypes

from tensorflow.core.framework.op_def_pb2 import OpList
from tensorflow.core.protobuf.meta_graph_pb2 import MetaGraphDef

from tfserving.c_library import c_api


def graph_ops(meta_graph: MetaGraphDef) -> set[str]:
    """The operations in a graph and its functions; calls of its own functions do not count."""
    library = meta_graph.graph_def.library.function
    functions = {function.signature.name for function in library}
    nodes = [*meta_graph.graph_def.node, *(node for f in library for node in f.node_def)]
    return {node.op for node in nodes} - functions


def core_ops() -> set[str]:
    """The operations of TensorFlow's C library."""
    buffer = c_api().TF_GetAllOpList()
    try:
        content = ctypes.string_at(buffer.contents.data, buffer.contents.length)
    finally:
        c_api().TF_DeleteBuffer(buffer)
    return {op.name for op in OpList.FromString(content).op}
