"""Initial weights of whole models: the distributions of appendix B.1, and of the wider scheme."""

import dataclasses
import itertools

import keras
import numpy as np
import numpy_reference as reference
import pytest

from rnnsearch_tf.config import ARCHITECTURES, RNNSEARCH, Architecture, InitialWeights, ModelConfig
from rnnsearch_tf.models.translation_model import TranslationModel

WIDE = ModelConfig(
    source_vocabulary_size=101,
    target_vocabulary_size=107,
    embedding_size=97,
    hidden_size=211,
    attention_size=103,
    maxout_size=89,
)
WIDE_SIZES = reference.Sizes(K_source=101, K_target=107, m=97, n=211, n_align=103, l=89)


def initial_weights(
    architecture: Architecture, seed: int, scheme: InitialWeights = "paper"
) -> dict[str, np.ndarray]:
    keras.utils.set_random_seed(seed)
    model = TranslationModel(
        dataclasses.replace(WIDE, architecture=architecture, initial_weights=scheme)
    )
    return {"/".join(w.path.split("/")[-2:]): np.asarray(w) for w in model.weights}


@pytest.fixture(scope="module", params=ARCHITECTURES)
def architecture(request):
    return request.param


@pytest.fixture(scope="module")
def drawn(architecture):
    return initial_weights(architecture, seed=1)


def short(name: str) -> str:
    return name.split("/")[1]


def assert_normal(values: np.ndarray, deviation: float) -> None:
    assert abs(values.mean()) < 0.06 * deviation
    assert values.std() == pytest.approx(deviation, rel=0.04)
    within = (np.abs(values) < deviation).mean()  # a uniform draw would have 0.58, a cut one 0.7
    assert within == pytest.approx(0.6827, abs=0.02)
    assert np.abs(values).max() > 3.2 * deviation


def test_every_weight_of_the_contract_is_drawn(architecture, drawn):
    shapes = reference.weight_shapes(architecture, WIDE_SIZES)
    assert {name: values.shape for name, values in drawn.items()} == {
        name: shape[::-1] for name, shape in shapes.items()
    }


def test_biases_and_v_a_begin_at_zero(drawn):
    vectors = {short(name): values for name, values in drawn.items() if values.ndim == 1}
    assert {"b", "b_z", "b_r", "b_s", "b_o"} <= set(vectors)
    for values in vectors.values():
        assert not values.any()


def test_each_recurrent_matrix_is_orthogonal(architecture, drawn):
    recurrent = {n: w for n, w in drawn.items() if short(n) in ("U", "U_z", "U_r")}
    assert len(recurrent) == (9 if architecture == RNNSEARCH else 6)
    for matrix in recurrent.values():
        np.testing.assert_allclose(matrix.T @ matrix, np.eye(211), atol=1e-5)


def test_other_matrices_are_normal(architecture, drawn):
    narrow, wide = 0, 0
    for name, values in drawn.items():
        if values.ndim == 1 or short(name) in ("U", "U_z", "U_r"):
            continue
        if short(name) in ("W_a", "U_a"):
            narrow += 1
            assert_normal(values, 0.001)
        else:
            wide += 1
            assert_normal(values, 0.01)
    assert (narrow, wide) == ((2, 19) if architecture == RNNSEARCH else (0, 16))


@pytest.mark.parametrize("scheme", ["paper", "glorot"])
def test_no_two_matrices_share_their_draws(architecture, scheme):
    weights = initial_weights(architecture, 5, scheme)
    flat = {name: values.ravel() for name, values in weights.items() if values.ndim == 2}
    for one, other in itertools.combinations(flat, 2):
        size = min(flat[one].size, flat[other].size)
        correlation = np.corrcoef(flat[one][:size], flat[other][:size])[0, 1]
        assert abs(correlation) < 0.06, (one, other)


def test_a_seed_decides_the_initial_weights(architecture, drawn):
    again, other = initial_weights(architecture, seed=1), initial_weights(architecture, seed=2)
    for name, values in drawn.items():
        np.testing.assert_array_equal(again[name], values)
        if values.ndim == 2:
            assert np.abs(other[name] - values).max() > 1e-3, name


def test_wider_scheme_draws_energies_and_embeddings_too():
    weights = initial_weights(RNNSEARCH, seed=3, scheme="glorot")
    assert weights["attention/v_a"].std() == pytest.approx(0.1, rel=0.2)  # 103 numbers
    for side in ("source", "target"):
        assert_normal(weights[f"{side}_embedding/E"], 0.1)
    W_s = weights["initial_state/W_s"]
    assert np.abs(W_s).max() == pytest.approx(np.sqrt(6 / (211 + 211)), rel=0.01)
