"""Package metadata; the version is read from the package's source, not by importing it."""

import re
from pathlib import Path

from setuptools import find_packages, setup

HERE = Path(__file__).parent
VERSION = re.search(
    r'__version__ = "(.+)"', (HERE / "rnnsearch_tf" / "__init__.py").read_text("utf-8")
).group(1)

SCRIPTS = (
    "train", "translate", "score", "align", "evaluate", "lexicon", "export", "client", "demo",
    "reproduce", "plot",
)  # fmt: skip

setup(
    name="rnnsearch-tf",
    version=VERSION,
    description="Bahdanau, Cho & Bengio (2015): RNNsearch and RNNencdec in Keras 3 / TensorFlow",
    long_description=(HERE / "README.md").read_text("utf-8"),
    long_description_content_type="text/markdown",
    license="MIT",
    python_requires=">=3.10",
    packages=find_packages(include=["rnnsearch_tf", "rnnsearch_tf.*"]),
    package_data={
        "rnnsearch_tf": ["py.typed"],
        "rnnsearch_tf.reproduction": ["*.md"],
        "rnnsearch_tf.visualization": ["*.css", "*.js"],
    },
    # Tried: Python 3.10 with Keras 3.12.4 and NumPy 2.2; 3.11 with Keras 3.15.1 and NumPy 2.4.
    install_requires=[
        "absl-py>=2.5",
        "h5py>=3.14",
        "importlib_resources>=6",  # tensorflow-datasets 4.9.10 imports it and does not ask for it
        # 3.12.4, the last for Python 3.10, and 3.15.1: those before and between read weights from
        # other files, or more than they are told.
        "keras>=3.12.4,<3.16,!=3.13.*,!=3.14.*,!=3.15.0",
        "matplotlib>=3.10",
        "numpy>=2.2",
        "portalocker>=3",
        "sacrebleu>=2.6,<3",
        "tensorboard>=2.20",
        "tensorflow>=2.21,<2.22",
        "tensorflow-datasets>=4.9.10",
        "tensorflow-serving-api>=2.21,<2.22",
        "urllib3>=2.8",  # those before unpack, read or wait without a limit
    ],
    extras_require={
        "select": ["nltk>=3.10.4"],
        "test": [
            "beartype>=0.19",
            "hypothesis>=6.100",
            "ipykernel>=6.29",
            "jax>=0.6",
            "jaxtyping>=0.3",
            "kubernetes-validate>=1.37",
            "nbclient>=0.10",
            "nbformat>=5.10",
            "nltk>=3.10.4",
            "playwright>=1.50",
            "pytest>=8",
            "pytest-xdist>=3.8",
            "pyyaml>=6",
            "sacremoses>=0.1.1",
        ],
        "check": ["mypy>=1.11", "ruff>=0.9"],
        "docs": ["mkdocs-material>=9.6,<10", "mkdocstrings[python]>=1,<2"],
    },
    entry_points={
        "console_scripts": [
            *(f"rnnsearch-{name} = rnnsearch_tf.scripts.{name}:run" for name in SCRIPTS),
            "rnnsearch-select = rnnsearch_tf.scripts.select_pairs:run",
        ]
    },
    classifiers=[
        "License :: OSI Approved :: MIT License",
        "Programming Language :: Python :: 3",
        "Topic :: Scientific/Engineering :: Artificial Intelligence",
    ],
)
