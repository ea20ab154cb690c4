"""The stand-in's command line: python -m tfserving.model_server --model_base_path=… ."""

import argparse
import json
import logging
import signal
import sys
import threading

from tfserving.protos import leave_python_tensorflow_out

_GRACE_SECONDS = 60  # for calls that are being answered at the end


def main() -> int:
    """Serve until SIGTERM or SIGINT; prints the ports, as a line of JSON, when it serves.

    Returns:
        0; 1 when the models or the configuration cannot be used.
    """
    leave_python_tensorflow_out()
    from tfserving.c_library import load_text_ops
    from tfserving.status import StatusError

    arguments = _parser().parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    stopped = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopped.set())
    try:
        load_text_ops()
        _serve(arguments, stopped)
    except (OSError, ValueError, StatusError) as error:
        print(f"tfserving.model_server: {error}", file=sys.stderr)
        return 1
    return 0


def _serve(arguments: argparse.Namespace, stopped: threading.Event) -> None:
    from tfserving.batching import BatchScheduler
    from tfserving.batching_parameters import BatchingParameters, read_batching_parameters
    from tfserving.grpc_server import start_grpc_server
    from tfserving.model_config import read_model_config, single_model
    from tfserving.rest_server import start_rest_server
    from tfserving.server_core import ServerCore
    from tfserving.tls import read_ssl_config

    tls = read_ssl_config(arguments.ssl_config_file) if arguments.ssl_config_file else None
    if arguments.model_config_file:
        configs = read_model_config(
            arguments.model_config_file, arguments.allow_version_labels_for_unavailable_models
        )
    else:
        configs = single_model(arguments.model_name, arguments.model_base_path)
    scheduler = None
    if arguments.enable_batching:
        file = arguments.batching_parameters_file
        scheduler = BatchScheduler(read_batching_parameters(file) if file else BatchingParameters())
    core = ServerCore(configs, scheduler)
    if not core.load(arguments.file_system_poll_wait_seconds, stopped):
        return
    cors = arguments.rest_api_enable_cors_support
    grpc_server, port = start_grpc_server(core, arguments.port, tls)
    rest_server, rest_port = start_rest_server(core, arguments.rest_api_port, tls, cors)
    print(json.dumps({"port": port, "rest_api_port": rest_port}), flush=True)
    core.watch(arguments.file_system_poll_wait_seconds, stopped)
    if scheduler is not None:
        scheduler.close()
    grpc_server.stop(_GRACE_SECONDS).wait()
    rest_server.stop()


def _parser() -> argparse.ArgumentParser:
    """Flags of tensorflow_model_server, with its defaults but for the ports."""
    parser = argparse.ArgumentParser("tfserving.model_server", allow_abbrev=False)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--rest_api_port", type=int, default=0)
    parser.add_argument("--model_name", default="default")
    parser.add_argument("--model_base_path", default="")
    parser.add_argument("--model_config_file", default="")
    parser.add_argument("--batching_parameters_file", default="")
    parser.add_argument("--ssl_config_file", default="")
    parser.add_argument("--file_system_poll_wait_seconds", type=int, default=1)
    for name in (
        "--enable_batching",
        "--allow_version_labels_for_unavailable_models",
        "--rest_api_enable_cors_support",
    ):
        parser.add_argument(name, type=_boolean, nargs="?", const=True, default=False)
    return parser


def _boolean(text: str) -> bool:
    return {"true": True, "1": True, "false": False, "0": False}[text.lower()]


if __name__ == "__main__":
    sys.exit(main())
