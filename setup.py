"""The build step that pyproject.toml cannot describe: export/ becomes rnnsearch_tf/kit/."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

_LEFT_OUT = shutil.ignore_patterns("*.py", "__pycache__", ".*")


class BuildWithKit(build_py):
    """Build, and copy the files for TensorFlow Serving, which `rnnsearch-export --kit` writes."""

    def run(self) -> None:
        """Build."""
        super().run()
        if not self.editable_mode:  # there they are found in export/ itself
            kit = Path(self.build_lib) / "rnnsearch_tf" / "kit"
            shutil.rmtree(kit, ignore_errors=True)
            shutil.copytree("export", kit, ignore=_LEFT_OUT)


setup(cmdclass={"build_py": BuildWithKit})
