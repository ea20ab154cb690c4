"""A SavedModel in TensorFlow's C runtime, without Python TensorFlow."""

import ctypes
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from tensorflow.core.protobuf.config_pb2 import ConfigProto
from tensorflow.core.protobuf.meta_graph_pb2 import MetaGraphDef, SignatureDef

from tfserving import dtypes
from tfserving.c_library import Buffer, Output, c_api, checked_status
from tfserving.c_tensor import new_tensor, to_array
from tfserving.status import Code, StatusError, invalid_argument


class CSession:
    """A session made by TF_LoadSessionFromSavedModel; may be used by several threads.

    Args:
        path: a version's folder, EXPORT_DIR/<version>.
        rewrites: whether graphs are rewritten before they first run, which takes longest.

    Raises:
        StatusError: it cannot be loaded.
    """

    def __init__(self, path: str | Path, rewrites: bool = True):
        self._session: int | None = None
        self._graph = c_api().TF_NewGraph()
        try:
            self._session, self.meta_graph = _load(self._graph, str(path), rewrites)
        except StatusError:
            self.close()
            raise

    @property
    def signatures(self) -> Mapping[str, SignatureDef]:
        """By name."""
        return self.meta_graph.signature_def

    def run(
        self, signature: str, inputs: Mapping[str, list[bytes] | np.ndarray]
    ) -> dict[str, np.ndarray]:
        """Run a signature.

        Args:
            signature: its name.
            inputs: for each input's name byte strings or an array (of objects: byte strings).

        Returns:
            All outputs by name; strings are objects of type bytes.

        Raises:
            StatusError: FAILED_PRECONDITION, there is no such signature; INVALID_ARGUMENT, inputs
                that are not the signature's; what TensorFlow says.
        """
        definition = self.signature(signature)
        names = sorted(definition.outputs)
        arrays = check_inputs(definition, inputs)
        feeds = [self._output(definition.inputs[name].name) for name in arrays]
        fetches = [self._output(definition.outputs[name].name) for name in names]
        return dict(zip(names, self._run(feeds, list(arrays.values()), fetches), strict=True))

    def signature(self, name: str) -> SignatureDef:
        """The signature of this name.

        Raises:
            StatusError: FAILED_PRECONDITION, there is none.
        """
        if name not in self.signatures:
            raise StatusError(Code.FAILED_PRECONDITION, f"there is no signature {name!r}")
        return self.signatures[name]

    def close(self) -> None:
        """Free everything; nothing may be running."""
        c = c_api()
        if self._session is not None:
            with checked_status() as status:
                c.TF_CloseSession(self._session, status)
            with checked_status() as status:
                c.TF_DeleteSession(self._session, status)
            self._session = None
        if self._graph is not None:
            c.TF_DeleteGraph(self._graph)
            self._graph = None

    def __enter__(self) -> "CSession":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _output(self, tensor_name: str) -> Output:
        operation, _, index = tensor_name.partition(":")
        pointer = c_api().TF_GraphOperationByName(self._graph, operation.encode())
        if not pointer:
            raise StatusError(Code.INTERNAL, f"the graph has no operation {operation!r}")
        return Output(pointer, int(index or 0))

    def _run(
        self, feeds: list[Output], arrays: list[np.ndarray], fetches: list[Output]
    ) -> list[np.ndarray]:
        c = c_api()
        values = (ctypes.c_void_p * len(feeds))(*map(new_tensor, arrays))
        results = (ctypes.c_void_p * len(fetches))()
        try:
            with checked_status() as status:
                c.TF_SessionRun(
                    *(self._session, None),
                    *((Output * len(feeds))(*feeds), values, len(feeds)),
                    *((Output * len(fetches))(*fetches), results, len(fetches)),
                    *(None, 0, None, status),
                )
            return [to_array(tensor) for tensor in results if tensor is not None]
        finally:
            for tensor in (*values, *results):
                if tensor is not None:
                    c.TF_DeleteTensor(tensor)


def check_inputs(
    signature: SignatureDef, inputs: Mapping[str, list[bytes] | np.ndarray]
) -> dict[str, np.ndarray]:
    """The inputs as arrays.

    Raises:
        StatusError: INVALID_ARGUMENT, an input is missing, unexpected or of another type.
    """
    missing = sorted(set(signature.inputs) - set(inputs))
    unexpected = sorted(set(inputs) - set(signature.inputs))
    if missing or unexpected:
        raise invalid_argument(f"inputs missing: {missing}, not in the signature: {unexpected}")
    arrays = {
        name: dtypes.strings(value) if isinstance(value, list) else value
        for name, value in inputs.items()
    }
    for name, array in arrays.items():
        if dtypes.data_type(array) != signature.inputs[name].dtype:
            raise invalid_argument(f"input {name!r} has another type than the signature's")
    return arrays


def _load(graph: int, path: str, rewrites: bool) -> tuple[int, MetaGraphDef]:
    """A TF_Session* and what the SavedModel says of itself."""
    c = c_api()
    config = ConfigProto()
    config.graph_options.rewrite_options.disable_meta_optimizer = not rewrites
    settings = config.SerializeToString()
    options = c.TF_NewSessionOptions()
    buffer = c.TF_NewBuffer()
    tags = (ctypes.c_char_p * 1)(b"serve")
    try:
        with checked_status() as status:
            c.TF_SetConfig(options, settings, len(settings), status)
        with checked_status() as status:
            session = c.TF_LoadSessionFromSavedModel(
                options, None, path.encode(), tags, len(tags), graph, buffer, status
            )
        return session, MetaGraphDef.FromString(_content(buffer.contents))
    finally:
        c.TF_DeleteBuffer(buffer)
        c.TF_DeleteSessionOptions(options)


def _content(buffer: Buffer) -> bytes:
    return ctypes.string_at(buffer.data, buffer.length)
