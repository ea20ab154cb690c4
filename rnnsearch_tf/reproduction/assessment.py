"""Evaluation of a trained model for the report."""

import dataclasses
import itertools
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from rnnsearch_tf.config import Config
from rnnsearch_tf.data.batching import kept_rows
from rnnsearch_tf.data.parallel_corpus import ParallelText
from rnnsearch_tf.evaluation.evaluator import Evaluator
from rnnsearch_tf.evaluation.length_bins import bleu_by_length
from rnnsearch_tf.evaluation.metrics import METRICS
from rnnsearch_tf.evaluation.significance import difference
from rnnsearch_tf.evaluation.unk_free import unk_free_sentences
from rnnsearch_tf.inference.loading import load_text_model
from rnnsearch_tf.inference.translator import Translator
from rnnsearch_tf.models.model_directory import ModelDirectory
from rnnsearch_tf.models.translation_model import TranslationModel
from rnnsearch_tf.reproduction.models import Texts
from rnnsearch_tf.reproduction.results import Example, ModelResults, SoftAlignment, SystemResults

SEED = 1  # of all that is drawn at random
TRAINING_SAMPLE = 2_000  # training pairs whose likelihood is reported
DRAWN = 5 * TRAINING_SAMPLE  # more of them, for some are too long for a model
LENGTH_BOUNDS = (10, 20, 30, 40, 50, 60)  # of Fig. 2's bins; one more has all longer sentences
ALIGNED, ALIGNED_LENGTHS = 4, (10, 20)  # sentences of Fig. 3, and their source words
LONG, LONG_LENGTHS = 3, (41, 60)  # sentences of Table 3, and their source words


def assess(
    name: str, path: Path, config: Config, text: Texts, sample: ParallelText
) -> ModelResults:
    """Evaluate the best weights of a model directory whose training has ended.

    In `sample`, drawn from the training text, pairs that are too long for the model are skipped.
    """
    decoding = dataclasses.replace(config.decoding, replace_unknown=False)
    text_model = load_text_model(path, decoding, alignment="attention")
    model = text_model.model
    assert isinstance(model, TranslationModel)  # one directory is no ensemble
    evaluator = Evaluator(Translator.of(text_model))
    pairs = evaluator.pairs(sample)
    training = pairs.take(kept_rows(pairs, config.training.max_length)[:TRAINING_SAMPLE])
    unk_free = unk_free_sentences(evaluator.translator, *text.test)
    translations, replaced = evaluator.translate_and_replace(text.test.source)
    without_unk = evaluator.translate_without_unk(text.test.source)
    by_length = (
        translations
        if text.by_length == text.test
        else evaluator.translate_and_replace(text.by_length.source)[0]
    )
    lengths = evaluator.source_lengths(text.by_length.source)
    references = text.test.target
    last = ModelDirectory(path).read_log()[-1]
    return ModelResults(
        name=name,
        max_length=config.training.max_length,
        parameters=int(model.count_params()),
        updates=int(last["updates"]),
        epochs=last["epoch"],
        hours=last["training_seconds"] / 3600,
        **trained_by(path),
        train_pairs=len(training),
        train_nll=evaluator.nll(training),
        validation_pairs=len(text.validation.source),
        validation_nll=evaluator.nll(evaluator.pairs(text.validation)),
        all=evaluator.score(translations, references),
        all_without_unk=evaluator.score(without_unk, references),
        all_replaced=evaluator.score(replaced, references) if replaced else None,
        no_unknown=evaluator.score(without_unk, references, unk_free) if unk_free else None,
        by_length=bleu_by_length(by_length, text.by_length.target, lengths, _bounds(lengths)),
        examples=_examples(text.by_length, by_length, lengths),
        alignments=_alignments(evaluator, text.test, unk_free)
        if model.config.has_attention
        else [],
        translations=translations,
        translations_without_unk=without_unk,
    )


def trained_by(path: Path) -> dict[str, str]:
    """Return the hardware and software that trained a model, one after the other."""
    records = ModelDirectory(path).read_log()
    fields = {
        field: dict.fromkeys(record.get(field, "not recorded") for record in records)
        for field in ("hardware", "software")
    }
    return {field: ", then ".join(used) or "not recorded" for field, used in fields.items()}


def assess_systems(path: Path, text: Texts, models: Sequence[ModelResults]) -> list[SystemResults]:
    """Score the other systems like the models; the model directory says which words are known."""
    if not text.systems:
        return []
    evaluator = Evaluator(Translator.load(path))
    references = text.test.target
    unk_free = unk_free_sentences(evaluator.translator, *text.test)

    def p_value(ours: Sequence[str], theirs: Sequence[str], rows: Sequence[int]) -> float | None:
        if not rows:
            return None
        return difference(METRICS["bleu"], ours, theirs, references, rows).p_value

    results = []
    for name, lines in text.systems.items():
        p_values = {
            "all": {m.name: p_value(lines, m.translations, range(len(lines))) for m in models},
            "no_unknown": {
                m.name: p_value(lines, m.translations_without_unk, unk_free) for m in models
            },
        }
        no_unknown = evaluator.score(lines, references, unk_free) if unk_free else None
        everything = evaluator.score(lines, references)
        results.append(SystemResults(name, everything, no_unknown, p_values))
    return results


def _bounds(lengths: Sequence[int]) -> list[int]:
    """Return the bounds of Fig. 2's bins, the last one the length of its longest sentence."""
    longest = max(lengths)
    return [*LENGTH_BOUNDS, *([longest] if longest > LENGTH_BOUNDS[-1] else [])]


def _examples(
    text: ParallelText, translations: Sequence[str], lengths: Sequence[int]
) -> list[Example]:
    low, high = LONG_LENGTHS
    rows = (i for i, length in enumerate(lengths) if low <= length <= high)
    return [
        Example(text.source[i], text.target[i], translations[i])
        for i in itertools.islice(rows, LONG)
    ]


def _alignments(
    evaluator: Evaluator, text: ParallelText, unk_free: Sequence[int]
) -> list[SoftAlignment]:
    """Align a few sentences without unknown words, drawn at random."""
    low, high = ALIGNED_LENGTHS
    lengths = evaluator.source_lengths(text.source)
    candidates = [i for i in unk_free if low <= lengths[i] <= high]
    order = np.random.default_rng(SEED).permutation(len(candidates))[:ALIGNED]
    results = (evaluator.translate_and_align(text.source[candidates[i]]) for i in sorted(order))
    return [
        SoftAlignment(
            list(one.source_tokens), list(one.tokens), one.alignment.astype(float).round(4).tolist()
        )
        for one in results
    ]
