"""What the tests share: a quiet start, and where real text lies."""

import os
import sys
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
sys.path.insert(0, str(Path(__file__).parent))

import pytest  # noqa: E402


@pytest.fixture(scope="session")
def real_text() -> Path:
    """The folder of real English-French text that RNNSEARCH_DATA names."""
    folder = os.environ.get("RNNSEARCH_DATA")
    if not folder:
        pytest.skip("RNNSEARCH_DATA does not name a folder of real text")
    return Path(folder)
