"""All models of a server, and what can be asked of them."""

import contextlib
import logging
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path

from tensorflow_serving.apis.get_model_metadata_pb2 import (
    GetModelMetadataResponse,
    SignatureDefMap,
)
from tensorflow_serving.apis.get_model_status_pb2 import GetModelStatusResponse, ModelVersionStatus
from tensorflow_serving.apis.model_pb2 import ModelSpec
from tensorflow_serving.config.model_server_config_pb2 import ModelConfig

from tfserving.batching import BatchScheduler
from tfserving.models import Model
from tfserving.servable import Servable
from tfserving.status import Code, StatusError, invalid_argument

LOGGER = logging.getLogger(__name__)
DEFAULT_SIGNATURE = "serving_default"


class ServerCore:
    """The models of a server.

    Args:
        configs: of each.
        scheduler: joins requests; None runs each by itself.
    """

    def __init__(self, configs: Iterable[ModelConfig], scheduler: BatchScheduler | None):
        self._scheduler = scheduler
        self._labels = {config.name: dict(config.version_labels) for config in configs}
        self._models = {config.name: self._model(config) for config in configs}

    def load(self, poll_seconds: float, stopped: threading.Event) -> bool:
        """Load the models; returns when each has a version.

        Args:
            poll_seconds: how often base paths are looked at.
            stopped: ends the wait.

        Returns:
            Whether all are there.

        Raises:
            StatusError: UNKNOWN, a version cannot be loaded.
        """
        while not all([self._try_to_load(model) for model in self._models.values()]):
            if stopped.wait(poll_seconds):
                return False
        return True

    def watch(self, poll_seconds: float, stopped: threading.Event) -> None:
        """Load new versions and unload old ones until `stopped` is set."""
        while not stopped.wait(poll_seconds):
            for model in self._models.values():
                try:
                    model.refresh()
                except OSError as error:
                    LOGGER.error("model %s: %s", model.name, error)

    @contextlib.contextmanager
    def use(self, spec: ModelSpec) -> Iterator[Servable]:
        """The version that a request names, which stays loaded while the block runs.

        Raises:
            StatusError: INVALID_ARGUMENT, no name or an unknown label; NOT_FOUND, it is not loaded.
        """
        with self._model_of(spec).use(self._version(spec)) as servable:
            yield servable

    def metadata(self, spec: ModelSpec) -> GetModelMetadataResponse:
        """Name, version and signatures.

        Raises:
            StatusError: as `use`.
        """
        response = GetModelMetadataResponse()
        signatures = SignatureDefMap()
        with self.use(spec) as servable:
            response.model_spec.name = servable.name
            response.model_spec.version.value = servable.version
            for name, signature in servable.session.signatures.items():
                signatures.signature_def[name].CopyFrom(signature)
        response.metadata["signature_def"].Pack(signatures)
        return response

    def status(self, spec: ModelSpec) -> GetModelStatusResponse:
        """The state of the version named, or of all; a label is ignored.

        Raises:
            StatusError: NOT_FOUND, nothing is known of it.
        """
        statuses: dict[int, ModelVersionStatus] = {}
        if spec.name in self._models:
            statuses = self._models[spec.name].statuses()
        if spec.HasField("version"):
            version = spec.version.value
            statuses = {version: statuses[version]} if version in statuses else {}
        if not statuses:
            raise StatusError(Code.NOT_FOUND, f"no such version of model {spec.name!r} is known")
        newest_first = sorted(statuses, reverse=True)
        return GetModelStatusResponse(model_version_status=[statuses[v] for v in newest_first])

    def _model(self, config: ModelConfig) -> Model:
        def load(version: int, path: Path) -> Servable:
            return Servable(config.name, version, path, self._scheduler)

        return Model(config, load)

    def _model_of(self, spec: ModelSpec) -> Model:
        if not spec.name:
            raise invalid_argument("the request names no model")
        if spec.name not in self._models:
            raise StatusError(Code.NOT_FOUND, f"model {spec.name!r} is not served")
        return self._models[spec.name]

    def _version(self, spec: ModelSpec) -> int | None:
        choice = spec.WhichOneof("version_choice")
        if choice == "version_label":
            labels = self._labels[spec.name]
            if spec.version_label not in labels:
                raise invalid_argument(f"version label {spec.version_label!r} is unknown")
            return labels[spec.version_label]
        return spec.version.value if choice == "version" else None

    def _try_to_load(self, model: Model) -> bool:
        """Whether a version is there."""
        model.refresh()
        statuses = model.statuses().values()
        for status in statuses:
            if status.status.error_code:
                raise StatusError(Code.UNKNOWN, f"model {model.name!r} does not load: {status}")
        return any(status.state == ModelVersionStatus.AVAILABLE for status in statuses)
