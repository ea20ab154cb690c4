"""The validation set of a training run."""

from typing import Any

import pytest

from rnnsearch_tf.config import Config, DecodingConfig
from rnnsearch_tf.data.parallel_corpus import ParallelFiles, ParallelText
from rnnsearch_tf.errors import InputError
from rnnsearch_tf.models.model_directory import ModelDirectory
from rnnsearch_tf.presets import PRESETS
from rnnsearch_tf.training.run import train
from rnnsearch_tf.training.validation import ValidationSet, greedy_search

pytestmark = pytest.mark.slow


def test_the_validation_goes_with_the_length_of_translations():
    assert greedy_search(Config()) == DecodingConfig(beam_size=1, max_length_ratio=2.0)
    longer = Config().with_settings(max_length_ratio=12.0, beam_size=9)
    assert greedy_search(longer) == DecodingConfig(beam_size=1, max_length_ratio=8.0)


def test_an_empty_validation_set_is_told_before_a_folder_is_made(tmp_path):
    text = ParallelText(["a"], ["b"])
    with pytest.raises(InputError, match="the validation set is empty"):
        train(PRESETS["rnnsearch-tiny"], tmp_path / "model", text, ParallelText([], []))
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize("backend", ["tensorflow", "jax"])
def test_a_swapped_validation_set_is_told(backend, capsys, model_dir, corpus):
    kind: Any = ValidationSet
    if backend == "jax":
        pytest.importorskip("jax")
        from rnnsearch_tf.training.jax_validation import JaxValidationSet as kind
    directory = ModelDirectory(model_dir)
    model = directory.load_model()
    text = ParallelFiles([corpus / "valid.en"], [corpus / "valid.fr"]).read()
    swapped = ParallelText(text.target, text.source)
    cases: list[tuple[ParallelText, list[str]]] = [(text, []), (swapped, ["source", "target"])]
    for given, names in cases:
        kind(model, directory.load_config(), directory, given)
        said = capsys.readouterr().err.splitlines()
        assert [line.split(" are unknown to the model: ")[0].split()[-2:] for line in said] == [
            ["validation", name] for name in names
        ]
