"""WMT '14 English-French, downloaded and kept by TensorFlow Datasets (paper, section 4.1).

Its name there is `wmt14_translate/fr-en`. That data set always has all subsets, so a choice of
subsets is a `wmt_translate` data set with a configuration of our own, made of the same files.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rnnsearch_tf.data.parallel_corpus import BLOCK_PAIRS, ParallelText
from rnnsearch_tf.digests import json_digest
from rnnsearch_tf.errors import InputError, UsageError, first_line
from rnnsearch_tf.extras import require_package

SUBSETS = ("europarl_v7", "commoncrawl", "multiun", "newscommentary_v9", "gigafren")
_PAIR = ("fr", "en")  # as TensorFlow Datasets has them; examples name their languages
_VERSION = "1.0.0"
_SPLIT = "train"


class Wmt14:
    """The training pairs of WMT '14. Nothing is downloaded before `blocks` is called.

    Args:
        subsets: some of `SUBSETS`, in any order.
        data_dir: the folder of TensorFlow Datasets; by default its own.
        source_language: "en" or "fr".
        target_language: the other.

    Raises:
        UsageError: a subset or a language that WMT '14 English-French does not have.
        InputError: TensorFlow Datasets is not installed.
    """

    def __init__(
        self,
        subsets: Sequence[str] = SUBSETS,
        data_dir: str | Path | None = None,
        source_language: str = "en",
        target_language: str = "fr",
    ):
        subsets = [subsets] if isinstance(subsets, str) else subsets
        unknown = [name for name in subsets if name not in SUBSETS]
        if unknown or not subsets:
            raise UsageError(
                f"WMT '14 has no subset {', '.join(unknown) or '(none)'}: choose from "
                f"{', '.join(SUBSETS)}"
            )
        if {source_language, target_language} != set(_PAIR):
            raise UsageError(
                f"this WMT '14 is English and French, not {source_language} and {target_language}"
            )
        require_package("tensorflow_datasets")
        self._subsets = [name for name in SUBSETS if name in subsets]
        self._data_dir = None if data_dir is None else str(data_dir)
        self._languages = source_language, target_language

    def fingerprint(self) -> str:
        """Return the SHA-256 of the data set's name, version, subsets, split and languages."""
        what = [self._builder().info.full_name, self._subsets, _SPLIT, self._languages]
        return json_digest(["tfds", what])

    def blocks(self) -> Iterator[ParallelText]:
        """Yield the pairs in order, a block at a time, after downloading them if need be.

        InputError if the data set is not there and cannot be downloaded, or is damaged.
        """
        import tensorflow as tf

        try:
            for block in self._dataset().batch(BLOCK_PAIRS).prefetch(1).as_numpy_iterator():
                sides = ([text.decode() for text in block[name]] for name in self._languages)
                yield ParallelText(*sides)
        except tf.errors.OpError as error:
            folder = self._builder().data_dir
            raise InputError(f"{folder}: damaged or incomplete: {first_line(error)}") from error

    def _dataset(self) -> Any:
        builder = self._builder()
        try:
            builder.download_and_prepare()
            return builder.as_dataset(split=_SPLIT, shuffle_files=False)
        except Exception as error:  # of many libraries: network, archives, checksums, disk
            raise InputError(
                f"WMT '14 could not be downloaded to {builder.data_dir}: {first_line(error)}"
            ) from error

    def _builder(self) -> Any:
        """Return the builder of TensorFlow Datasets, which reads and writes nothing yet."""
        import tensorflow_datasets as tfds  # takes a second to import, and is rarely needed

        if len(self._subsets) == len(SUBSETS):
            return tfds.builder(
                f"wmt14_translate/{'-'.join(_PAIR)}:{_VERSION}",
                data_dir=self._data_dir,
                try_gcs=False,
            )
        config = tfds.translate.wmt.WmtConfig(
            name="wmt14_" + "_".join(self._subsets),
            description="Subsets of WMT 2014 French-English.",
            language_pair=_PAIR,
            subsets={_SPLIT: self._subsets},
            version=_VERSION,
        )
        return tfds.builder("wmt_translate", config=config, data_dir=self._data_dir, try_gcs=False)
