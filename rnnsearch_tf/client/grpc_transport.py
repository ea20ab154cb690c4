"""TensorFlow Serving's gRPC interface; importing this imports TensorFlow."""

import math
import struct
from collections.abc import Mapping, Sequence
from typing import Any

import grpc
from tensorflow.core.framework import tensor_pb2, types_pb2
from tensorflow_serving.apis import (
    get_model_status_pb2,
    model_pb2,
    model_service_pb2_grpc,
    predict_pb2,
    prediction_service_pb2_grpc,
)

from rnnsearch_tf.client.address import Address, ModelSpec
from rnnsearch_tf.client.call import Call
from rnnsearch_tf.client.contract import UnexpectedAnswer, concerning
from rnnsearch_tf.client.failures import too_late
from rnnsearch_tf.client.grpc_failures import grpc_error
from rnnsearch_tf.client.results import VersionStatus
from rnnsearch_tf.client.tls import Tls


class GrpcTransport:
    """Calls over gRPC, all on one channel.

    Args:
        address: the server.
        spec: the model.
        tls: certificates, for grpcs.
        max_message_bytes: maximum size of a request or an answer.
    """

    def __init__(self, address: Address, spec: ModelSpec, tls: Tls, max_message_bytes: int):
        self._address = address
        self._spec = spec
        self._channel = _channel(address, tls, max_message_bytes)
        self._prediction = prediction_service_pb2_grpc.PredictionServiceStub(self._channel)
        self._model = model_service_pb2_grpc.ModelServiceStub(self._channel)

    def predict(
        self, call: Call, signature: str, inputs: Mapping[str, Sequence[str]]
    ) -> Mapping[str, Any]:
        """Return columns of outputs, not yet checked, for columns of inputs.

        Raises:
            ServingError: no answer.
            UnexpectedAnswer: an answer that cannot be read.
        """
        request = predict_pb2.PredictRequest(model_spec=self._model_spec())
        request.model_spec.signature_name = signature
        for name, texts in inputs.items():
            request.inputs[name].CopyFrom(string_vector(texts))
        answer = self._answer(call, self._prediction.Predict, request, signature)
        columns = {}
        for name, tensor in answer.outputs.items():
            with concerning(name):
                columns[name] = nested_lists(tensor)
        return columns

    def status(self, call: Call) -> list[VersionStatus]:
        """Return the versions of the model, or the one of the call.

        Raises:
            ServingError: no answer.
        """
        request = get_model_status_pb2.GetModelStatusRequest(model_spec=self._model_spec())
        answer = self._answer(call, self._model.GetModelStatus, request, None)
        return [_version_status(entry) for entry in answer.model_version_status]

    def close(self) -> None:
        """Close the channel."""
        self._channel.close()

    def _model_spec(self) -> model_pb2.ModelSpec:
        spec = model_pb2.ModelSpec(name=self._spec.name)
        if self._spec.version is not None:
            spec.version.value = self._spec.version
        if self._spec.label is not None:
            spec.version_label = self._spec.label
        return spec

    def _answer(self, call: Call, method: Any, request: Any, signature: str | None) -> Any:
        future = method.future(request, timeout=call.remaining(), wait_for_ready=False)
        try:
            with call.broken_off_by(future.cancel):
                return future.result()
        except grpc.FutureCancelledError as error:
            raise too_late(self._address, call) from error
        except grpc.RpcError as error:
            code, details = future.code().name, future.details() or ""
            raise grpc_error(self._address, self._spec, signature, call, code, details) from error


def _channel(address: Address, tls: Tls, max_message_bytes: int) -> grpc.Channel:
    options = [
        ("grpc.max_send_message_length", max_message_bytes),
        ("grpc.max_receive_message_length", max_message_bytes),
        ("grpc.enable_http_proxy", 0),  # as over REST
        # Else an attempt would be told of the failure of the one before it.
        ("grpc.use_local_subchannel_pool", 1),
        ("grpc.initial_reconnect_backoff_ms", 100),
        ("grpc.max_reconnect_backoff_ms", 1_000),
    ]
    target = f"dns:///{address.authority}"
    if not address.is_secure:
        return grpc.insecure_channel(target, options)
    return grpc.secure_channel(target, grpc.ssl_channel_credentials(*tls.contents()), options)


def _version_status(entry: get_model_status_pb2.ModelVersionStatus) -> VersionStatus:
    codes = entry.status.DESCRIPTOR.fields_by_name["error_code"].enum_type.values_by_number
    code = codes.get(entry.status.error_code)
    return VersionStatus(
        entry.version,
        get_model_status_pb2.ModelVersionStatus.State.Name(entry.state),
        code.name if code else str(entry.status.error_code),
        entry.status.error_message,
    )


def string_vector(texts: Sequence[str]) -> tensor_pb2.TensorProto:
    """Make a DT_STRING tensor [B] of texts."""
    tensor = tensor_pb2.TensorProto(dtype=types_pb2.DT_STRING)
    tensor.tensor_shape.dim.add(size=len(texts))
    tensor.string_val.extend(text.encode() for text in texts)
    return tensor


def nested_lists(tensor: tensor_pb2.TensorProto) -> Any:
    """Read a DT_STRING or DT_FLOAT tensor as nested lists, one level per dimension.

    Raises:
        UnexpectedAnswer: another dtype, more or fewer values than its shape has, not UTF-8.
    """
    sizes = [dimension.size for dimension in tensor.tensor_shape.dim]
    if tensor.dtype == types_pb2.DT_STRING:
        flat: list[Any] = _texts(tensor)
    elif tensor.dtype == types_pb2.DT_FLOAT:
        flat = _numbers(tensor)
    else:
        raise UnexpectedAnswer("is neither text nor float32")
    if min(sizes, default=0) < 0 or len(flat) != math.prod(sizes):
        raise UnexpectedAnswer(f"has {len(flat)} values for the shape {sizes}")
    return _nested(flat, sizes)


def _texts(tensor: tensor_pb2.TensorProto) -> list[str]:
    try:
        return [text.decode() for text in tensor.string_val]
    except UnicodeDecodeError as error:
        raise UnexpectedAnswer("has text that is not UTF-8") from error


def _numbers(tensor: tensor_pb2.TensorProto) -> list[float]:
    if not tensor.tensor_content:
        return list(tensor.float_val)
    count, rest = divmod(len(tensor.tensor_content), 4)
    if rest:
        raise UnexpectedAnswer("has bytes that are no float32")
    return list(struct.unpack(f"<{count}f", tensor.tensor_content))


def _nested(flat: list[Any], sizes: list[int]) -> Any:
    """Split a list by the sizes of its dimensions, the last one fastest."""
    if len(sizes) < 2:
        return flat if sizes else flat[0]
    step = math.prod(sizes[1:])
    rows = (flat[row * step : (row + 1) * step] for row in range(sizes[0]))
    return [_nested(row, sizes[1:]) for row in rows]
