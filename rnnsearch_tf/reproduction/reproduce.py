"""Reproduction of the paper: train its four models, evaluate them, write the report."""

import dataclasses
import functools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rnnsearch_tf.alignment.lexicon import MAX_PAIRS, lexicon_of, write_lexicon
from rnnsearch_tf.config import SENTENCEPIECE, Config
from rnnsearch_tf.data.parallel_corpus import ParallelText
from rnnsearch_tf.data.sampling import random_pairs
from rnnsearch_tf.data.training_data import TrainingData
from rnnsearch_tf.digests import file_digest, json_digest
from rnnsearch_tf.errors import input_errors
from rnnsearch_tf.files import write_atomically
from rnnsearch_tf.inference.translator import Translator
from rnnsearch_tf.json_files import plain, read_json, typed
from rnnsearch_tf.models.model_directory import ModelDirectory
from rnnsearch_tf.progress import say
from rnnsearch_tf.provenance import code_fingerprint, library_versions, provenance
from rnnsearch_tf.reproduction.assessment import DRAWN, SEED, assess, assess_systems, trained_by
from rnnsearch_tf.reproduction.models import MODELS, Texts
from rnnsearch_tf.reproduction.report import Report, write_report
from rnnsearch_tf.reproduction.results import ModelResults
from rnnsearch_tf.training.checks import check_same
from rnnsearch_tf.training.run import train


def reproduce(
    configs: Mapping[str, Config],  # by names of `MODELS`
    texts: Texts,
    output: str | Path,  # earlier work there is continued
    command: str,  # for the report
) -> int | None:
    """Train what is not trained yet, evaluate what is not evaluated yet, write the report.

    Returns the signal that stopped a training run, or None when the report is written. InputError
    for unusable text, or a folder made with other settings or from other text.
    """
    work = _Work(texts, Path(output))
    for name in configs:  # before any of them is trained, which takes long
        work.check_texts(name)
    models = []
    for name in (name for name in MODELS if name in configs):
        results = work.earlier_results(name, configs[name])
        if results is None:
            stopped_by = work.train(name, configs[name])
            if stopped_by:
                return stopped_by
            results = work.evaluate(name, configs[name])
        say(f"{results.name}: BLEU {results.all['bleu']} on the test set")
        models.append(results)
    settings = dataclasses.asdict(next(iter(configs.values())))
    systems = assess_systems(work.output / next(iter(configs)), texts, models)
    report = Report(provenance(command), texts.described, settings, models, systems)
    write_report(report, work.output)
    return None


class _Work:
    """Folder of model directories and their results."""

    def __init__(self, texts: Texts, output: Path):
        self.output = output
        self._texts = texts
        read = texts.training, texts.validation, texts.test, texts.by_length
        self._digest = json_digest([text.fingerprint() for text in read])
        (output / "results").mkdir(parents=True, exist_ok=True)

    @functools.cached_property
    def _sample(self) -> ParallelText:
        # Made when it is needed: drawing it reads all of the training text.
        return random_pairs(self._texts.training, DRAWN, SEED)

    def check_texts(self, name: str) -> None:
        """Check that a model that is there already has been trained with these texts."""
        directory = ModelDirectory(self.output / name)
        if directory.is_complete():
            wanted = dataclasses.replace(
                directory.load_config(),
                training_text=self._texts.training.fingerprint(),
                validation_text=self._texts.validation.fingerprint(),
            )
            check_same(directory, wanted)

    def train(self, name: str, config: Config) -> int | None:
        """Train from scratch, resume a training run, or skip one that has ended."""
        directory = ModelDirectory(self.output / name)
        if self._has_ended(directory, config):
            say(f"\n{MODELS[name]}: {directory.path} has been trained before")
            return None
        say(f"\n{MODELS[name]}: training in {directory.path}")
        # It is of earlier weights; `evaluate` learns another.
        directory.lexicon_path.unlink(missing_ok=True)
        return train(config, directory.path, self._texts.training, self._texts.validation)

    def _has_ended(self, directory: ModelDirectory, config: Config) -> bool:
        """Whether the training has ended, by its log; checkpoints may be gone.

        A run that early stopping ended is resumed, which needs its checkpoint, and ends at once.
        InputError for other settings or other text.
        """
        records = directory.read_log()
        if not directory.is_complete() or not records:
            return False
        last, limits = records[-1], config.training
        if last.get("epoch", 0) < limits.epochs and not 0 < limits.max_updates <= last["updates"]:
            return False
        validation_text = self._texts.validation.fingerprint()
        wanted = self._completed(directory, config)
        check_same(directory, dataclasses.replace(wanted, validation_text=validation_text))
        return True

    def _completed(self, directory: ModelDirectory, config: Config) -> Config:
        """Fill in the settings that follow from the training text, such as the length ratio."""
        subwords = directory.subword_files()
        return TrainingData(config, self._texts.training, subwords=subwords).config

    def evaluate(self, name: str, config: Config) -> ModelResults:
        """Evaluate, and save the results for the next run."""
        path = self.output / name
        directory = ModelDirectory(path)
        replaces = config.model.has_attention and config.tokenizer != SENTENCEPIECE
        if replaces and directory.find_lexicon() is None:
            attention = Translator.load(path, alignment="attention")
            lexicon = lexicon_of(attention, random_pairs(self._texts.training, MAX_PAIRS))
            write_lexicon(directory.lexicon_path, lexicon)
        completed = self._completed(directory, config)
        results = assess(MODELS[name], path, completed, self._texts, self._sample)
        saved = {"key": self._key(name, config), "results": plain(results)}
        write_atomically(self._results_path(name), json.dumps(saved).encode())
        return results

    def earlier_results(self, name: str, config: Config) -> ModelResults | None:
        """Read what `evaluate` saved, if from these weights, settings and texts, with this code."""
        path = self._results_path(name)
        if not path.exists():
            return None
        with input_errors(path):
            saved = typed(dict[str, Any], read_json(path))
            if saved.get("key") != self._key(name, config):
                return None
            results = typed(ModelResults, saved.get("results"), "results")
        return dataclasses.replace(results, **trained_by(self.output / name))

    def _key(self, name: str, config: Config) -> str:
        directory = ModelDirectory(self.output / name)
        paths = directory.weights_path(), directory.lexicon_path
        digests = [*map(_digest, paths)]
        code = [code_fingerprint(), library_versions()]
        return json_digest([code, dataclasses.asdict(config), self._digest, digests])

    def _results_path(self, name: str) -> Path:
        return self.output / "results" / f"{name}.json"


def _digest(path: Path) -> str:
    return file_digest(path) if path.exists() else ""
