"""Checks of the oracle that a person can redo on paper.

The numbers come out round because sigma(0) = 1/2, sigma(ln 3) = 3/4, tanh(ln 2) = 0.6 and
tanh(ln 3) = 0.8; a gate is shut or opened wholly by a bias of -1000 or 1000.
"""

import math

import numpy as np
import numpy_reference as ref
import pytest

LN2, LN3 = math.log(2.0), math.log(3.0)
SIZES = ref.Sizes(K_source=11, K_target=13, m=3, n=5, n_align=7, l=2)
MODELS = {"rnnsearch": ref.rnnsearch, "rnnencdec": ref.rnnencdec}
SOURCE, TARGET = [3, 7, 5, 2], [4, 9, 2]


def zeros(architecture, sizes):
    """All weights of a model, all zero."""
    return {name: np.zeros(shape) for name, shape in ref.weight_shapes(architecture, sizes).items()}


def random(architecture):
    """A model in which every term matters."""
    return ref.random_weights(architecture, SIZES, np.random.default_rng(1))


# --- gated hidden unit -----------------------------------------------------------------------


def one_unit(**values):
    """A gated unit with n = m = k = 1."""
    gru = {f"{letter}{gate}": np.zeros((1, 1)) for letter in "WUC" for gate in ("", "_z", "_r")}
    gru |= {f"b{gate}": np.zeros(1) for gate in ("", "_z", "_r")}
    return gru | {name: np.full_like(gru[name], value) for name, value in values.items()}


def test_gru_step_by_hand():
    """Let n = m = k = 1, e = 1, h = 2, c = 3.

    z  = sigma((ln 3 - 9) + 2 + 2*3 + 1) = sigma(ln 3) = 3/4
    r  = sigma(-9 + 2 + 2*3 + 1)         = sigma(0)    = 1/2
    h~ = tanh((ln 2 - 9) + 2*(1/2 * 2) + 2*3 + 1) = tanh(ln 2) = 0.6
    h' = 1/4 * 2 + 3/4 * 0.6 = 0.95        (z the other way round: 3/4 * 2 + 1/4 * 0.6 = 1.65)
    """
    gru = one_unit(
        **{"W_z": LN3 - 9, "U_z": 1, "C_z": 2, "b_z": 1},
        **{"W_r": -9, "U_r": 1, "C_r": 2, "b_r": 1},
        **{"W": LN2 - 9, "U": 2, "C": 2, "b": 1},
    )
    after = ref.gru_step(gru, np.array([1.0]), np.array([2.0]), np.array([3.0]))
    np.testing.assert_allclose(after, [0.95], rtol=1e-12)


def test_reset_gate_comes_before_the_recurrent_matrix():
    """U swaps two units, r = (1, 0), h = (ln 2, ln 3), z = 1.

    U [r o h] = U (ln 2, 0) = (0, ln 2), hence h' = (0, 0.6).
    The gate after the matrix would give r o (U h) = (ln 3, 0), hence (0.8, 0).
    """
    gru = {f"{letter}{gate}": np.zeros((2, 2)) for letter in "WU" for gate in ("", "_z", "_r")}
    gru["U"] = np.array([[0.0, 1.0], [1.0, 0.0]])
    gru |= {
        "b": np.zeros(2),
        "b_z": np.array([1000.0, 1000.0]),
        "b_r": np.array([1000.0, -1000.0]),
    }
    after = ref.gru_step(gru, np.zeros(2), np.array([LN2, LN3]))
    np.testing.assert_allclose(after, [0.0, 0.6], atol=1e-12)


# --- encoder ---------------------------------------------------------------------------------


def test_encoders_by_hand():
    """Let n = m = 1, z = 3/4, h~ = tanh(W e), e = ln 2, ln 3 for the words 1, 2; source 1 2.

    forward,  W = 1:  h_1 = 3/4 * 0.6 = 0.45;     h_2 = 1/4 * 0.45 + 3/4 * 0.8 = 0.7125
    backward, W = -1: h_2 = 3/4 * -0.8 = -0.6;    h_1 = 1/4 * -0.6 + 3/4 * -0.6 = -0.6
    """
    weights = zeros("rnnsearch", ref.Sizes(3, 3, 1, 1, 1, 1))
    weights["source_embedding/E"][0] = [9.0, LN2, LN3]
    weights["forward/W"][:], weights["backward/W"][:] = 1.0, -1.0
    weights["forward/b_z"][:] = weights["backward/b_z"][:] = LN3
    np.testing.assert_allclose(ref.encode_forward(weights, [1, 2]), [[0.45], [0.7125]])
    np.testing.assert_allclose(ref.encode_backward(weights, [1, 2]), [[-0.6], [-0.6]])
    np.testing.assert_allclose(ref.annotations(weights, [1, 2]), [[0.45, -0.6], [0.7125, -0.6]])


# --- attention -------------------------------------------------------------------------------


def test_attend_by_hand():
    """Let n = n' = 1, s = 1, h_1 = (1, 0), h_2 = (0, 1), W_a = ln 2, U_a = (-ln 2, 0).

    e_1 = v_a tanh(0) = 0;  e_2 = v_a tanh(ln 2) = ln 3 / 0.6 * 0.6 = ln 3
    alpha = (1, 3) / 4;  c = 1/4 h_1 + 3/4 h_2
    """
    weights = {
        "attention/W_a": np.array([[LN2]]),
        "attention/U_a": np.array([[-LN2, 0.0]]),
        "attention/v_a": np.array([LN3 / 0.6]),
    }
    alpha, c = ref.attend(weights, np.array([1.0]), np.eye(2))
    np.testing.assert_allclose(alpha, [0.25, 0.75])
    np.testing.assert_allclose(c, [0.25, 0.75])


# --- readout ---------------------------------------------------------------------------------


def test_maxout_takes_neighbors():
    """Elements 1 with 2, 3 with 4, 5 with 6; 1 with 4, 2 with 5, 3 with 6 would give 1, 5, 5."""
    np.testing.assert_array_equal(
        ref.maxout(np.array([1.0, 4.0, -2.0, -3.0, 5.0, 5.0])), [4.0, -2.0, 5.0]
    )


def test_readout_by_hand():
    """Let n = m = k = 1, l = 2, K = 2, s = 1, e = 2, c = 3.

    t~ = (1, 0, 0, -1) * 1 + (0, 1, 0, -1) * 2 + (0, 0, 1, -1) * 3 + (0, 0, 0, 10) = (1, 2, 3, 4)
    t = (2, 4);  W_o t + b = (2 + 2*4 + 5, 3*2 - 4) = (15, 2)
    """
    weights = {
        "readout/U_o": np.array([[1.0], [0.0], [0.0], [-1.0]]),
        "readout/V_o": np.array([[0.0], [1.0], [0.0], [-1.0]]),
        "readout/C_o": np.array([[0.0], [0.0], [1.0], [-1.0]]),
        "readout/b_o": np.array([0.0, 0.0, 0.0, 10.0]),
        "readout/W_o": np.array([[1.0, 2.0], [3.0, -1.0]]),
        "readout/b": np.array([5.0, 0.0]),
    }
    logits = ref.readout(weights, np.array([1.0]), np.array([2.0]), np.array([3.0]))
    np.testing.assert_array_equal(logits, [15.0, 2.0])


# --- whole models ----------------------------------------------------------------------------


def decoder_by_hand(weights):
    """Set a decoder with n = m = l = 1, K = 3: z = 3/4, r = 1/2, E y = ln 2 for 1, -1 for 2."""
    weights["target_embedding/E"][0] = [9.0, LN2, -1.0]
    weights["decoder/W"][:] = weights["decoder/U"][:] = 1.0
    weights["decoder/b_z"][:] = LN3
    weights["decoder/b"][:] = -0.6
    weights["readout/U_o"][:, 0] = [1.0, 2.0]
    weights["readout/V_o"][:, 0] = [10.0, 20.0]
    weights["readout/b_o"][:] = [0.0, 1.0]
    weights["readout/W_o"][:, 0] = [0.0, 1.0, 2.0]
    weights["readout/b"][:] = [1.0, 0.0, 0.0]
    return weights


def rnnsearch_by_hand():
    """RNNsearch with n = m = n' = l = 1; on the source 1 2 it starts so.

    Encoder, z = 1:  h_1 = (tanh ln 2, tanh -ln 2) = (0.6, -0.6),  h_2 = (0.8, -0.8)
    s_0 = tanh(W_s <-h_1 + b_s) = tanh(-0.6 + 0.6 + ln 2) = 0.6
    W_a s + U_a h_1 = (-5 * 0.6 + 3 * 0.6 + 2 * 0.6) ln 2 = 0,     e_1 = 0
    W_a s + U_a h_2 = (-5 * 0.6 + 3 * 0.8 + 2 * 0.8) ln 2 = ln 2,  e_2 = v_a * 0.6 = ln 3
    alpha_1 = (1/4, 3/4),  c_1 = (0.75, -0.75)
    """
    weights = decoder_by_hand(zeros("rnnsearch", ref.Sizes(3, 3, 1, 1, 1, 1)))
    weights["source_embedding/E"][0] = [9.0, LN2, LN3]
    weights["forward/W"][:], weights["backward/W"][:] = 1.0, -1.0
    weights["forward/b_z"][:] = weights["backward/b_z"][:] = 1000.0
    weights["initial_state/W_s"][:] = 1.0
    weights["initial_state/b_s"][:] = 0.6 + LN2
    weights["attention/W_a"][:] = -5.0 * LN2
    weights["attention/U_a"][0] = [3.0 * LN2, -2.0 * LN2]
    weights["attention/v_a"][:] = LN3 / 0.6
    weights["decoder/C"][0] = [1.0, 0.6]
    weights["readout/C_o"][:] = [[1.0, 0.0], [0.0, 2.0]]
    return weights


def test_rnnsearch_by_hand_look_generate_update():
    """Target 1 2.

    i = 1: t~ = (0.6 + 0.75, 1.2 - 1.5 + 1) = (1.35, 0.7);  t = 1.35;  logits (1, 1.35, 2.7)
           s~ = tanh(ln 2 + 1/2 * 0.6 + (0.75 - 0.45) - 0.6) = 0.6;  s_1 = 0.15 + 0.45 = 0.6
    i = 2: s_1 = s_0, hence alpha_2 = alpha_1, c_2 = c_1, but there is a word now:
           t~ = (1.35 + 10 ln 2, 0.7 + 20 ln 2);  t = 0.7 + 20 ln 2;  logits (1, t, 2 t)
           s~ = tanh(-1 + 0.3 + 0.3 - 0.6) = tanh(-1);  s_2 = 0.15 + 3/4 tanh(-1)
    """
    result = ref.rnnsearch(rnnsearch_by_hand(), [1, 2], [1, 2])
    t = 0.7 + 20 * LN2
    np.testing.assert_allclose(result.logits, [[1.0, 1.35, 2.7], [1.0, t, 2 * t]])
    np.testing.assert_allclose(result.alignment, [[0.25, 0.75], [0.25, 0.75]])
    np.testing.assert_allclose(result.contexts, [[0.75, -0.75], [0.75, -0.75]])
    np.testing.assert_allclose(result.states, [[0.6], [0.6], [0.15 + 0.75 * math.tanh(-1.0)]])


def test_rnnsearch_by_hand_look_update_generate():
    """Target 1 2; the update comes first, and i = 1 has no word.

    i = 1: s~ = tanh(0 + 1/2 * 0.6 + (0.75 - 0.45) - 0.6) = 0;  s_1 = 1/4 * 0.6 = 0.15
           t~ = (0.15 + 0.75, 0.3 - 1.5 + 1) = (0.9, -0.2);  t = 0.9;  logits (1, 0.9, 1.8)
    i = 2: e_21 = v_a tanh((-5 * 0.15 + 3) ln 2) = v_a tanh(2.25 ln 2),
           e_22 = v_a tanh((-5 * 0.15 + 4) ln 2) = v_a tanh(3.25 ln 2)
    """
    result = ref.rnnsearch(rnnsearch_by_hand(), [1, 2], [1, 2], "look_update_generate")
    np.testing.assert_allclose(result.logits[0], [1.0, 0.9, 1.8])
    np.testing.assert_allclose(result.states[:2], [[0.6], [0.15]])
    assert result.alignment is not None
    gap = LN3 / 0.6 * (math.tanh(3.25 * LN2) - math.tanh(2.25 * LN2))
    np.testing.assert_allclose(result.alignment[1, 1] / result.alignment[1, 0], math.exp(gap))


def test_rnnencdec_by_hand():
    """Let n = m = l = 1, source 1 2, target 1 2.

    Encoder, z = 1: c = ->h_2 = tanh(ln 3) = 0.8.  s_0 = tanh(0.8 - 0.8 + ln 2) = 0.6
    i = 1: t~ = (0.6 + 0.8, 1.2 + 2 * 0.8 + 1) = (1.4, 3.8);  logits (1, 3.8, 7.6)
           s~ = tanh(ln 2 + 0.3 + 3/8 * 0.8 - 0.6) = 0.6;  s_1 = 0.6
    i = 2: t~ = (1.4 + 10 ln 2, 3.8 + 20 ln 2);  logits (1, t, 2 t)
    """
    weights = decoder_by_hand(zeros("rnnencdec", ref.Sizes(3, 3, 1, 1, 1, 1)))
    weights["source_embedding/E"][0] = [9.0, LN2, LN3]
    weights["forward/W"][:], weights["forward/b_z"][:] = 1.0, 1000.0
    weights["initial_state/W_s"][:], weights["initial_state/b_s"][:] = 1.0, LN2 - 0.8
    weights["decoder/C"][:] = 3.0 / 8.0
    weights["readout/C_o"][:, 0] = [1.0, 2.0]
    result = ref.rnnencdec(weights, [1, 2], [1, 2])
    t = 3.8 + 20 * LN2
    np.testing.assert_allclose(result.logits, [[1.0, 3.8, 7.6], [1.0, t, 2 * t]])
    np.testing.assert_allclose(result.states[:2], [[0.6], [0.6]])
    np.testing.assert_allclose(result.contexts, [[0.8], [0.8]])
    assert result.alignment is None


@pytest.mark.parametrize("order", ref.ORDERS)
@pytest.mark.parametrize("architecture", MODELS)
def test_every_weight_matters(architecture, order):
    """A change of any one weight changes the loss: no term of an equation is missing."""
    weights, rng = random(architecture), np.random.default_rng(2)
    pairs = [(SOURCE, TARGET)]
    before = ref.loss(pairs, weights, MODELS[architecture], order)
    for name, array in weights.items():
        changed = {**weights, name: array + rng.normal(size=array.shape)}
        assert abs(ref.loss(pairs, changed, MODELS[architecture], order) - before) > 1e-4, name


def test_unknown_order_and_foreign_weights_are_refused():
    """Rather than computing something else."""
    with pytest.raises(ValueError, match=r"unknown order"):
        ref.rnnsearch(random("rnnsearch"), SOURCE, TARGET, "generate")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"surplus.*backward/U"):
        ref.rnnencdec(random("rnnsearch"), SOURCE, TARGET)
    with pytest.raises(ValueError, match=r"missing.*attention/U_a"):
        ref.rnnsearch(random("rnnencdec"), SOURCE, TARGET)
    with pytest.raises(ValueError, match=r"decoder/C has shape"):
        weights = random("rnnsearch")
        ref.rnnsearch({**weights, "decoder/C": weights["decoder/C"].T}, SOURCE, TARGET)
    with pytest.raises(ValueError, match="word -1"):
        ref.rnnsearch(random("rnnsearch"), [3, -1], TARGET)


# --- loss ------------------------------------------------------------------------------------


def test_log_prob_by_hand():
    """p(y_1 = 1) = 3/4 and p(y_2 = 0) = 1/2: log(3/8)."""
    logits = np.array([[0.0, LN3], [5.0, 5.0]])
    assert ref.log_prob(logits, [1, 0]) == pytest.approx(math.log(3 / 8))


def test_loss_is_the_mean_over_sentences_of_the_sum_over_words():
    """All weights zero: log 13 a word, sentences of 3 and 1 words: (3 + 1) / 2 log 13."""
    pairs = [(SOURCE, TARGET), ([2], [2])]
    assert ref.loss(pairs, zeros("rnnsearch", SIZES)) == pytest.approx(2 * math.log(13))
    assert ref.loss(pairs, zeros("rnnencdec", SIZES), ref.rnnencdec) == pytest.approx(
        2 * math.log(13)
    )


def test_finite_difference_of_a_cube():
    """The slope of w^3 is 3 w^2 = 12 at w = 2, and the weights stay as they were."""
    weights = {"a/W": np.array([[1.0, 2.0]]), "a/b": np.array([5.0])}
    slope = ref.finite_difference(lambda w: float(np.sum(w["a/W"] ** 3)), weights, "a/W", (0, 1))
    assert slope == pytest.approx(12.0, rel=1e-8)
    np.testing.assert_array_equal(weights["a/W"], [[1.0, 2.0]])


# --- weights ---------------------------------------------------------------------------------


@pytest.mark.parametrize("architecture", MODELS)
def test_from_layer_weights_transposes_matrices(architecture):
    """Stored [in, out] under a longer path, they come back as they were."""
    weights = random(architecture)
    back = ref.from_layer_weights(
        (f"model/{name}", array.T.astype(np.float64)) for name, array in weights.items()
    )
    assert back.keys() == weights.keys()
    for name, array in weights.items():
        np.testing.assert_array_equal(back[name], array)


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([("model/forward/W_q", (2, 2))], "does not end in"),
        ([("model/fast_forward/W", (2, 2))], "does not end in"),
        ([("W", (2, 2))], "does not end in"),
        ([("a/forward/W", (2, 2)), ("b/forward/W", (2, 2))], "already"),
        ([("model/attention/v_a", (2, 1))], "rank 1"),
        ([("model/decoder/W", (2,))], "rank 2"),
    ],
)
def test_from_layer_weights_refuses(pairs, message):
    """Unknown names, names that only end alike, duplicates, vectors for matrices."""
    with pytest.raises(ValueError, match=message):
        ref.from_layer_weights((path, np.zeros(shape)) for path, shape in pairs)
