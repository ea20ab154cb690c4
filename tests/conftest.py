"""Fixtures that the tests share: text, a trained model, an export; and the order of the files."""

import functools
import gc
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
os.environ.setdefault("RNNSEARCH_DEBUG", "1")
# The processes of pytest-xdist keep the cores busy; for tiny models, more threads only wait.
os.environ.setdefault("TF_NUM_INTRAOP_THREADS", "1")
os.environ.setdefault("TF_NUM_INTEROP_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
# XLA compiles in half the time; what it compiles runs once or twice.
os.environ.setdefault(
    "XLA_FLAGS", "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"
)
sys.path.insert(0, str(Path(__file__).parent / "stand_ins"))
sys.path.insert(0, str(Path(__file__).parent / "reliability"))

import pytest
import shape_checks
import tiny_training

shape_checks.install()

# Where it is set, these processes and all that they start would compile every module anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A job in a shell's background ignores it, and so would the commands that tests interrupt.
    signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    # Under nohup, what tests start would ignore it, too; behind a handler it has the default.
    signal.signal(signal.SIGHUP, lambda *_: None)

gc.disable()  # until all modules are imported: none of their objects is garbage

# Files and groups that take longest: the processes that share the work begin with them.
LONGEST = (
    "test_export_contract.py",
    "test_model_server.py",
    "test_training.py",
    "test_resume.py",
    "test_distribution.py",
    "test_jax_training.py",
    "test_subword_export.py",
    "test_backends.py",
    "test_guided_training.py",
    "test_reproduction.py",
    "test_translation_model.py",
    "test_version_0_1_0.py",
)

# Files that one process runs: what the first of them has started or compiled, the others use.
TOGETHER = {
    "forks of one server": (
        "test_training.py",
        "test_resume.py",
        "test_distribution.py",
        "test_other_systems.py",
        "test_preparation.py",
        "test_benchmarks.py",
    ),
    "the export's session": (
        "test_export_contract.py",
        "test_export.py",
        "test_model_server.py",
        "test_c_session.py",
        "test_hostile_strings.py",
        "test_client_script.py",
        "test_notebooks.py",
    ),
}


# Files whose tests wait more than they compute: a third process has them, beside one for each core.
WAITING = (
    "tests/serving/page/",
    "tests/client/test_client_failures.py",
    "tests/test_interrupts.py",
)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With --dist loadfile: each process gets whole files, and those of `TOGETHER` at once.

    The third process begins with those of `WAITING`, and goes on with the last and quickest.
    """
    from xdist.scheduler import LoadFileScheduling

    if config.getvalue("dist") != "loadfile":
        return None
    groups = {name: group for group, names in TOGETHER.items() for name in names}

    class Together(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            path = super()._split_scope(nodeid)
            return groups.get(Path(path).name, path)

        def _assign_work_unit(self, node: Any) -> None:
            is_third = node.gateway.id == "gw2"
            wanted = [scope for scope in self.workqueue if scope.startswith(WAITING) == is_third]
            if is_third:
                scope = wanted[0] if wanted else next(reversed(self.workqueue))
            else:
                scope = (wanted or list(self.workqueue))[0]
            self.workqueue.move_to_end(scope, last=False)
            super()._assign_work_unit(node)

    return Together(config, log)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests that have a browser, and bring the longest files to the front."""
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker("browser")
    ranks = {name: rank for rank, name in enumerate(LONGEST)}
    items.sort(key=lambda item: ranks.get(item.path.name, len(LONGEST)))


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Make graphs quickly, and look for garbage less often, which took a fifth of the time.

    Graphs are made of many small objects, and each search for garbage goes through all there are.
    """
    if "tensorflow" in sys.modules:
        import quick_graphs

        quick_graphs.install()
    gc.freeze()
    gc.enable()
    gc.set_threshold(50_000, 10, 10)


def pytest_configure(config: pytest.Config) -> None:
    """Give a process of pytest-xdist, and all that it starts, a folder for temporary files."""
    if hasattr(config, "workerinput"):
        tempfile.tempdir = tempfile.mkdtemp(prefix="rt")  # short, for sockets are in it
        os.environ["TMPDIR"] = tempfile.tempdir


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    """Leave a process of pytest-xdist, which has told all: to free its graphs takes a while."""
    if hasattr(config, "workerinput"):
        # What exits like this, or is killed, leaves the files that AutoGraph has written.
        shutil.rmtree(tempfile.gettempdir(), ignore_errors=True)
        os._exit(0)


@pytest.fixture(scope="session", autouse=True)
def user_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tests' own folder in place of the user's ~/.cache, in processes they start too."""
    path = tmp_path_factory.mktemp("cache")
    os.environ["XDG_CACHE_HOME"] = str(path)
    return path


@pytest.fixture(scope="session")
def real_text() -> Path:
    """The folder of real English-French text that RNNSEARCH_DATA names."""
    folder = os.environ.get("RNNSEARCH_DATA")
    if not folder:
        pytest.skip("RNNSEARCH_DATA does not name a folder of real text")
    return Path(folder)


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with train.{en,fr,links} and valid.{en,fr,links} from the built-in grammar."""
    folder = tmp_path_factory.mktemp("corpus")
    tiny_training.write_corpus(folder)
    return folder


@pytest.fixture(scope="session")
def train_flags(corpus: Path) -> list[str]:
    """Flags of `rnnsearch-train` for a training run of seconds; --model_dir is left out."""
    return tiny_training.training_flags(corpus)


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder for all processes of pytest-xdist.

    A `Translator` of what lies in it, or of the pretrained model, is loaded, and traces its
    searches, once for equal options.
    """
    from rnnsearch_tf.inference.translator import Translator
    from rnnsearch_tf.models.model_directory import SHIPPED, ModelDirectory

    base = tmp_path_factory.getbasetemp()
    root = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "shared"
    root.mkdir(exist_ok=True)
    load = Translator.load
    load_once = functools.cache(load)

    def load_shared(
        path: Any, decoding: Any = None, weights: str = "best", alignment: Any = None
    ) -> Translator:
        paths = [path] if isinstance(path, str | Path) else list(path)
        if not (paths and all({root, SHIPPED} & {*Path(one).parents} for one in paths)):
            return load(path, decoding, weights, alignment)
        if (Path(paths[0]) / "config.json").exists():  # what the defaults stand for in a model
            decoding = decoding or ModelDirectory(paths[0]).load_config().decoding
            if alignment is None and not (Path(paths[0]) / "aligner.npz").exists():
                alignment = "attention"
        return load_once(tuple(map(Path, paths)), decoding, weights, alignment)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Translator, "load", load_shared)
        yield root


def made_once(folder: Path, name: str, make: Callable[[Path], None]) -> Path:
    """A folder that the first process of pytest-xdist to want it makes for all of them."""
    from rnnsearch_tf.files import make_once

    make_once(folder / name, Path.exists, make)
    return folder / name


@pytest.fixture(scope="session")
def model_dir(shared_folder: Path, train_flags: list[str]) -> Path:
    """A model directory that a short training run has made; not to be changed."""
    from rnnsearch_tf.scripts import train

    def make(path: Path) -> None:
        assert train.run([*train_flags, f"--model_dir={path}"]) == 0

    return made_once(shared_folder, "model", make)


@pytest.fixture(scope="session")
def other_dir(shared_folder: Path, model_dir: Path) -> Path:
    """A model directory like `model_dir`, with other weights; not to be changed."""
    from rnnsearch_tf.models.model_directory import ModelDirectory

    def make(path: Path) -> None:
        shutil.copytree(model_dir, path, dirs_exist_ok=True)
        directory = ModelDirectory(path)
        model = directory.load_model()
        for weight in model.weights:
            weight.assign(1.5 * weight)
        directory.save_weights(model, "best", 1)

    return made_once(shared_folder, "other_model", make)


@pytest.fixture(scope="session")
def copied_model(shared_folder: Path, model_dir: Path) -> Callable[[], Path]:
    """Makes a copy of `model_dir`, whose `Translator` is loaded once, too; it may be changed."""

    def copy() -> Path:
        return shutil.copytree(model_dir, Path(tempfile.mkdtemp(dir=shared_folder)) / "model")

    return copy


@pytest.fixture(scope="session")
def export_dir(shared_folder: Path, model_dir: Path) -> Path:
    """What a model server watches: a folder with version 1 of `model_dir`; not to be changed."""
    from rnnsearch_tf.scripts import export

    def make(path: Path) -> None:
        flags = [f"--model_dir={model_dir}", f"--export_dir={path}", "--beam_size=3"]
        assert export.run(flags) == 0

    return made_once(shared_folder, "exports", make)


@pytest.fixture(scope="session")
def translator(model_dir: Path, export_dir: Path) -> Any:
    """A `Translator` of `model_dir`, with the options of `export_dir`; not to be changed."""
    from rnnsearch_tf.inference.exported import Export
    from rnnsearch_tf.inference.translator import Translator

    return Translator.load(model_dir, Export(export_dir / "1").config.decoding)


@pytest.fixture(scope="session")
def c_session(export_dir: Path) -> Iterator[Any]:
    """The export in TensorFlow's C runtime; what has run once is ready sooner."""
    from tfserving.c_session import CSession

    with CSession(export_dir / "1") as session:
        yield session


@pytest.fixture(scope="session")
def served(export_dir: Path) -> Iterator[Any]:
    """The export in the stand-in for TensorFlow Serving, for clients and pages from anywhere."""
    from tfserving import running

    with running(export_dir, "--rest_api_enable_cors_support") as server:
        yield server


@pytest.fixture
def own_fonts() -> Iterator[None]:
    """Fonts that are installed in the test are gone after it."""
    from matplotlib import font_manager

    from rnnsearch_tf.visualization import fonts

    before = list(font_manager.fontManager.ttflist)
    fonts._families_for.cache_clear()
    fonts._warn_once.cache_clear()
    yield
    font_manager.fontManager.ttflist[:] = before
    fonts._families_for.cache_clear()
    fonts._warn_once.cache_clear()
