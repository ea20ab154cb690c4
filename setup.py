"""What pyproject.toml cannot say: export/ becomes rnnsearch_tf/kit/, README's links absolute."""

import re
import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

_REPOSITORY = "https://github.com/rnnsearch-tf/rnnsearch_tf"
_IMAGES = "https://raw.githubusercontent.com/rnnsearch-tf/rnnsearch_tf/main"
_LEFT_OUT = shutil.ignore_patterns("*.py", "__pycache__", "exports", ".*")


class BuildWithKit(build_py):
    """Build, and copy the files for TensorFlow Serving, which `rnnsearch-export --kit` writes."""

    def run(self) -> None:
        """Build."""
        package = Path(self.build_lib) / "rnnsearch_tf"
        if not self.editable_mode:  # an earlier build may have modules that are no more
            shutil.rmtree(package, ignore_errors=True)
        super().run()
        if not self.editable_mode:  # there they are found in export/ itself
            shutil.copytree("export", package / "kit", ignore=_LEFT_OUT)


def long_description() -> str:
    """Return README.md with links that lead somewhere from a package index, too."""
    text = Path("README.md").read_text("utf-8")
    text = re.sub(r"(!\[[^]]*\]\()(?!https?:)", rf"\1{_IMAGES}/", text)
    return re.sub(r"(\]\()(?!https?:|#)", rf"\1{_REPOSITORY}/blob/main/", text)


setup(
    cmdclass={"build_py": BuildWithKit},
    long_description=long_description(),
    long_description_content_type="text/markdown",
)
