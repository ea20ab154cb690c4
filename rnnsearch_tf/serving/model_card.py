"""model.json: the description of an export, inside the export."""

import dataclasses
import datetime
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rnnsearch_tf.config import SENTENCEPIECE, DecodingConfig
from rnnsearch_tf.evaluation.best_weights import record_score
from rnnsearch_tf.json_files import finite_or_none
from rnnsearch_tf.models.model_directory import LAST, ModelDirectory
from rnnsearch_tf.models.weights_file import read_updates
from rnnsearch_tf.provenance import commit, library_versions

_FORMAT = 1
_SCORE = "log p(y|x) = sum_i log p(y_i | y_<i, x), nats, </s> counted"
_CANDIDATES = "of all signatures but score, p is over the candidate words of the sentence"
_ENSEMBLE = "p(y_i | y_<i, x) is the mean over the models"


def model_card(
    model_dirs: Sequence[str | Path],
    weights: str,
    weights_dtype: str,
    decoding: DecodingConfig,
    alignment: str = "attention",
) -> dict[str, Any]:
    """Describe an export, for JSON; InputError for an unusable model directory.

    It has the languages; what the graph needs besides TensorFlow's own operations; for each model
    its settings, the SHA-256 of its text, vocabularies and weights (names, shapes and values), and
    its evaluation on the validation set (NLL in nats, BLEU of greedy translations with sacreBLEU's
    signature); the decoding options; the formulas of the scores; and date, versions and commit
    of the export.
    """
    config = ModelDirectory(model_dirs[0]).load_config()
    penalty, candidates = decoding.length_penalty, decoding.candidate_words
    return {
        "format": _FORMAT,
        "source_language": config.source_language,
        "target_language": config.target_language,
        "tokenizer": config.tokenizer,
        "needs": ["tensorflow-text"] if config.tokenizer == SENTENCEPIECE else [],
        "weights_dtype": weights_dtype,
        "alignment": alignment,
        "models": [_model(ModelDirectory(path), weights) for path in model_dirs],
        "decoding": dataclasses.asdict(decoding),
        "score": "; ".join(
            [_SCORE, *[_ENSEMBLE] * (len(model_dirs) > 1), *[_CANDIDATES] * bool(candidates)]
        ),
        "normalized_score": f"log p(y|x) / |y|^{penalty:g}, |y| counting </s>",
        "exported": {
            "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
            "versions": library_versions(),
            "commit": commit(),
        },
    }


def _model(directory: ModelDirectory, weights: str) -> dict[str, Any]:
    config = dataclasses.asdict(directory.load_config())
    del config["decoding"]  # the card has the export's own
    evaluation = evaluation_of(directory, weights)
    return {
        **config,
        "weights": weights,
        "weights_sha256": directory.check_weights(weights),
        "evaluation": evaluation
        and {name: finite_or_none(value) for name, value in evaluation.items()},
    }


def evaluation_of(directory: ModelDirectory, weights: str) -> dict[str, Any] | None:
    """Find the record in training.jsonl of the best or the last weights; None if there is none.

    The last weights may be of a checkpoint that was not evaluated. Weights written before 0.2.0 do
    not tell their updates. InputError for an unusable model directory.
    """
    records = directory.read_log()
    updates = read_updates(directory.find_weights(weights))
    if updates is not None:
        records = [record for record in records if record["updates"] == updates]
    if not records:
        return None
    evaluated = [record for record in records if "bleu" in record]  # a validation set may come late
    if weights == LAST or not evaluated:
        return records[-1]
    training = directory.load_config().training
    return max(evaluated, key=lambda record: record_score(training, record))
