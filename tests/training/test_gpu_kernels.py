"""Updates and searches have a GPU kernel for each of their operations.

No test runs on a GPU. TensorFlow silently runs an operation without a kernel on the CPU, and copies
its tensors there and back at each step. Kernels of integers may still compute on the host.
"""

import functools
from typing import Any

import pytest
import tensorflow as tf
from tensorflow.python.framework.kernels import get_registered_kernels_for_op

from rnnsearch_tf.config import DecodingConfig, ModelConfig, TrainingConfig
from rnnsearch_tf.decoding.model_search import search
from rnnsearch_tf.layers.precision import dtype_policy
from rnnsearch_tf.models.translation_model import TranslationModel
from rnnsearch_tf.models.translation_step import Candidates
from rnnsearch_tf.training.train_step import TrainStep

pytestmark = pytest.mark.skipif(
    not tf.test.is_built_with_cuda(), reason="this TensorFlow knows no GPU kernels"
)
IDS = tf.TensorSpec([None, None], tf.int32)


def model(policy: str) -> TranslationModel:
    config = ModelConfig(
        source_vocabulary_size=40,
        target_vocabulary_size=40,
        embedding_size=6,
        hidden_size=4,
        attention_size=5,
        maxout_size=6,
        dropout=0.2,
        label_smoothing=0.1,
        r_drop=1.0 if policy == "float32" else 0.0,  # with it, the softmax is in float32
        tied_embeddings=True,
        lexical_model=True,
    )
    with dtype_policy(policy):
        return TranslationModel(config)


def without_kernel(function: Any) -> set[str]:
    """Operations of a traced function that no GPU computes."""
    graph = function.graph.as_graph_def()
    functions = {part.signature.name: part.node_def for part in graph.library.function}
    nodes = [node for part in (graph.node, *functions.values()) for node in part]
    assert len(nodes) > 500
    own = {"Placeholder", *functions}
    return {node.op for node in nodes if node.op not in own and not has_gpu_kernel(node)}


@functools.cache
def gpu_kernels(operation: str) -> list:
    """Kernels for GPUs; those of a device named DEFAULT are for all."""
    kernels = get_registered_kernels_for_op(operation).kernel
    return [kernel for kernel in kernels if kernel.device_type in ("GPU", "DEFAULT")]


def has_gpu_kernel(node: Any) -> bool:
    """Whether there is a kernel for a node's types."""
    return any(
        all(
            takes(rule.allowed_values.list.type, node.attr, rule.name) for rule in kernel.constraint
        )
        for kernel in gpu_kernels(node.op)
    )


def takes(allowed: Any, attributes: Any, name: str) -> bool:
    """Whether an attribute, if it is there, has allowed types; without any named, all are."""
    if not allowed or name not in attributes:
        return True
    value = attributes[name]
    return set(value.list.type or [value.type]) <= set(allowed)


def test_an_operation_of_strings_has_none():
    function = tf.function(tf.strings.lower).get_concrete_function(tf.TensorSpec([], tf.string))
    (node,) = (node for node in function.graph.as_graph_def().node if node.op == "StringLower")
    assert not has_gpu_kernel(node)


@pytest.mark.parametrize(
    ("policy", "optimizer"), [("float32", "adadelta"), ("mixed_bfloat16", "adam")]
)
def test_update(policy, optimizer):
    config = TrainingConfig(
        optimizer=optimizer,
        learning_rate=1e-3,
        guided_alignment_weight=0.5,
        weight_average=0.9,
    )
    step = TrainStep(model(policy), config, total_updates=10, shares=1)
    assert not without_kernel(step._update.get_concrete_function())


@pytest.mark.parametrize(("policy", "beam_size"), [("mixed_bfloat16", 1), ("float32", 2)])
def test_search(policy, beam_size):
    of, options = model(policy), DecodingConfig(beam_size=beam_size)

    def found(source: Any, words: Any, penalty: Any) -> Any:
        return search(of, source, options, candidates=Candidates(words, penalty))

    specs = IDS, tf.TensorSpec([None], tf.int32), tf.TensorSpec([None, None], tf.float32)
    assert not without_kernel(tf.function(found).get_concrete_function(*specs))
