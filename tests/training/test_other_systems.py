"""The package with what Windows lacks, and so what macOS lacks, taken away."""

import pytest
from forked import ForkedProcess
from other_system import train_on_windows

from rnnsearch_tf.models.model_directory import ModelDirectory

pytestmark = pytest.mark.slow


def test_every_module_is_imported_and_a_model_trained(tmp_path, train_flags):
    files = [flag for flag in train_flags if not flag.startswith("--valid")]
    flags = [*files, f"--model_dir={tmp_path / 'model'}", "--max_updates=1"]
    process = ForkedProcess(train_on_windows, flags, log=tmp_path / "log")
    assert process.wait() == 0, (tmp_path / "log").read_text()
    assert len(ModelDirectory(tmp_path / "model").check_weights("last")) == 64
