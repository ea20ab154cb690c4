"""The models to serve, from --model_config_file or from the flags of a single model."""

from pathlib import Path

from google.protobuf import text_format
from tensorflow_serving.config.model_server_config_pb2 import ModelConfig, ModelServerConfig


def single_model(name: str, base_path: str) -> list[ModelConfig]:
    """The configuration of --model_name and --model_base_path.

    Raises:
        ValueError: the path is not absolute.
    """
    config = ModelConfig(name=name, base_path=base_path, model_platform="tensorflow")
    _check(config)
    return [config]


def read_model_config(path: str, may_label_unavailable: bool) -> list[ModelConfig]:
    """Read a ModelServerConfig in text form.

    Args:
        path: the file.
        may_label_unavailable: whether labels may be given to versions that are not loaded, as
            none is at the start.

    Raises:
        ValueError: it is no such message, or a configuration that the real server refuses.
    """
    try:
        message = text_format.Parse(Path(path).read_text("utf-8"), ModelServerConfig())
    except text_format.ParseError as error:
        raise ValueError(f"{path}: {error}") from error
    configs = list(message.model_config_list.config)
    if len({config.name for config in configs}) < len(configs):
        raise ValueError(f"{path}: a model is listed twice")
    for config in configs:
        _check(config)
        if config.version_labels and not may_label_unavailable:
            raise ValueError(
                f"{path}: {config.name}: no labeled version is loaded yet; labels need "
                "--allow_version_labels_for_unavailable_models"
            )
    return configs


def _check(config: ModelConfig) -> None:
    if not Path(config.base_path).is_absolute():
        raise ValueError(f"{config.name}: base path {config.base_path!r} is not absolute")
    if config.model_platform != "tensorflow":
        raise ValueError(f'{config.name}: model_platform must be "tensorflow"')
