"""Measure what a search among candidate words gains in speed and loses in BLEU.

One line of JSON for each number of candidate words: for each beam size, BLEU, and the speed in
sentences per second of CPU time relative to the search among all words; the mean numbers of words
in a sentence's list and of columns of W_o that a batch multiplies; and the share of the steps of
the exact search's translations at which the most probable word is not in the list.
"""

import argparse
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import one_line
import tensorflow as tf
from measure import say

from rnnsearch_tf import threads
from rnnsearch_tf.data.batching import ordered_batches
from rnnsearch_tf.data.parallel_corpus import ParallelFiles, ParallelText, read_all
from rnnsearch_tf.decoding.candidates import CandidateLists
from rnnsearch_tf.evaluation.evaluator import Evaluator
from rnnsearch_tf.evaluation.metrics import bleu
from rnnsearch_tf.inference.lexicon_file import read_lexicon, required, translation_ids
from rnnsearch_tf.inference.translator import Translator
from rnnsearch_tf.models.model_directory import ModelDirectory

BEAMS = (5, 12)
_BATCH = 64


def main() -> None:
    """Measure each number of candidate words."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model_dir", type=Path, required=True, help="with a lexicon.tsv")
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--reference", type=Path, required=True)
    parser.add_argument("--candidate_words", type=int, nargs="+", default=[250, 500, 1000, 2500])
    arguments = parser.parse_args()
    threads.limit_operations(1)  # as `rnnsearch-translate`
    text = read_all(ParallelFiles([arguments.source], [arguments.reference]))
    translator = Translator.load(arguments.model_dir, alignment="attention")
    exact = {beam: _translated(translator, text.source, beam, 0) for beam in BEAMS}
    steps = _steps(translator, ParallelText(text.source, exact[BEAMS[0]][0]))
    source, target = translator.vocabularies
    lexicon = read_lexicon(required(ModelDirectory(arguments.model_dir).find_lexicon()))
    ids = translation_ids(lexicon, source, target)
    for count in (0, *arguments.candidate_words):
        row: dict[str, object] = {"what": "candidates", "candidate_words": count}
        for beam in BEAMS:
            found, seconds = (
                _translated(translator, text.source, beam, count) if count else exact[beam]
            )
            row[f"bleu_{beam}"] = round(bleu(found, text.target).score, 2)
            row[f"speed_{beam}"] = round(exact[beam][1] / seconds, 2)
        if count:
            row |= _measured(
                CandidateLists(ids, len(target), count, beam_size=1), steps, len(target)
            )
        say(row)


def _translated(
    translator: Translator, lines: list[str], beam: int, count: int
) -> tuple[list[str], float]:
    """Translate twice; return the texts, and the seconds of CPU time of the second time."""
    searching = translator.with_options(beam_size=beam, candidate_words=count)
    searching.translate(lines, progress=False)
    begin = time.process_time()
    results = searching.translate(lines, progress=False)
    return [result.text for result in results], time.process_time() - begin


class _Steps(NamedTuple):
    """The steps of a batch of translations, read with teacher forcing."""

    source: np.ndarray  # ids [B, Tx]
    best: np.ndarray  # the most probable word of the vocabulary [B, Ty]
    is_step: np.ndarray  # false at padding


def _steps(translator: Translator, translations: ParallelText) -> list[_Steps]:
    model = translator.model
    if model is None:
        raise SystemExit("--model_dir: needs a model directory, not an export")
    pairs = Evaluator(translator).pairs(translations)
    return [
        _Steps(
            batch["source"].numpy(),
            tf.argmax(model(batch), axis=2).numpy(),
            batch["target"].numpy() > 0,
        )
        for batch in ordered_batches(pairs, _BATCH, "batch")
    ]


def _measured(lists: CandidateLists, steps: list[_Steps], size: int) -> dict[str, float]:
    """Measure the lists of sentences, and the best words that are missing in them."""
    own, columns, missing = [], [], 0
    for source, best, is_step in steps:
        words, penalty = (np.asarray(x) for x in lists.of(source))
        is_listed = np.zeros([len(source), size], bool)
        is_listed[:, words] = penalty == 0
        missing += int((~np.take_along_axis(is_listed, best, axis=1) & is_step).sum())
        own += is_listed.sum(axis=1).tolist()
        columns.append(len(words))
    total = sum(int(batch.is_step.sum()) for batch in steps)
    return {
        "words_of_a_sentence": round(float(np.mean(own))),
        "columns_of_a_batch": round(float(np.mean(columns))),
        "best_word_missing": round(missing / total, 4),
    }


if __name__ == "__main__":
    one_line.run(main)
