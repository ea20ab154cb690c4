"""Translation of sharded corpora: an output shard for each input shard, lines in order."""

import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import apache_beam as beam
from apache_beam.io.filesystem import CompressionTypes
from apache_beam.io.filesystems import FileSystems
from apache_beam.ml.inference.base import KeyedModelHandler, ModelHandler, RunInference

from rnnsearch_tf.digests import stream_digest
from rnnsearch_tf.errors import InputError, input_errors
from rnnsearch_tf.given_texts import Line
from rnnsearch_tf.inference.translator import Translator
from rnnsearch_tf.models.model_directory import MODEL_FILES
from rnnsearch_tf.pipelines.jobs import NAMESPACE, count
from rnnsearch_tf.pipelines.shards import outputs_of, read_lines, write_lines
from rnnsearch_tf.results import Translation
from rnnsearch_tf.text.sentences import SentenceSplitter
from rnnsearch_tf.threads import limit_operations
from rnnsearch_tf.windows import text_windows

CHUNK_LINES = 1_024  # translated by one worker, lines of similar length together

Place = tuple[str, int]  # path of the output, number of the chunk's first line from 0


class TranslatorHandler(ModelHandler):
    """`Translator` for Beam's `RunInference`, whose elements are chunks of lines.

    Beam's handler for TensorFlow reads a SavedModel with `keras.models.load_model`, which Keras 3
    refuses. A process has one model, for all its threads; `Translator` sorts the lines of a chunk
    by length, and searches together those that are alike.

    Args:
        model: an export or a model directory, on any of Beam's filesystems.
        n_best: different translations wanted of each line.
        return_alignment: whether hypotheses have their α.
        split_sentences: whether the sentences of a line are translated one by one.

    Attributes:
        digests: as `model_digests`, when the handler was made.
    """

    def __init__(self, model: str, n_best: int, return_alignment: bool, split_sentences: bool):
        super().__init__(min_batch_size=1, max_batch_size=1)
        self._model = find_version(model) if "://" in model else model
        self.digests = model_digests(self._model)
        self._options: dict[str, Any] = {
            "n_best": n_best,
            "return_alignment": return_alignment,
            "split_sentences": split_sentences,
        }

    def load_model(self) -> Translator:
        """Read the model; one that is not on this machine's disk is first copied, temporarily.

        InputError if its files have changed since the handler was made.
        """
        limit_operations(1)  # parts of the chunk, and other processes, use the other cores
        if "://" not in self._model:
            return self._load(self._model)
        with tempfile.TemporaryDirectory() as folder:
            _copy(self._model, Path(folder))
            return self._load(folder)

    def _load(self, folder: str) -> Translator:
        translator = Translator.load(folder)
        translator.prepare()
        if model_digests(folder) != self.digests:
            raise InputError(
                f"{self._model}: it has changed since the job began; start again with another "
                "--output"
            )
        return translator

    def run_inference(
        self,
        batch: Sequence[Sequence[bytes]],
        model: Translator,
        inference_args: dict[str, Any] | None = None,
    ) -> list[list[Translation]]:
        """Translate the lines of a batch's only chunk, in order."""
        limit = model.config.decoding.max_length
        [chunk] = batch
        parts: list[tuple[int, Line]] = [*enumerate(chunk)]  # with the number of their line
        if self._options["split_sentences"]:
            splitter = SentenceSplitter(model.config.source_language)
            parts = [(number, one) for number, line in parts for one in splitter.split(line)]
        lengths = model.source_lengths([part for _, part in parts])
        cut = {number for (number, _), length in zip(parts, lengths, strict=True) if length > limit}
        count("truncated_lines", len(cut))
        return [list(model.translate_windows(batch, **self._options))]

    def get_metrics_namespace(self) -> str:
        """Return the namespace of `RunInference`'s metrics: times of loading and of each chunk."""
        return NAMESPACE


def translate_shards(
    pipeline: beam.Pipeline,
    patterns: Sequence[str],  # of input files (see `read_lines`)
    output: str,  # a folder, in which each shard has its name (see `outputs_of`) and its format
    unfinished: str,  # a folder for files that are being written
    handler: TranslatorHandler,
    to_text: Callable[[Translation, int], str],  # given the number of a line in its shard, from 0
    feature: str | None,  # of records that are `tf.train.Example`
    skip_existing: bool,  # whether a shard is left out whose output is there
) -> beam.PCollection:
    """Add to a pipeline: read shards, translate their lines, write as many shards of results.

    Returns the paths of the shards that are written. The job raises an InputError if two inputs
    have the same output.
    """
    shards = (
        pipeline
        | "Patterns" >> beam.Create(patterns)
        | "Match" >> beam.FlatMap(outputs_of, output)
        | "ByOutput" >> beam.GroupByKey()
        | "Check" >> beam.MapTuple(_only_input)
    )
    if skip_existing:
        shards |= "Skip" >> beam.Filter(lambda shard: not FileSystems.exists(shard[0]))
    read = shards | "Read" >> beam.ParDo(_ReadChunks(), feature).with_outputs(
        "sizes", main="chunks"
    )
    results = (
        read.chunks
        | "ToWorkers" >> beam.Reshuffle()
        | "Translate" >> RunInference(KeyedModelHandler(handler))
        | "Format" >> beam.Map(_formatted, to_text)
    )
    return (
        {"sizes": read.sizes, "chunks": results}
        | "ByShard" >> beam.CoGroupByKey()
        | "Write" >> beam.Map(_write, unfinished)
    )


class _ReadChunks(beam.DoFn):
    """Reads shards: chunks of lines with their places, and as "sizes" the number of all lines."""

    def process(self, shard: tuple[str, str], feature: str | None) -> Iterator[Any]:
        output, path = shard
        size = 0
        for lines in text_windows(read_lines(path, feature), CHUNK_LINES):
            yield (output, size), lines
            size += len(lines)
            count("blank_lines", sum(not line.strip() for line in lines))
            is_other = (line.decode(errors="ignore").encode() != line for line in lines)
            count("not_utf8_lines", sum(is_other))
        count("lines", size)
        yield beam.pvalue.TaggedOutput("sizes", (output, size))


def _only_input(output: str, inputs: Iterable[str]) -> tuple[str, str]:
    first, *others = sorted(set(inputs))  # several patterns may match a file
    if others:
        raise InputError(f"{first} and {others[0]} have one output, {output}")
    return output, first


def _formatted(
    chunk: tuple[Place, Sequence[Translation]], to_text: Callable[[Translation, int], str]
) -> tuple[str, tuple[int, int, str]]:
    (output, start), results = chunk
    text = "\n".join(to_text(result, number) for number, result in enumerate(results, start))
    failed = sum(result.score == float("-inf") for result in results)
    count("lines_without_translation", failed)
    return output, (start, len(results), text)


def _write(shard: tuple[str, Mapping[str, Iterable[Any]]], unfinished: str) -> str:
    """Write a shard, after a check that each of its lines is there once."""
    output, parts = shard
    [size] = parts["sizes"]
    chunks = sorted(parts["chunks"])
    done = 0
    for start, lines, _ in chunks:
        if start != done:
            raise RuntimeError(f"{output}: results of line {start + 1:,} follow {done:,} others")
        done += lines
    if done != size:
        raise RuntimeError(f"{output}: {done:,} results of {size:,} lines")
    write_lines(
        output, (line for *_, text in chunks for line in text.encode().split(b"\n")), unfinished
    )
    count("shards")
    return output


def find_version(folder: str) -> str:
    """Return the folder of a model on any of Beam's filesystems: the highest of several versions.

    A job keeps to it, even if a newer version is exported meanwhile.
    """
    folder = folder.rstrip("/")
    with input_errors(folder):
        [graphs] = FileSystems.match([f"{folder}/*/saved_model.pb"])
        is_model_directory = FileSystems.exists(f"{folder}/config.json")
    names = [found.path.split("/")[-2] for found in graphs.metadata_list]
    highest = max(filter(str.isdecimal, names), key=int, default="")
    return folder if is_model_directory or not highest else f"{folder}/{highest}"


def model_digests(folder: str) -> dict[str, str]:
    """Return the SHA-256 of the files that identify the model in a folder, by name."""
    digests = {}
    for name in ("model.json", *MODEL_FILES, "best.weights.h5"):
        path = f"{folder}/{name}"
        with input_errors(path):
            if FileSystems.exists(path):
                with FileSystems.open(path, compression_type=CompressionTypes.UNCOMPRESSED) as file:
                    digests[name] = stream_digest(file)
    return digests


def _copy(folder: str, target: Path) -> None:
    """Copy a model from any of Beam's filesystems."""
    for copy, path in outputs_of(f"{folder}/**", str(target)):
        if Path(copy).relative_to(target).parts[0] in ("checkpoints", "tensorboard"):
            continue
        Path(copy).parent.mkdir(parents=True, exist_ok=True)
        with (
            FileSystems.open(path, compression_type=CompressionTypes.UNCOMPRESSED) as source,
            open(copy, "wb") as file,
        ):
            shutil.copyfileobj(source, file, 1 << 24)
