"""The protocol buffers of the client beside TensorFlow Serving's own, in one process."""

import pytest
import tensorflow as tf
from tensorflow.core.framework import tensor_pb2
from tensorflow_serving.apis import (
    get_model_metadata_pb2,
    get_model_status_pb2,
    model_pb2,
    predict_pb2,
    prediction_log_pb2,
    status_pb2,
)

from rnnsearch_tf.client import serving_pb2
from rnnsearch_tf.client.contract import UnexpectedAnswer
from rnnsearch_tf.client.tensor_messages import nested_lists, string_vector

pytestmark = pytest.mark.serving

OFFICIAL = {
    "Tensor": tensor_pb2.TensorProto,
    "TensorShape": tensor_pb2.TensorProto().tensor_shape,
    "Version": model_pb2.ModelSpec().version,
    "ModelSpec": model_pb2.ModelSpec,
    "PredictRequest": predict_pb2.PredictRequest,
    "PredictResponse": predict_pb2.PredictResponse,
    "GetModelMetadataRequest": get_model_metadata_pb2.GetModelMetadataRequest,
    "GetModelMetadataResponse": get_model_metadata_pb2.GetModelMetadataResponse,
    "GetModelStatusRequest": get_model_status_pb2.GetModelStatusRequest,
    "GetModelStatusResponse": get_model_status_pb2.GetModelStatusResponse,
    "ModelVersionStatus": get_model_status_pb2.ModelVersionStatus,
    "Status": status_pb2.StatusProto,
    "PredictLog": prediction_log_pb2.PredictLog,
    "PredictionLog": prediction_log_pb2.PredictionLog,
}


def test_each_message_is_compared():
    assert set(OFFICIAL) == set(serving_pb2.DESCRIPTOR.message_types_by_name)


@pytest.mark.parametrize("name", OFFICIAL)
def test_fields_are_those_of_tensorflow_serving(name):
    theirs = OFFICIAL[name].DESCRIPTOR
    for field in serving_pb2.DESCRIPTOR.message_types_by_name[name].fields:
        other = theirs.fields_by_name[field.name]
        assert field.number == other.number
        types = {field.type, other.type}
        assert len(types) == 1 or types == {field.TYPE_INT32, field.TYPE_ENUM}  # error codes
        if field.enum_type:
            for value in field.enum_type.values:
                assert other.enum_type.values_by_name[value.name].number == value.number


def fill(request, tensor):
    """A request with all that the client sends."""
    request.model_spec.name = "rnnsearch"
    request.model_spec.version.value = 2**40
    request.model_spec.signature_name = "align"
    request.inputs["text"].CopyFrom(tensor)


def test_requests_are_the_same_bytes():
    texts = ["", "Élodie 😀", "a\0b"]
    ours, theirs = serving_pb2.PredictionLog(), prediction_log_pb2.PredictionLog()
    fill(ours.predict_log.request, string_vector(texts))
    fill(theirs.predict_log.request, tf.make_tensor_proto(texts))
    assert ours.SerializeToString() == theirs.SerializeToString()
    ours.predict_log.request.model_spec.version_label = "stable"
    theirs.predict_log.request.model_spec.version_label = "stable"
    assert ours.SerializeToString() == theirs.SerializeToString()


@pytest.mark.parametrize(
    "values", [[["a", "é"], ["", "😀"]], [[0.5], [-3.4028234663852886e38]], [[[1.0, 2.0]]]]
)
def test_tensors_are_read(values):
    dtype = tf.string if isinstance(values[0][0], str) else tf.float32
    answer = predict_pb2.PredictResponse()
    answer.outputs["x"].CopyFrom(tf.make_tensor_proto(values, dtype))
    read = serving_pb2.PredictResponse.FromString(answer.SerializeToString())
    assert nested_lists(read.outputs["x"]) == values


@pytest.mark.parametrize("sizes", [[1] * 3000, [10**12, 0], [2, 3], [-1]])
def test_nonsense_shapes_are_refused_at_once(sizes):
    tensor = serving_pb2.Tensor(dtype=serving_pb2.Tensor.DT_FLOAT, float_val=[1.0])
    for size in sizes:
        tensor.tensor_shape.dim.add(size=size)
    with pytest.raises(UnexpectedAnswer, match=r"has (1 values for the shape|3000 axes)"):
        nested_lists(tensor)
    tensor.ClearField("float_val")
    if 0 in sizes:
        with pytest.raises(UnexpectedAnswer, match="has 0 values for the shape"):
            nested_lists(tensor)
