"""The examples in the docstrings of layers and search run, and print what they say."""

import doctest
import sys

import pytest

from rnnsearch_tf import layers
from rnnsearch_tf.decoding.beam_search import beam_search
from rnnsearch_tf.models.translation_model import TranslationModel

DOCUMENTED = [
    layers.BahdanauAttention,
    layers.ContextGRUCell,
    layers.Decoder,
    layers.Encoder,
    layers.GRUCell,
    layers.MaxoutDeepOutput,
    TranslationModel,
    beam_search,
]


@pytest.mark.parametrize("documented", DOCUMENTED, ids=lambda documented: documented.__name__)
def test_examples_run(documented):
    names = vars(sys.modules[documented.__module__])
    [example] = doctest.DocTestFinder(recurse=False).find(documented, globs=dict(names))
    results = doctest.DocTestRunner().run(example)
    assert results.attempted >= 3
    assert results.failed == 0
