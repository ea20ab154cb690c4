"""Demonstration: both models on the built-in grammar, in minutes, on a laptop."""

import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rnnsearch_tf.alignment.error_rate import AlignmentScores, GoldLinks, alignment_scores
from rnnsearch_tf.alignment.links import LinkRule
from rnnsearch_tf.config import Config
from rnnsearch_tf.data.parallel_corpus import ParallelText
from rnnsearch_tf.errors import InputError
from rnnsearch_tf.evaluation.length_bins import LengthBin, bleu_by_length
from rnnsearch_tf.files import write_atomically
from rnnsearch_tf.inference.translator import Translator
from rnnsearch_tf.models.model_directory import ModelDirectory
from rnnsearch_tf.presets import PRESETS
from rnnsearch_tf.progress import say
from rnnsearch_tf.serving.export import export
from rnnsearch_tf.synthetic.grammar import SentencePair, generate
from rnnsearch_tf.training.run import train
from rnnsearch_tf.visualization.alignment_matrix import draw_alignment
from rnnsearch_tf.visualization.curves import draw_bleu_by_length

TRAINING_LENGTH = 30  # tokens, the maximum in training
TEST_LENGTH = 60
_MARKER = ".demonstration"
SYSTEMS = {"RNNsearch": "rnnsearch", "RNNencdec": "rnnencdec"}
SENTENCES = (
    "The European Economic Area will not be small.",
    "I have seen the old man's car in Paris.",
    "The president did not go to Paris because the old men wanted to sleep.",
)

# Runs where this package cannot be imported: a server's work in a dozen lines.
_SERVER = """
import os, sys
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf
serve = tf.saved_model.load(sys.argv[1]).signatures["serving_default"]
assert not any(name.startswith("rnnsearch_tf") for name in sys.modules)
outputs = serve(text=tf.constant(sys.argv[2:]))
for text, score in zip(outputs["translation"].numpy(), outputs["score"].numpy()):
    sys.stdout.buffer.write(f"{score:.3f}\\t".encode() + text + b"\\n")
"""


def run(
    output: str | Path,
    training_pairs: int = 96_000,
    validation_pairs: int = 200,
    pairs_per_length_bin: int = 60,
) -> None:
    """Train both models, compare, draw, export, and translate in a fresh process.

    If the folder has an interrupted demonstration, it is resumed; a finished one is replaced. Other
    files stay. InputError if files of another program have the names that the demonstration uses.
    """
    started = time.monotonic()
    output = Path(output)
    _claim(output)
    if _export_path(output).exists():
        _remove(output)
    training = _text(generate(training_pairs, seed=1, max_length=TRAINING_LENGTH))
    validation = _text(generate(validation_pairs, seed=2, max_length=TRAINING_LENGTH))
    lows = range(1, TEST_LENGTH, 10)
    test = [pair for low in lows for pair in generate(pairs_per_length_bin, 3, low, low + 9)]
    for name, text in (("train", training), ("valid", validation), ("test", _text(test))):
        _write(output / "text", name, text)
    translators, curves = {}, {}
    for name, architecture in SYSTEMS.items():
        say(f"\n{name}: training on {training_pairs:,} pairs of 1 to {TRAINING_LENGTH} tokens")
        config, cache = _config(architecture), output / "cache"
        if stopped_by := train(config, output / architecture, training, validation, cache):
            raise KeyboardInterrupt(stopped_by)
        translators[name] = Translator.load(output / architecture, alignment="attention")
        curves[name] = _bleu_by_length(translators[name], test)
    print(_table(curves))
    draw_bleu_by_length(output / "figures" / "bleu_by_length.svg", curves, [TRAINING_LENGTH])
    translator = translators["RNNsearch"]
    error_rate = _alignment_scores(translator, test).aer
    print(f"Alignment error rate of RNNsearch's attention, against the grammar's: {error_rate:.3f}")
    result = translator.translate(SENTENCES[0], return_alignment=True)
    figure = output / "figures" / "alignment.svg"
    draw_alignment(figure, result.alignment, result.source_tokens, result.tokens)
    path = _export_path(output)
    export([output / "rnnsearch"], path.parent, int(path.name), alignment="attention")
    print(f"\n{path}, loaded by a fresh process that imports TensorFlow but not this package:")
    for sentence, (translation, score) in zip(SENTENCES, _serve(path, SENTENCES), strict=True):
        print(f"  {sentence}\n    {translation}   (log p {score} nats)")
    print(f"\nFigures: {output / 'figures'}. {time.monotonic() - started:.0f} s in all.")


def _config(architecture: str) -> Config:
    """Return settings for a training run that sees each sentence once, in small batches.

    In the same time, a model learns more from many sentences than from few in several epochs.
    """
    preset = PRESETS[f"{architecture}-tiny"]
    return preset.with_settings(epochs=1, batch_size=40, evaluation_interval=1200)


def _export_path(output: Path) -> Path:
    """Return the folder of the export, the last thing that a demonstration writes."""
    return output / "export" / "1"


def _claim(output: Path) -> None:
    """Mark the folder as a demonstration's, so that the next one may replace its files."""
    marker = output / _MARKER
    if marker.exists():
        return
    for name in ("text", *SYSTEMS.values(), "figures", "export"):
        if (output / name).exists():
            raise InputError(
                f"{output / name} was not written by this version of rnnsearch-demo: choose "
                "another folder, or move it away"
            )
    output.mkdir(parents=True, exist_ok=True)
    marker.touch()


def _remove(output: Path) -> None:
    """Remove the training runs and the export of a demonstration, but no other files."""
    say(f"{output}: the earlier demonstration is replaced; other files stay")
    for architecture in SYSTEMS.values():
        directory = ModelDirectory(output / architecture)
        with directory.locked():
            directory.remove_training()
    shutil.rmtree(_export_path(output))  # last: a removal that is broken off is done again


def _text(pairs: Any) -> ParallelText:
    pairs = list(pairs)
    return ParallelText([pair.source for pair in pairs], [pair.target for pair in pairs])


def _write(folder: Path, name: str, text: ParallelText) -> None:
    """Write NAME.en and NAME.fr, for further experiments."""
    folder.mkdir(parents=True, exist_ok=True)
    for language, lines in (("en", text.source), ("fr", text.target)):
        content = "".join(line + "\n" for line in lines)
        write_atomically(folder / f"{name}.{language}", content.encode())


def _bleu_by_length(translator: Translator, test: Sequence[SentencePair]) -> list[LengthBin]:
    text = _text(test)
    translations = [result.text for result in translator.translate(text.source)]
    lengths = [len(pair.source_tokens) for pair in test]
    return bleu_by_length(translations, text.target, lengths)


def _table(curves: dict[str, list[LengthBin]]) -> str:
    lines = ["", "BLEU by source length", f"{'tokens':>10}" + "".join(f"{n:>12}" for n in curves)]
    for bins in zip(*curves.values(), strict=True):
        scores = "".join(f"{b.bleu:12.2f}" for b in bins)
        mark = "" if bins[0].high <= TRAINING_LENGTH else "   longer than any in training"
        lines.append(f"{f'{bins[0].low}-{bins[0].high}':>10}{scores}{mark}")
    return "\n".join([*lines, ""])


def _alignment_scores(translator: Translator, test: Sequence[SentencePair]) -> AlignmentScores:
    """Score the alignments of reference translations up to the training length."""
    short = [pair for pair in test if len(pair.source_tokens) <= TRAINING_LENGTH]
    text = _text(short)
    alignments = translator.align(text.source, text.target)
    links = (LinkRule().links(alignment.weights) for alignment in alignments)
    return alignment_scores(links, [GoldLinks(pair.alignment) for pair in short])


def _serve(path: Path, sentences: Sequence[str]) -> list[tuple[str, str]]:
    """Return translations and scores, as text, by a process that cannot import this package."""
    finished = subprocess.run(
        [sys.executable, "-c", _SERVER, str(path.resolve()), *sentences],
        cwd=path,  # Python looks for modules there, and not where the command was run
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    if finished.returncode:
        last = (finished.stderr.splitlines() or [f"status {finished.returncode}"])[-1]
        raise InputError(f"{path} could not be served: {last}")
    return [(line.split("\t")[1], line.split("\t")[0]) for line in finished.stdout.splitlines()]
