"""Reports of a training run: running metrics, records of training.jsonl, Keras logs, lines of text.

Losses are in nats. All code here iterates over them by name: a new loss needs no change here.
"""

import dataclasses
import math
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from rnnsearch_tf.evaluation.likelihood import perplexity
from rnnsearch_tf.models.losses import LossTotal
from rnnsearch_tf.training.train_step import UpdateMetrics

_KERAS_NAMES = {
    "epoch": "epochs",  # Keras's CSVLogger has a column epoch of its own
    "nll_per_sentence": "val_loss",
    "nll_per_token": "val_nll_per_token",
    "bleu": "val_bleu",
    "train_nll_per_sentence": "loss",
    "train_nll_per_token": "nll_per_token",
}


class Evaluation(NamedTuple):
    """The quality of a model on the validation set."""

    nll_per_token: float  # nats, </s> counted
    nll_per_sentence: float  # nats
    bleu: float  # sacreBLEU of greedy translations, 0 to 100


@dataclasses.dataclass
class RunningMetrics:
    """Sums over the updates since the last evaluation.

    Losses, sentences and norm are without skipped updates.
    """

    losses: dict[str, LossTotal] = dataclasses.field(default_factory=dict)
    sentences: float = 0.0
    tokens: float = 0.0  # of the target, also in skipped updates, like the seconds
    seconds: float = 0.0
    updates: int = 0
    clipped: int = 0  # updates whose gradient was scaled down
    skipped: int = 0  # updates left out because their gradient was not finite
    gradient_norm: float = 0.0

    def add(self, update: UpdateMetrics, clip_norm: float, seconds: float) -> None:
        """Count an update, of floats, whose gradient is clipped to `clip_norm`."""
        norm = update.gradient_norm
        self.tokens += update.losses["nll"].count
        self.seconds += seconds
        self.updates += 1
        if not math.isfinite(norm):
            self.skipped += 1
            return
        for name, total in update.losses.items():
            before = self.losses.get(name, LossTotal(0.0, 0.0))
            self.losses[name] = LossTotal(before.sum + total.sum, before.count + total.count)
        self.sentences += update.sentences
        self.clipped += norm > clip_norm
        self.gradient_norm += norm

    def means(self) -> dict[str, float]:
        """Return the fields of these metrics in a record of training.jsonl.

        NLL in nats per token and per sentence, the mean gradient norm, the fractions of clipped
        and of skipped updates, and `train_<name>_loss` of each auxiliary loss, in nats per token or
        linked word. If all updates were skipped, `skipped` is 1, the other values are NaN, and
        there is no auxiliary loss.
        """
        nll = self.losses.get("nll", LossTotal(0.0, 0.0))
        counted = self.updates - self.skipped
        return {
            "train_nll_per_token": _ratio(nll.sum, nll.count),
            "train_nll_per_sentence": _ratio(nll.sum, self.sentences),
            "gradient_norm": _ratio(self.gradient_norm, counted),
            "clipped": _ratio(self.clipped, counted),
            "skipped": self.skipped / max(self.updates, 1),
            **{
                f"train_{name}_loss": total.sum / total.count
                for name, total in self.losses.items()
                if name != "nll" and total.count
            },
        }


def _ratio(total: float, count: float) -> float:
    return total / count if count else math.nan


def evaluation_record(
    updates: int,
    batches_per_epoch: int,
    seconds: float,
    metrics: RunningMetrics,
    evaluation: Evaluation | None,
) -> dict[str, Any]:
    """Make the record of an evaluation in training.jsonl.

    The metrics are of the updates since the previous evaluation, the seconds of training alone.
    """
    record: dict[str, Any] = {
        # Rounded down, so that an unfinished run is not shown at the end of its last epoch.
        "epoch": updates * 1000 // batches_per_epoch / 1000,
        "updates": updates,
        "training_seconds": round(seconds, 1),
        **metrics.means(),
    }
    if evaluation is not None:
        record.update(evaluation._asdict())
    return record


def evaluation_logs(record: Mapping[str, Any]) -> dict[str, float]:
    """Rename the numbers of a record of training.jsonl for Keras callbacks; add perplexities."""
    logs = {
        _KERAS_NAMES.get(name, name): value
        for name, value in record.items()
        if not isinstance(value, str)
    }
    for name in _auxiliary_losses(record, "train"):
        logs[f"{name}_loss"] = logs.pop(f"train_{name}_loss")
    for prefix in ("", "val_"):
        if f"{prefix}nll_per_token" in logs:
            logs[f"{prefix}perplexity"] = perplexity(logs[f"{prefix}nll_per_token"])
    return logs


def update_logs(update: UpdateMetrics, metrics: RunningMetrics, updates: int) -> dict[str, float]:
    """Make the Keras logs of an update, with metrics since the last evaluation."""
    nll, means = update.losses["nll"], metrics.means()
    return {
        "loss": nll.sum / update.sentences,
        "nll_per_token": nll.sum / nll.count,
        "perplexity": perplexity(nll.sum / nll.count),
        "gradient_norm": update.gradient_norm,
        "learning_rate": update.learning_rate,
        "sentences": update.sentences,
        "tokens": nll.count,
        "mean_loss": means["train_nll_per_sentence"],
        "mean_nll_per_token": means["train_nll_per_token"],
        "clipped": means["clipped"],
        "skipped": means["skipped"],
        "tokens_per_second": metrics.tokens / max(metrics.seconds, 1e-9),
        "updates": updates,
        **{f"mean_{name}_loss": x for name, x in _auxiliary_losses(means, "train").items()},
    }


def update_notes(logs: Mapping[str, float]) -> list[str]:
    """Describe the Keras logs of an update, the most important first."""
    skipped = [f"{logs['skipped']:.1%} NOT FINITE and skipped"] if logs["skipped"] else []
    return [
        *skipped,
        f"{logs['mean_nll_per_token']:.3f} nats/token",
        f"{logs['tokens_per_second']:,.0f} tok/s",
        f"perplexity {perplexity(logs['mean_nll_per_token']):,.1f}",
        f"{logs['mean_loss']:.2f} nats/sentence",
        *_auxiliary_texts(logs, "mean"),
        f"gradient norm {logs['gradient_norm']:.2f} ({logs['clipped']:.0%} clipped)",
    ]


def evaluation_text(record: Mapping[str, Any], is_best: bool) -> str:
    """Describe a record of training.jsonl in one line."""
    parts = [
        f"epoch {record['epoch']:g}, {record['updates']:,} updates: "
        f"training {_nats_per_token(record['train_nll_per_token'])}"
    ]
    if "bleu" in record:
        parts.append(
            f"validation {_nats_per_token(record['nll_per_token'])}, "
            f"{record['nll_per_sentence']:.2f} nats/sentence, BLEU {record['bleu']:.2f} (greedy)"
            f"{', best so far' if is_best else ''}"
        )
    parts += _auxiliary_texts(record, "train")
    parts.append(f"gradient clipped in {record['clipped']:.0%} of the updates")
    if record["skipped"]:
        parts.append(f"NOT FINITE and skipped in {record['skipped']:.1%}")
    return "; ".join([*parts, f"trained {record['training_seconds'] / 60:.1f} min"])


def _nats_per_token(nll_per_token: float) -> str:
    return f"{nll_per_token:.3f} nats/token (perplexity {perplexity(nll_per_token):,.1f})"


def _auxiliary_losses(values: Mapping[str, Any], prefix: str) -> dict[str, float]:
    """Find the auxiliary losses, `<prefix>_<name>_loss`, by name."""
    matches = (re.fullmatch(rf"{prefix}_(\w+)_loss", name) for name in values)
    return {match[1]: values[match[0]] for match in matches if match}


def _auxiliary_texts(values: Mapping[str, Any], prefix: str) -> list[str]:
    losses = _auxiliary_losses(values, prefix)
    return [f"{name} {loss:.3f} nats" for name, loss in losses.items()]
