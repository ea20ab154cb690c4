"""Running metrics, records of evaluations, Keras logs and lines of text."""

import json
import math

import pytest

from rnnsearch_tf.models.losses import LossTotal
from rnnsearch_tf.models.model_directory import ModelDirectory
from rnnsearch_tf.training.logs import (
    Evaluation,
    RunningMetrics,
    evaluation_logs,
    evaluation_record,
    evaluation_text,
    update_logs,
    update_notes,
)
from rnnsearch_tf.training.train_step import UpdateMetrics


def update(nll: float, tokens: float, sentences: float, norm: float, **auxiliary) -> UpdateMetrics:
    losses = {"nll": LossTotal(nll, tokens), **{n: LossTotal(*x) for n, x in auxiliary.items()}}
    return UpdateMetrics(losses, sentences, norm, learning_rate=0.5, stops=0.0)


@pytest.fixture
def metrics() -> RunningMetrics:
    """Three updates: a small gradient, one that is not finite, and a large one."""
    metrics = RunningMetrics()
    metrics.add(update(20.0, 8.0, 2.0, 0.5, guided_alignment=(9.0, 5.0)), 1.0, seconds=0.25)
    metrics.add(update(math.nan, 8.0, 2.0, math.nan, guided_alignment=(math.nan, 5.0)), 1.0, 0.25)
    metrics.add(update(10.0, 4.0, 1.0, 2.5, guided_alignment=(3.0, 3.0)), 1.0, 1.5)
    return metrics


MEANS = {
    "train_nll_per_token": 2.5,
    "train_nll_per_sentence": 10.0,
    "gradient_norm": 1.5,
    "clipped": 0.5,
    "skipped": pytest.approx(1 / 3),
    "train_guided_alignment_loss": 1.5,
}


def test_metrics_are_means_over_the_updates_that_were_not_skipped(metrics):
    assert metrics.means() == MEANS
    assert "train_guided_alignment_loss" not in RunningMetrics().means()


def test_without_an_update_that_was_not_skipped_there_are_no_means(tmp_path):
    metrics = RunningMetrics()
    metrics.add(update(math.nan, 8.0, 2.0, math.inf), 1.0, 0.25)
    record = evaluation_record(1, 1, 0.25, metrics, None)
    ModelDirectory(tmp_path).write_log([record])
    [read] = ModelDirectory(tmp_path).read_log()
    for name in ("train_nll_per_token", "train_nll_per_sentence", "gradient_norm", "clipped"):
        assert math.isnan(read[name])
    assert "training nan nats/token" in evaluation_text(record, is_best=True)
    assert read["skipped"] == 1 and update_notes(update_logs(update(1, 1, 1, 1), metrics, 1))


def test_a_loss_that_is_counted_over_nothing_has_no_mean():
    metrics = RunningMetrics()
    metrics.add(update(20.0, 8.0, 2.0, 0.5, guided_alignment=(0.0, 0.0)), 1.0, 1.0)
    assert "train_guided_alignment_loss" not in metrics.means()


def test_an_evaluation_has_a_record_logs_and_a_line(metrics):
    evaluation = Evaluation(2.0, 9.0, 12.345)
    record = evaluation_record(1234, 822, 90.04, metrics, evaluation)
    assert record == {
        "epoch": 1.501,
        "updates": 1234,
        "training_seconds": 90.0,
        **MEANS,
        "nll_per_token": 2.0,
        "nll_per_sentence": 9.0,
        "bleu": 12.345,
    }
    logs = evaluation_logs({**record, "bleu_signature": "nrefs:1|…"})
    assert logs == {
        "epochs": 1.501,
        "updates": 1234,
        "training_seconds": 90.0,
        "loss": 10.0,
        "nll_per_token": 2.5,
        "perplexity": pytest.approx(math.exp(2.5)),
        "gradient_norm": 1.5,
        "clipped": 0.5,
        "skipped": pytest.approx(1 / 3),
        "guided_alignment_loss": 1.5,
        "val_loss": 9.0,
        "val_nll_per_token": 2.0,
        "val_perplexity": pytest.approx(math.exp(2)),
        "val_bleu": 12.345,
    }
    assert evaluation_text(record, is_best=True) == (
        "epoch 1.501, 1,234 updates: training 2.500 nats/token (perplexity 12.2); "
        "validation 2.000 nats/token (perplexity 7.4), 9.00 nats/sentence, BLEU 12.35 (greedy), "
        "best so far; guided_alignment 1.500 nats; gradient clipped in 50% of the updates; "
        "NOT FINITE and skipped in 33.3%; trained 1.5 min"
    )


def test_an_epoch_is_at_its_end_only_when_it_has_ended(metrics):
    records = [evaluation_record(updates, 5000, 1.0, metrics, None) for updates in (9999, 10_000)]
    assert [record["epoch"] for record in records] == [1.999, 2.0]


def test_without_a_validation_set_a_record_has_the_training_losses_alone(metrics):
    record = evaluation_record(10, 10, 60.0, metrics, None)
    assert set(record) == {"epoch", "updates", "training_seconds", *MEANS}
    assert "val_perplexity" not in evaluation_logs(record)
    assert "validation" not in evaluation_text(record, is_best=False)


def test_an_update_has_logs_and_a_line(metrics):
    logs = update_logs(update(12.0, 4.0, 2.0, 2.5), metrics, 1234)
    assert logs == {
        "loss": 6.0,
        "nll_per_token": 3.0,
        "perplexity": pytest.approx(math.exp(3)),
        "gradient_norm": 2.5,
        "learning_rate": 0.5,
        "sentences": 2.0,
        "tokens": 4.0,
        "mean_loss": 10.0,
        "mean_nll_per_token": 2.5,
        "clipped": 0.5,
        "skipped": pytest.approx(1 / 3),
        "tokens_per_second": 10.0,
        "updates": 1234,
        "mean_guided_alignment_loss": 1.5,
    }
    assert update_notes(logs) == [
        "33.3% NOT FINITE and skipped",
        "2.500 nats/token",
        "10 tok/s",
        "perplexity 12.2",
        "10.00 nats/sentence",
        "guided_alignment 1.500 nats",
        "gradient norm 2.50 (50% clipped)",
    ]


def test_numbers_that_are_not_finite_are_null_in_the_file(tmp_path):
    directory = ModelDirectory(tmp_path)
    directory.write_log([{"updates": 10, "nll_per_token": math.nan, "bleu_signature": "s"}])
    content = directory.log_path.read_text("utf-8")
    assert json.loads(content) == {"updates": 10, "nll_per_token": None, "bleu_signature": "s"}
    [record] = directory.read_log()
    assert math.isnan(record["nll_per_token"])


def test_a_log_of_version_0_1_0_has_the_names_of_this_version(tmp_path):
    directory = ModelDirectory(tmp_path)
    directory.write_log([{"updates": 10, "train_guide_loss": 1.5}, {"updates": 20}])
    records: list[dict] = [
        {"updates": 10, "train_guided_alignment_loss": 1.5},
        {"updates": 20},
    ]
    assert directory.read_log() == records
    assert evaluation_logs(records[0]) == {"updates": 10, "guided_alignment_loss": 1.5}
