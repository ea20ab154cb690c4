"""A stand-in for TensorFlow Serving, for tests; it is not TensorFlow Serving.

No TensorFlow Serving binary comes from a package index, so the tests of what talks to one talk to
this. Its runtime is TensorFlow's own: `c_session` loads an export through the C API, as the real
server loads it through the C++ API, and no Python TensorFlow is in its process. What lies around
the runtime was written from the source of TensorFlow Serving, and behaves as that does:

- `model_server` has the flags of tensorflow_model_server that are named there;
- `models` watches base paths: version policies, labels, the new version before the old one goes;
- `grpc_server`: Predict, GetModelMetadata and GetModelStatus, with the real status codes;
- `rest_server`: row and columnar JSON, errors, status, metadata, CORS;
- `batching`: the shared batch scheduler of --enable_batching.

What differs: port 0 picks a free port instead of switching REST off; it listens on 127.0.0.1 alone;
--ssl_config_file puts REST on https, too (the real server has TLS on gRPC alone); a failed load is
not tried again; large batches are not split; Grappler rewrites no graph; texts of errors are its
own; Classify, Regress, MultiInference, config reload, monitoring and warm-up are absent.

`running` starts it. This package imports neither TensorFlow nor generated protobuf classes, so that
a test may import it before TensorFlow.
"""

from tfserving.process import Server, running

__all__ = ["Server", "running"]
