"""The gRPC side: tensorflow.serving.PredictionService and ModelService."""

import functools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
from tensorflow_serving.apis import (
    get_model_metadata_pb2,
    get_model_status_pb2,
    model_service_pb2_grpc,
    predict_pb2,
    prediction_service_pb2_grpc,
)

from tfserving.server_core import DEFAULT_SIGNATURE, ServerCore
from tfserving.status import StatusError, invalid_argument
from tfserving.tensor_proto import to_array, to_proto
from tfserving.tls import Tls

_THREADS = 64  # each waits for a batch, with --enable_batching


def start_grpc_server(core: ServerCore, port: int, tls: Tls | None) -> tuple[grpc.Server, int]:
    """Serve; the second value is the port, one that was free when `port` is 0."""
    server = grpc.server(
        ThreadPoolExecutor(_THREADS), options=[("grpc.max_receive_message_length", -1)]
    )
    prediction_service_pb2_grpc.add_PredictionServiceServicer_to_server(_Prediction(core), server)
    model_service_pb2_grpc.add_ModelServiceServicer_to_server(_ModelService(core), server)
    address = f"127.0.0.1:{port}"
    if tls is None:
        port = server.add_insecure_port(address)
    else:
        port = server.add_secure_port(address, tls.grpc_credentials())
    server.start()
    return server, port


def _with_status(method: Callable[..., Any]) -> Callable[..., Any]:
    """End the call with the status of a StatusError."""

    @functools.wraps(method)
    def call(self: Any, request: Any, context: grpc.ServicerContext) -> Any:
        try:
            if not request.HasField("model_spec"):
                raise invalid_argument("the request has no model_spec")
            return method(self, request)
        except StatusError as error:
            context.abort(error.code, error.message)

    return call


class _Prediction(prediction_service_pb2_grpc.PredictionServiceServicer):
    def __init__(self, core: ServerCore):
        self._core = core

    @_with_status
    def Predict(self, request: predict_pb2.PredictRequest) -> predict_pb2.PredictResponse:
        name = request.model_spec.signature_name or DEFAULT_SIGNATURE
        with self._core.use(request.model_spec) as servable:
            servable.session.signature(name)
            inputs = {key: to_array(value) for key, value in request.inputs.items()}
            outputs = servable.predict(name, inputs)
        response = predict_pb2.PredictResponse()
        response.model_spec.name = servable.name
        response.model_spec.version.value = servable.version
        response.model_spec.signature_name = name
        for key, array in outputs.items():
            response.outputs[key].CopyFrom(to_proto(array))
        return response

    @_with_status
    def GetModelMetadata(
        self, request: get_model_metadata_pb2.GetModelMetadataRequest
    ) -> get_model_metadata_pb2.GetModelMetadataResponse:
        if set(request.metadata_field) != {"signature_def"}:
            raise invalid_argument("the only metadata_field is signature_def")
        return self._core.metadata(request.model_spec)


class _ModelService(model_service_pb2_grpc.ModelServiceServicer):
    def __init__(self, core: ServerCore):
        self._core = core

    @_with_status
    def GetModelStatus(
        self, request: get_model_status_pb2.GetModelStatusRequest
    ) -> get_model_status_pb2.GetModelStatusResponse:
        return self._core.status(request.model_spec)
