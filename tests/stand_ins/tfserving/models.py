"""A model whose versions come and go with the folders under its base path."""

import contextlib
import logging
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from tensorflow_serving.apis.get_model_status_pb2 import ModelVersionStatus
from tensorflow_serving.apis.status_pb2 import StatusProto
from tensorflow_serving.config.model_server_config_pb2 import ModelConfig

from tfserving.servable import Servable
from tfserving.status import Code, StatusError

LOGGER = logging.getLogger(__name__)


class Model:
    """The versions of one model.

    Args:
        config: name, base path, version policy.
        load: from a version's number and folder to the loaded version.
    """

    def __init__(self, config: ModelConfig, load: Callable[[int, Path], Servable]):
        self.name = config.name
        self._base_path = Path(config.base_path)
        self._policy = config.model_version_policy
        self._load_servable = load
        self._changed = threading.Condition()  # guards what follows
        self._servables: dict[int, Servable] = {}
        self._running: Counter[int] = Counter()  # requests by version
        self._statuses: dict[int, ModelVersionStatus] = {}

    @contextlib.contextmanager
    def use(self, version: int | None) -> Iterator[Servable]:
        """A loaded version, which stays loaded while the block runs.

        Args:
            version: its number; None: the highest.

        Raises:
            StatusError: NOT_FOUND, it is not loaded.
        """
        with self._changed:
            number = max(self._servables, default=None) if version is None else version
            if number not in self._servables:
                which = "any version" if version is None else f"version {version}"
                raise StatusError(Code.NOT_FOUND, f"{which} of model {self.name!r} is not loaded")
            servable = self._servables[number]
            self._running[number] += 1
        try:
            yield servable
        finally:
            with self._changed:
                self._running[number] -= 1
                self._changed.notify_all()

    def statuses(self) -> dict[int, ModelVersionStatus]:
        """Every version seen, those that went included."""
        with self._changed:
            return dict(self._statuses)

    def refresh(self) -> None:
        """Look at the base path: load what is wanted, and then unload what is not.

        Raises:
            OSError: the base path cannot be read; everything stays as it is.
        """
        wanted = self._wanted_versions()
        for version in sorted(wanted, reverse=True):
            if version not in self._servables and not self._has_failed(version):
                self._load(version, wanted[version])
        # As long as no wanted version is there, an old one is better than none.
        if not wanted or wanted.keys() & self._servables.keys():
            for version in sorted(self._servables.keys() - wanted.keys()):
                self._unload(version)

    def _wanted_versions(self) -> dict[int, Path]:
        """Numbers and folders of the versions that the policy asks for."""
        folders = {
            int(path.name): path
            for path in self._base_path.iterdir()
            if path.name.isascii() and path.name.isdecimal()
        }
        if self._policy.HasField("specific"):
            return {n: folders[n] for n in self._policy.specific.versions if n in folders}
        newest = max(folders, default=None)
        return {} if newest is None else {newest: folders[newest]}

    def _has_failed(self, version: int) -> bool:
        return version in self._statuses and self._statuses[version].status.error_code != 0

    def _load(self, version: int, path: Path) -> None:
        self._set_status(version, ModelVersionStatus.LOADING)
        try:
            servable = self._load_servable(version, path)
        except StatusError as error:
            self._set_status(version, ModelVersionStatus.END, error)
            return
        with self._changed:
            self._servables[version] = servable
        self._set_status(version, ModelVersionStatus.AVAILABLE)

    def _unload(self, version: int) -> None:
        with self._changed:
            servable = self._servables.pop(version)
            self._set_status(version, ModelVersionStatus.UNLOADING)
            self._changed.wait_for(lambda: not self._running[version])
        servable.close()
        self._set_status(version, ModelVersionStatus.END)

    def _set_status(self, version: int, state: int, error: StatusError | None = None) -> None:
        code, message = (error.code, error.message) if error else (Code.OK, "")
        status = ModelVersionStatus(version=version, state=state)
        status.status.CopyFrom(StatusProto(error_code=code.value[0], error_message=message))
        with self._changed:
            self._statuses[version] = status
        name = ModelVersionStatus.State.Name(state)
        LOGGER.info("model %s/%d %s %s", self.name, version, name, error or "")
