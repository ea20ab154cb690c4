"""Fixtures that the tests share: text, a trained model, an export; and the order of the files."""

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
os.environ.setdefault("RNNSEARCH_DEBUG", "1")
sys.path.insert(0, str(Path(__file__).parent / "stand_ins"))

import pytest
import shape_checks

shape_checks.install()

# Files that take a minute or more: two processes that share the work begin with them.
LONGEST = (
    "test_training.py",
    "test_resume.py",
    "test_distribution.py",
    "test_reproduction.py",
    "test_notebooks.py",
)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests that have a browser, and bring the longest files to the front."""
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker("browser")
    ranks = {name: rank for rank, name in enumerate(LONGEST)}
    items.sort(key=lambda item: ranks.get(item.path.name, len(LONGEST)))


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
    from rnnsearch_tf.synthetic.grammar import generate

    folder = tmp_path_factory.mktemp("corpus")
    for name, count, seed in (("train", 300, 1), ("valid", 20, 2)):
        pairs = list(generate(count, seed, 1, 12))
        (folder / f"{name}.en").write_text("".join(p.source + "\n" for p in pairs), "utf-8")
        (folder / f"{name}.fr").write_text("".join(p.target + "\n" for p in pairs), "utf-8")
        links = [" ".join(f"{i}-{j}" for i, j in sorted(p.alignment)) for p in pairs]
        (folder / f"{name}.links").write_text("".join(line + "\n" for line in links), "utf-8")
    return folder


TINY = (
    "--preset=rnnsearch-tiny",
    "--source_vocabulary_size=200",
    "--target_vocabulary_size=200",
    "--embedding_size=8",
    "--hidden_size=11",
    "--attention_size=7",
    "--maxout_size=5",
    "--batch_size=32",
)


@pytest.fixture(scope="session")
def train_flags(corpus: Path) -> list[str]:
    """Flags of `rnnsearch-train` for a training of seconds; --model_dir is left out."""
    files = [
        f"--{part}_{side}={corpus / part}.{language}"
        for part in ("train", "valid")
        for side, language in (("source", "en"), ("target", "fr"))
    ]
    return [*files, *TINY, "--epochs=1"]


def made_once(
    tmp_path_factory: pytest.TempPathFactory, name: str, make: Callable[[Path], None]
) -> Path:
    """A folder that the first process of pytest-xdist to want it makes for all of them."""
    from rnnsearch_tf.files import make_once

    root = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        root = root.parent
    make_once(root / name, Path.exists, make)
    return root / name


@pytest.fixture(scope="session")
def model_dir(tmp_path_factory: pytest.TempPathFactory, train_flags: list[str]) -> Path:
    """A model directory that a short training has made; not to be changed."""
    from rnnsearch_tf.scripts import train

    def make(path: Path) -> None:
        assert train.run([*train_flags, f"--model_dir={path}"]) == 0

    return made_once(tmp_path_factory, "model", make)


@pytest.fixture(scope="session")
def export_dir(tmp_path_factory: pytest.TempPathFactory, model_dir: Path) -> Path:
    """What a model server watches: a folder with version 1 of `model_dir`; not to be changed."""
    from rnnsearch_tf.scripts import export

    def make(path: Path) -> None:
        flags = [f"--model_dir={model_dir}", f"--export_dir={path}", "--beam_size=3"]
        assert export.run(flags) == 0

    return made_once(tmp_path_factory, "exports", make)


@pytest.fixture
def own_fonts() -> Iterator[None]:
    """Fonts that are installed in the test are gone after it."""
    from matplotlib import font_manager

    from rnnsearch_tf.visualization import fonts

    before = list(font_manager.fontManager.ttflist)
    fonts._families_for.cache_clear()
    yield
    font_manager.fontManager.ttflist[:] = before
    fonts._families_for.cache_clear()
