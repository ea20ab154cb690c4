"""Two hundred damaged files; `make fuzz` tries as many as it is told to."""

import dataclasses
import shutil

import damaged_folders
import pytest
from damage import EQUAL, REFUSED, Damage, Damaged
from examples import for_each

from rnnsearch_tf.models.model_directory import ModelDirectory

pytestmark = pytest.mark.slow


def check(damaged: Damaged, count: int) -> None:
    def is_noticed(damage: Damage) -> None:
        outcome, text = damaged.outcome(damage)
        assert outcome in (EQUAL, REFUSED), (outcome, text)

    for_each(damaged.damages(), count, is_noticed)


def test_a_damaged_model(tmp_path, model_dir):
    folder = shutil.copytree(model_dir, tmp_path / "model")
    with damaged_folders.damaged_model(folder) as damaged:
        check(damaged, 75)


def test_a_damaged_model_without_attention(tmp_path, model_dir):
    config = ModelDirectory(model_dir).load_config()
    model = dataclasses.replace(config.model, architecture="rnnencdec")
    config = dataclasses.replace(config, model=model)
    folder = damaged_folders.untrained(config, model_dir, tmp_path / "model")
    with damaged_folders.damaged_model(folder) as damaged:
        check(damaged, 25)


def test_a_damaged_checkpoint(tmp_path, model_dir):
    folder = shutil.copytree(model_dir, tmp_path / "model")
    with damaged_folders.damaged_checkpoint(folder) as damaged:
        check(damaged, 15)


@pytest.mark.serving
def test_a_damaged_export(tmp_path, export_dir):
    folder = shutil.copytree(export_dir / "1", tmp_path / "1")
    with damaged_folders.damaged_export(folder) as damaged:
        check(damaged, 75)


def test_a_damaged_cache(tmp_path, corpus):
    with damaged_folders.damaged_cache(corpus, tmp_path / "cache") as damaged:
        check(damaged, 25)
