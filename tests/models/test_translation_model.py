"""The whole model against the paper's equations in float64 NumPy."""

import dataclasses
import itertools
import math
import typing
from collections.abc import Sequence
from typing import Any

import keras
import numpy as np
import numpy_reference as reference
import pytest
from keras import ops, tree

from rnnsearch_tf.config import (
    RNNENCDEC,
    RNNSEARCH,
    Architecture,
    Config,
    ModelConfig,
    StepOrder,
)
from rnnsearch_tf.models import translation_step
from rnnsearch_tf.models.losses import alignment_cross_entropy
from rnnsearch_tf.models.translation_model import TranslationModel
from rnnsearch_tf.models.translation_step import Candidates, Carried

STEP_ORDERS = typing.get_args(StepOrder)

# Every axis another prime: K_x 11, K_y 13, m 3, n 5, n' 7, l 2.
SIZES = ModelConfig(
    source_vocabulary_size=11,
    target_vocabulary_size=13,
    embedding_size=3,
    hidden_size=5,
    attention_size=7,
    maxout_size=2,
)
PAIRS = [([4, 9, 6, 1], [5, 12, 3, 7, 1]), ([3, 10, 2, 8, 5, 9, 1], [11, 1]), ([7, 1], [2, 9, 1])]
BOTH_IN_BOTH_ORDERS = list(itertools.product((RNNSEARCH, RNNENCDEC), STEP_ORDERS))
both = pytest.mark.parametrize(("architecture", "order"), BOTH_IN_BOTH_ORDERS)
each_once = pytest.mark.parametrize(
    ("architecture", "order"), [(RNNSEARCH, STEP_ORDERS[0]), (RNNENCDEC, STEP_ORDERS[1])]
)


def padded(sentences: Sequence[list[int]], extra: int = 0) -> np.ndarray:
    ids = np.zeros((len(sentences), max(map(len, sentences)) + extra), "int32")
    for row, sentence in zip(ids, sentences, strict=True):
        row[: len(sentence)] = sentence
    return ids


def batch(pairs: list, extra: int = 0) -> dict[str, np.ndarray]:
    source, target = zip(*pairs, strict=True)
    return {"source": padded(source, extra), "target": padded(target, extra)}


def randomize(model: keras.Model, seed: int = 2) -> None:
    """Ordinary-sized weights, biases included, so that every term matters."""
    rng = np.random.default_rng(seed)
    model.set_weights([rng.normal(0, 0.5, w.shape) for w in model.get_weights()])


def build(
    architecture: Architecture = RNNSEARCH, order: StepOrder = "look_generate_update"
) -> TranslationModel:
    config = dataclasses.replace(SIZES, architecture=architecture, step_order=order)
    model = TranslationModel(config)
    randomize(model)
    return model


@pytest.fixture
def float64():
    keras.config.set_dtype_policy("float64")
    yield
    keras.config.set_dtype_policy("float32")


def two_hypotheses(carried: Carried) -> Carried:
    """Return the same for two equal hypotheses of each sentence: [B, 2, ...]."""
    return tree.map_structure(lambda x: ops.repeat(x[:, None], 2, axis=1), carried)


def equations(model: TranslationModel):
    """The reference's weights and model function for a layer model."""
    weights = reference.from_layer_weights((w.path, w.numpy()) for w in model.weights)
    return weights, {RNNSEARCH: reference.rnnsearch, RNNENCDEC: reference.rnnencdec}[
        model.config.architecture
    ]


@both
def test_model_is_the_papers(architecture, order):
    model = build(architecture, order)
    weights, run = equations(model)
    logits = ops.convert_to_numpy(model(batch(PAIRS)))
    outputs = model.decoder_outputs(**batch(PAIRS))
    for i, (source, target) in enumerate(PAIRS):
        expected = run(weights, source, target, order)
        np.testing.assert_allclose(logits[i, : len(target)], expected.logits, atol=1e-5)
        contexts = ops.convert_to_numpy(outputs.context)[: len(target), i]
        np.testing.assert_allclose(contexts, expected.contexts, atol=1e-5)
        if architecture == RNNSEARCH:
            alignment = ops.convert_to_numpy(outputs.alignment)[: len(target), i, : len(source)]
            np.testing.assert_allclose(alignment, expected.alignment, atol=1e-5)


@both
def test_gradients_are_the_finite_differences(float64, architecture, order):
    tf = pytest.importorskip("tensorflow")
    model = build(architecture, order)
    weights, run = equations(model)
    with tf.GradientTape() as tape:
        losses = model.token_losses(*(tf.constant(x) for x in batch(PAIRS).values()))
        loss = tf.reduce_sum(tf.cast(losses, "float64")) / len(PAIRS)
    gradients = tape.gradient(loss, [w.value for w in model.weights])
    rng = np.random.default_rng(3)
    for weight, gradient in zip(model.weights, gradients, strict=True):
        gradient = tf.convert_to_tensor(gradient).numpy()
        name = "/".join(weight.path.split("/")[-2:])
        for _ in range(3):
            index = tuple(rng.integers(weight.shape))
            expected = reference.finite_difference(
                lambda w: reference.loss(PAIRS, w, run, order), weights, name, index[::-1]
            )
            assert gradient[index] == pytest.approx(expected, abs=1e-6), weight.path


@both
def test_word_by_word_is_teacher_forced(architecture, order):
    model = build(architecture, order)
    source, target = PAIRS[0]
    expected = ops.convert_to_numpy(model(batch(PAIRS[:1])))[0]
    step = model.bind(np.array([source]))
    outputs = step.start()
    for i, word in enumerate(target):
        logits = ops.convert_to_numpy(step.predict_token(outputs))[0]
        np.testing.assert_allclose(logits, expected[i], atol=1e-6)
        outputs = step.advance(outputs.carried, np.array([word]))


@each_once
def test_several_hypotheses_share_the_annotations(architecture, order):
    model = build(architecture, order)
    step = model.bind(padded([pair[0] for pair in PAIRS]))
    first = step.start().carried
    doubled = two_hypotheses(first)
    words = np.array([[4, 5], [6, 7], [8, 9]])
    together = step.predict_token(step.advance(doubled, words))
    for q in range(2):
        alone = step.predict_token(step.advance(first, words[:, q]))
        np.testing.assert_allclose(together[:, q], alone, atol=1e-6)


@each_once
def test_a_table_of_words_changes_no_logits(architecture, order, monkeypatch):
    model = build(architecture, order)
    weights = model.step_weights(bfloat16=False, all_words=True, tabulate=True)
    assert [x.shape for x in weights.word_tables or ()] == [(13, 2 * 5), (13, 5), (13, 2 * 2)]
    source, words = padded([pair[0] for pair in PAIRS]), np.array([[4, 12], [6, 0], [8, 1]])
    steps = model.bind(source), model.bind(source, weights=weights)
    first = steps[0].start().carried
    doubled = two_hypotheses(first)
    plain, looked_up = (step.predict_token(step.advance(doubled, words)) for step in steps)
    np.testing.assert_allclose(plain, looked_up, atol=1e-6)
    monkeypatch.setattr(translation_step, "_MAX_TABLE", 13 * 19 - 1)
    assert model.step_weights(False, True, tabulate=True).word_tables is None


@each_once
def test_bfloat16_changes_logits_little(architecture, order):
    model = build(architecture, order)
    source, words = padded([pair[0] for pair in PAIRS]), np.array([4, 6, 8])

    def logits(step: typing.Any) -> np.ndarray:
        return ops.convert_to_numpy(step.predict_token(step.advance(step.start().carried, words)))

    weights = model.step_weights(bfloat16=True, all_words=True)
    exact, approximate = logits(model.bind(source)), logits(model.bind(source, weights=weights))
    assert 0 < np.abs(exact - approximate).max() < 0.02 * np.abs(exact).max()


@each_once
@pytest.mark.parametrize("tabulate", [False, True])
def test_candidates_are_predicted_as_among_all_words(architecture, order, tabulate):
    model = build(architecture, order)
    source, words = padded([pair[0] for pair in PAIRS]), np.array([0, 1, 2, 5, 12, 0], "int32")
    penalty = np.zeros([len(PAIRS), len(words)], "float32")
    penalty[1, 3] = penalty[:, 5] = -math.inf
    weights = model.step_weights(bfloat16=False, all_words=False, tabulate=tabulate)
    exact, step = model.bind(source), model.bind(source, Candidates(words, penalty), weights)
    first = step.start().carried
    doubled = two_hypotheses(first)
    after = np.array([[4, 5], [6, 7], [8, 9]])  # two hypotheses for each sentence
    for state, previous, rows in (
        (first, after[:, 0], penalty),
        (doubled, after, penalty[:, None]),
    ):
        found = ops.convert_to_numpy(step.predict_token(step.advance(state, previous)))
        expected = ops.convert_to_numpy(exact.predict_token(exact.advance(state, previous)))
        np.testing.assert_allclose(found, expected[..., words] + rows, atol=1e-6)


@each_once
def test_padding_and_neighbors_change_nothing(architecture, order):
    model = build(architecture, order)
    together = ops.convert_to_numpy(model(batch(PAIRS, extra=3)))
    for i, pair in enumerate(PAIRS):
        alone = ops.convert_to_numpy(model(batch([pair])))[0]
        np.testing.assert_allclose(together[i, : len(pair[1])], alone, atol=1e-6)


@each_once
def test_word_losses_are_the_log_probabilities(architecture, order):
    model = build(architecture, order)
    weights, run = equations(model)
    inputs = batch(PAIRS, extra=1)
    losses = ops.convert_to_numpy(model.token_losses(inputs["source"], inputs["target"]))
    assert losses.shape == (sum(len(target) for _, target in PAIRS),)
    expected = [
        -reference.log_prob(run(weights, source, target, order).logits, target)
        for source, target in PAIRS
    ]
    ends = np.cumsum([len(target) for _, target in PAIRS])[:-1]
    sums = [part.sum() for part in np.split(losses, ends)]
    np.testing.assert_allclose(sums, expected, rtol=1e-5)


GUIDE = np.zeros((3, 5, 7))  # [B, Ty, Tx] of PAIRS
GUIDE[0, [0, 1, 3], [2, 0, 2]] = 1
GUIDE[1, 0, [1, 4, 5, 2]] = 1 / 4
GUIDE[2, 1, 0] = 1
GUIDED = {**batch(PAIRS), "guide": GUIDE}


def guide_loss(weights, order: StepOrder) -> float:
    """Σ over sentences and words of −Σ_j A_ij log α_ij, from the paper's equations."""
    total = 0.0
    for guide, (source, target) in zip(GUIDE, PAIRS, strict=True):
        alignment = reference.rnnsearch(weights, source, target, order).alignment
        total -= (guide[: len(target), : len(source)] * np.log(alignment)).sum()
    return total


@pytest.mark.parametrize("order", STEP_ORDERS)
def test_losses_are_those_of_the_tokens_and_of_the_links(order):
    model = build(RNNSEARCH, order)
    losses = model.compute_losses(GUIDED, ["nll", "guided_alignment"])
    assert list(losses) == ["nll", "guided_alignment"]
    token_losses = model.token_losses(**batch(PAIRS))
    assert float(losses["nll"].sum) == float(ops.sum(token_losses))
    assert float(losses["nll"].count) == len(token_losses)
    distances = alignment_cross_entropy(model.alignment(**batch(PAIRS)), GUIDE)
    distances = ops.convert_to_numpy(distances)
    assert (distances > 0).tolist() == GUIDE.any(axis=2).tolist()
    expected = guide_loss(equations(model)[0], order)
    assert distances.sum() == pytest.approx(expected, rel=1e-5)
    assert float(losses["guided_alignment"].sum) == pytest.approx(expected, rel=1e-5)
    assert float(losses["guided_alignment"].count) == GUIDE.any(axis=2).sum()


def test_two_readings_without_dropout_agree():
    model = build(RNNSEARCH)
    expected = model.compute_losses(GUIDED, ["nll", "guided_alignment"], training=True)
    model.config = dataclasses.replace(model.config, r_drop=5.0)
    twice = model.compute_losses(GUIDED, ["nll", "guided_alignment"], training=True)
    for name, (total, count) in expected.items():
        assert float(twice[name].sum) == pytest.approx(float(total), rel=1e-6)
        assert float(twice[name].count) == float(count)


def _log_p(logits: np.ndarray) -> np.ndarray:
    return logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))


def test_labels_are_smoothed_in_training_alone():
    model = build(RNNSEARCH)
    weights, run = equations(model)
    model.config = dataclasses.replace(model.config, label_smoothing=0.2)
    plain = smoothed = 0.0
    for source, target in PAIRS:
        log_p = _log_p(run(weights, source, target, "look_generate_update").logits)
        loss = -log_p[np.arange(len(target)), target].sum()
        plain, smoothed = plain + loss, smoothed + 0.8 * loss - 0.2 * log_p.mean(axis=1).sum()
    for training, expected in ((False, plain), (True, smoothed)):
        losses = model.compute_losses(batch(PAIRS), ["nll"], training)
        assert float(losses["nll"].sum) == pytest.approx(expected, rel=1e-5)


def test_r_drop_compares_two_forward_passes_with_different_dropout():
    """α = 3: the mean of both losses plus 3/4 of the divergences, with the same masks."""
    config = dataclasses.replace(SIZES, dropout=0.5, r_drop=3.0)
    model = TranslationModel(config)
    randomize(model)
    weights = set(map(id, model.weights))
    seeds = [variable for variable in model.variables if id(variable) not in weights]
    first = [np.array(seed) for seed in seeds]
    assert first
    found = model.compute_losses(batch(PAIRS), ["nll"], training=True)["nll"]
    for seed, value in zip(seeds, first, strict=True):
        seed.assign(value)
    ids = {name: np.concatenate([side, side]) for name, side in batch(PAIRS).items()}
    # Masks are drawn in this order.
    s, words, c, _ = model.decoder_outputs(**ids, training=True)
    readout = model.readout
    hidden = ops.convert_to_numpy(readout.maxout(s, words, c, training=True))
    is_token = ids["target"] > 0
    tokens = ids["target"][is_token]
    hidden = hidden.transpose(1, 0, 2)[is_token]
    log_p = _log_p(hidden @ np.array(readout.W_o) + np.array(readout.b))
    losses = -log_p[np.arange(len(tokens)), tokens]
    one, other = np.split(log_p, 2)
    assert np.abs(one - other).max() > 0.1
    divergence = ((np.exp(one) - np.exp(other)) * (one - other)).sum()
    expected = losses.sum() / 2 + 3 / 4 * divergence
    assert float(found.sum) == pytest.approx(expected, rel=1e-5)
    assert float(found.count) == len(tokens) / 2
    evaluated = model.compute_losses(batch(PAIRS), ["nll"])["nll"]  # by neither, as given pairs
    given = ops.sum(model.token_losses(**batch(PAIRS)))
    assert float(evaluated.sum) == pytest.approx(float(given), rel=1e-6)


@pytest.mark.parametrize("scheme", ["paper", "glorot"])
def test_first_loss_is_log_k(scheme):
    sizes = dataclasses.replace(
        SIZES, target_vocabulary_size=997, hidden_size=53, initial_weights=scheme
    )
    losses = TranslationModel(sizes).token_losses(*batch(PAIRS).values())
    assert float(ops.mean(losses)) == pytest.approx(math.log(997), rel=0.02)


def test_tied_embeddings_are_one_matrix():
    pytest.importorskip("tensorflow")
    import tensorflow as tf

    sizes = dataclasses.replace(SIZES, maxout_size=3)
    tied, free = (
        TranslationModel(dataclasses.replace(sizes, tied_embeddings=is_tied))
        for is_tied in (True, False)
    )
    randomize(tied)
    by_path = {weight.path: weight for weight in tied.weights}
    for weight in free.weights:
        is_output = weight.path.endswith("W_o")
        weight.assign(
            ops.transpose(tied.decoder.embedding.E) if is_output else by_path[weight.path]
        )
    assert len(tied.weights) == len(free.weights) - 1
    np.testing.assert_allclose(tied(batch(PAIRS)), free(batch(PAIRS)), atol=1e-6)
    gradients = []
    for model in (tied, free):
        with tf.GradientTape() as tape:
            loss = ops.sum(model.token_losses(*batch(PAIRS).values()))
        variables = [model.decoder.embedding.E] + [model.readout.W_o] * (model is free)
        gradients.append(tape.gradient(loss, [variable.value for variable in variables]))
    (one,), (words, output) = [[tf.convert_to_tensor(g) for g in part] for part in gradients]
    np.testing.assert_allclose(one, words + tf.transpose(output), atol=1e-5)


@pytest.mark.parametrize("order", STEP_ORDERS)
def test_the_lexical_model_adds_the_attended_source_words(order):
    """By the formula, in teacher forcing and word by word."""
    sizes = dataclasses.replace(SIZES, maxout_size=3, step_order=order, lexical_model=True)
    model = TranslationModel(sizes)
    randomize(model)
    inputs = batch(PAIRS)
    outputs = model.decoder_outputs(**inputs)
    outputs = type(outputs)(*(ops.transpose(x, (1, 0, 2)) for x in outputs))
    vectors = np.array(model.encoder.embedding.E)[inputs["source"]]
    attended = np.array(outputs.alignment) @ vectors
    np.testing.assert_allclose(outputs.context[..., -3:], attended, atol=1e-6)
    assert model.readout.lexical is not None
    words = np.tanh(attended)
    lexical = words + np.tanh(words @ np.array(model.readout.lexical.W_l))
    matrix = np.concatenate([model.readout.U_o, model.readout.V_o, model.readout.C_o])
    read = np.concatenate([outputs.state, outputs.words, outputs.context], axis=2)
    hidden = (read @ matrix + model.readout.b_o).reshape(*read.shape[:2], 3, 2).max(axis=3)
    expected = (hidden + lexical) @ np.array(model.readout.W_o) + np.array(model.readout.b)
    logits = ops.convert_to_numpy(model(inputs))
    np.testing.assert_allclose(logits, expected, atol=1e-5)
    step = model.bind(inputs["source"])
    given = step.start()
    for i, word in enumerate(inputs["target"].T):
        np.testing.assert_allclose(step.predict_token(given), logits[:, i], atol=1e-5)
        given = step.advance(step.carried(given), word)


@pytest.mark.parametrize(
    "options", [{"maxout_size": 4}, {"maxout_size": 3, "architecture": RNNENCDEC}]
)
def test_a_lexical_model_needs_attention_and_one_size(options):
    with pytest.raises(ValueError, match="lexical_model: "):
        dataclasses.replace(SIZES, lexical_model=True, **options)


def test_the_layers_of_a_model_can_be_used_with_its_masks():
    model = build(RNNSEARCH, STEP_ORDERS[0])
    inputs = batch(PAIRS)
    annotations, summary = model.encoder(inputs["source"])
    outputs = model.decoder(inputs["target"], annotations, summary)
    expected = ops.convert_to_numpy(model.alignment(**inputs))
    np.testing.assert_allclose(outputs.alignment, expected, atol=1e-6)
    assert (expected[inputs["source"][:, None].repeat(5, 1) == 0] == 0).all()


def test_dropout_acts_in_training_alone():
    model = TranslationModel(dataclasses.replace(SIZES, dropout=0.5))
    randomize(model)
    inputs = batch(PAIRS)
    calm = [ops.convert_to_numpy(model(inputs)) for _ in range(2)]
    np.testing.assert_array_equal(*calm)
    noisy = ops.convert_to_numpy(model(inputs, training=True))
    assert np.abs(noisy - calm[0]).max() > 1e-3


def test_an_attention_may_have_dropout(monkeypatch):
    model, dropout = build(), keras.layers.Dropout(0.5)
    attention = model.decoder.attention
    keys = attention.keys
    monkeypatch.setattr(attention, "keys", lambda annotations: dropout(keys(annotations)))
    losses = [
        float(model.compute_losses(batch(PAIRS), ["nll"], training)["nll"].sum)
        for training in (False, False, True, True)
    ]
    assert losses[0] == losses[1]
    assert len(set(losses)) == 3


def test_a_whole_config_is_refused():
    config: Any = Config()
    with pytest.raises(TypeError, match=r"expected a ModelConfig, .* not Config"):
        TranslationModel(config)
