"""The paper's equations in float64 NumPy, one sentence at a time: the oracle of the tests.

Bahdanau, Cho & Bengio, "Neural Machine Translation by Jointly Learning to Align and Translate"
(ICLR 2015), written from sections 2-3 and appendix A and from nothing else, so that the layers are
compared with the paper and not with themselves. Therefore it is slow and plain: no batches, no
padding, no masks, a loop over positions wherever the paper has an index, and column vectors, so
that `W @ x` is the appendix's W x.

Sizes: Tx, Ty words in the source and the target; K_source, K_target words in the vocabularies;
m the embedding, n the hidden state, n_align (the paper's n') the alignment model's hidden layer,
l the maxout layer; k the context: 2n in RNNsearch, n in RNNencdec.

Weights: a dict from a name ("attention/W_a") to an array in the paper's orientation, a matrix being
[out, in]. `weight_shapes` is the table of them; `from_layer_weights` makes such a dict from arrays
stored [in, out].

A sentence is a list of word ids that ends in </s>, a word like any other here. y_0 is the zero
vector: there is no start symbol, and the word's terms vanish at i = 1.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[np.float64]
Weights: TypeAlias = Mapping[str, Array]
Architecture = Literal["rnnsearch", "rnnencdec"]
Order = Literal["look_generate_update", "look_update_generate"]
ORDERS: tuple[Order, ...] = ("look_generate_update", "look_update_generate")


class Result(NamedTuple):
    """Values computed for one sentence pair."""

    logits: Array  # [Ty, K_target]; row i - 1 is W_o t_i + b, before the softmax
    alignment: Array | None  # [Ty, Tx], alpha_ij; None for RNNencdec, which has none
    states: Array  # [Ty + 1, n]; states[i] is s_i, so states[0] is s_0
    contexts: Array  # [Ty, k]; row i - 1 is c_i


class Sizes(NamedTuple):
    """The sizes of a model; A.2.3 has m = 620, n = 1000, n' = 1000, l = 500."""

    K_source: int
    K_target: int
    m: int
    n: int
    n_align: int
    l: int  # noqa: E741 (the paper's letter)


# --- weights ---------------------------------------------------------------------------------


def weight_shapes(architecture: Architecture, sizes: Sizes) -> dict[str, tuple[int, ...]]:
    """Return every weight's name and its shape in the paper (A.2.1, A.2.2; biases are implied)."""
    K_source, K_target, m, n, n_align, l = sizes  # noqa: E741
    bidirectional = architecture == "rnnsearch"
    k = 2 * n if bidirectional else n

    shapes: dict[str, tuple[int, ...]] = {"source_embedding/E": (m, K_source)}
    for encoder in ("forward", "backward") if bidirectional else ("forward",):
        for gate in ("", "_z", "_r"):
            shapes[f"{encoder}/W{gate}"] = (n, m)
            shapes[f"{encoder}/U{gate}"] = (n, n)
            shapes[f"{encoder}/b{gate}"] = (n,)

    shapes["initial_state/W_s"] = (n, n)
    shapes["initial_state/b_s"] = (n,)

    if bidirectional:
        shapes["attention/W_a"] = (n_align, n)
        shapes["attention/U_a"] = (n_align, k)
        shapes["attention/v_a"] = (n_align,)

    shapes["target_embedding/E"] = (m, K_target)
    for gate in ("", "_z", "_r"):
        shapes[f"decoder/W{gate}"] = (n, m)
        shapes[f"decoder/U{gate}"] = (n, n)
        shapes[f"decoder/C{gate}"] = (n, k)
        shapes[f"decoder/b{gate}"] = (n,)

    shapes["readout/U_o"] = (2 * l, n)
    shapes["readout/V_o"] = (2 * l, m)
    shapes["readout/C_o"] = (2 * l, k)
    shapes["readout/b_o"] = (2 * l,)
    shapes["readout/W_o"] = (K_target, l)
    shapes["readout/b"] = (K_target,)
    return shapes


def from_layer_weights(pairs: Iterable[tuple[str, Any]]) -> dict[str, Array]:
    """Turn (path, array) pairs, stored [in, out] and E [K, m], into the paper's orientation.

    The last two components of a path are the name: "rnnsearch/attention/W_a" is "attention/W_a".
    Matrices are transposed, vectors kept; all are copied to float64.

    Raises:
        ValueError: A name is unknown or comes twice, or a vector and a matrix are confused.
    """
    ranks = {
        name: len(shape) for name, shape in weight_shapes("rnnsearch", Sizes(*6 * [1])).items()
    }
    weights: dict[str, Array] = {}
    for path, stored in pairs:
        name = "/".join(path.split("/")[-2:])
        array = np.array(stored, dtype=np.float64)
        if name not in ranks:
            raise ValueError(f"{path!r} does not end in the name of a weight")
        if name in weights:
            raise ValueError(f"{path!r}: there is already a weight {name!r}")
        if array.ndim != ranks[name]:
            raise ValueError(f"{path!r} has shape {array.shape}, expected rank {ranks[name]}")
        weights[name] = array.T.copy()  # .T leaves a vector as it is
    return weights


def random_weights(
    architecture: Architecture, sizes: Sizes, rng: np.random.Generator
) -> dict[str, Array]:
    """Draw every weight and bias from N(0, 0.5^2).

    That is not B.1's initialization, whose zeros and 0.01s would hide whole terms: here every term
    of every equation shows in the result.
    """
    return {
        name: rng.normal(0.0, 0.5, size=shape)
        for name, shape in weight_shapes(architecture, sizes).items()
    }


def check_weights(architecture: Architecture, weights: Weights) -> None:
    """Raise ValueError unless `weights` are exactly the architecture's, in shapes that fit."""
    names = set(weight_shapes(architecture, Sizes(*6 * [1])))
    if set(weights) != names:
        missing, surplus = sorted(names - set(weights)), sorted(set(weights) - names)
        raise ValueError(f"not {architecture}'s weights: missing {missing}, surplus {surplus}")
    m, K_source = weights["source_embedding/E"].shape
    K_target, l = weights["readout/W_o"].shape  # noqa: E741
    n = weights["forward/U"].shape[0]
    n_align = weights["attention/v_a"].shape[0] if architecture == "rnnsearch" else 0
    for name, shape in weight_shapes(
        architecture, Sizes(K_source, K_target, m, n, n_align, l)
    ).items():
        if weights[name].shape != shape:
            raise ValueError(f"{name} has shape {weights[name].shape}, the paper's is {shape}")


def part(weights: Weights, layer: str) -> dict[str, Array]:
    """Return one layer's weights, "attention/W_a" under the name "W_a"."""
    prefix = layer + "/"
    return {
        name.removeprefix(prefix): array
        for name, array in weights.items()
        if name.startswith(prefix)
    }


# --- pieces ----------------------------------------------------------------------------------


def sigmoid(x: Array) -> Array:
    """Logistic sigmoid: 1 / (1 + exp(-x)), in the form (1 + tanh(x / 2)) / 2 with no overflow."""
    return (1.0 + np.tanh(x / 2.0)) / 2.0


def softmax(e: Array) -> Array:
    """Eq. (6): exp(e_j) / sum_k exp(e_k), every e lowered by the greatest against overflow."""
    exp: Array = np.exp(e - np.max(e))
    return exp / np.sum(exp)


def log_softmax(e: Array) -> Array:
    """The logarithm of eq. (6): e_j - log sum_k exp(e_k)."""
    shifted: Array = e - np.max(e)
    log_total: Array = np.log(np.sum(np.exp(shifted)))
    return shifted - log_total


def embed(E: Array, word: int) -> Array:
    """E x: the column of E [m, K] that belongs to a word (A.1.1)."""
    if not 0 <= word < E.shape[1]:
        raise ValueError(f"word {word} is not among the {E.shape[1]} of the vocabulary")
    return E[:, word]


# --- gated hidden unit (A.1.1) ---------------------------------------------------------------


def gru_step(gru: Weights, e: Array, h: Array, c: Array | None = None) -> Array:
    """One step of the gated hidden unit (A.1.1; A.2.1 without a context, A.2.2 with one).

        z  = sigma(W_z e + U_z h + C_z c + b_z)
        r  = sigma(W_r e + U_r h + C_r c + b_r)
        h~ = tanh(W e + U [r o h] + C c + b)
        h' = (1 - z) o h + z o h~

    Args:
        gru: W, W_z, W_r [n, m]; U, U_z, U_r [n, n]; C, C_z, C_r [n, k]; b, b_z, b_r [n].
        e: the word's embedding [m].
        h: the state before the step [n].
        c: the context [k]; None in an encoder, which has no C.

    Returns:
        The state after the step [n].
    """
    z = gru["W_z"] @ e + gru["U_z"] @ h + gru["b_z"]
    r = gru["W_r"] @ e + gru["U_r"] @ h + gru["b_r"]
    if c is not None:
        z = z + gru["C_z"] @ c
        r = r + gru["C_r"] @ c
    z = sigmoid(z)
    r = sigmoid(r)

    candidate = gru["W"] @ e + gru["U"] @ (r * h) + gru["b"]
    if c is not None:
        candidate = candidate + gru["C"] @ c
    candidate = np.tanh(candidate)

    return (1.0 - z) * h + z * candidate


# --- encoder (3.2, A.2.1) --------------------------------------------------------------------


def encode_forward(weights: Weights, source: Sequence[int]) -> Array:
    """Forward states (A.2.1): ->h_0 = 0, ->h_i = f(->h_{i-1}, x_i) for i = 1, ..., Tx.

    Returns:
        [Tx, n]; row i - 1 is ->h_i.
    """
    E, gru = weights["source_embedding/E"], part(weights, "forward")
    h = np.zeros(gru["U"].shape[0])
    states = []
    for x in source:
        h = gru_step(gru, embed(E, x), h)
        states.append(h)
    return np.array(states)


def encode_backward(weights: Weights, source: Sequence[int]) -> Array:
    """Backward states (3.2, A.2.1): <-h_{Tx+1} = 0, <-h_i = f(<-h_{i+1}, x_i), i = Tx, ..., 1.

    E is the forward encoder's; the other weights are its own.

    Returns:
        [Tx, n]; row i - 1 is <-h_i, so row 0 has read the whole sentence.
    """
    E, gru = weights["source_embedding/E"], part(weights, "backward")
    h = np.zeros(gru["U"].shape[0])
    states = []
    for x in reversed(source):
        h = gru_step(gru, embed(E, x), h)
        states.append(h)
    states.reverse()
    return np.array(states)


def annotations(weights: Weights, source: Sequence[int]) -> Array:
    """Eq. (7): h_j = [->h_j ; <-h_j].

    Returns:
        [Tx, 2n]; row j - 1 is h_j.
    """
    pairs = zip(encode_forward(weights, source), encode_backward(weights, source), strict=True)
    return np.array([np.concatenate([forward, backward]) for forward, backward in pairs])


# --- decoder (3.1, A.1.2, A.2.2) -------------------------------------------------------------


def initial_state(weights: Weights, h: Array) -> Array:
    """s_0 = tanh(W_s h + b_s) (A.2.2), h being <-h_1 in RNNsearch, ->h_Tx in RNNencdec."""
    return np.tanh(weights["initial_state/W_s"] @ h + weights["initial_state/b_s"])


def attend(weights: Weights, s: Array, h: Array) -> tuple[Array, Array]:
    """Alignment model and expected annotation (3.1, eqs. (5), (6); A.1.2; A.2.2).

        e_ij     = v_a^T tanh(W_a s_{i-1} + U_a h_j)
        alpha_ij = exp(e_ij) / sum_k exp(e_ik)
        c_i      = sum_j alpha_ij h_j

    Args:
        weights: of the model; those under "attention/" are used.
        s: the state before the step, s_{i-1} [n].
        h: the annotations [Tx, 2n].

    Returns:
        alpha_i [Tx] and c_i [2n].
    """
    W_a, U_a = weights["attention/W_a"], weights["attention/U_a"]
    v_a = weights["attention/v_a"]
    e = np.array([v_a @ np.tanh(W_a @ s + U_a @ h_j) for h_j in h])
    alpha = softmax(e)
    c = np.zeros(h.shape[1])
    for alpha_j, h_j in zip(alpha, h, strict=True):
        c = c + alpha_j * h_j
    return alpha, c


def maxout(t_tilde: Array) -> Array:
    """t_j = max(t~_{2j-1}, t~_{2j}), j = 1, ..., l (A.2.2; indices from 1): [2l] -> [l]."""
    return np.array([max(first, second) for first, second in t_tilde.reshape(-1, 2)])


def readout(weights: Weights, s: Array, e: Array, c: Array) -> Array:
    """Deep output with one maxout layer (A.2.2).

        t~_i         = U_o s + V_o E y_{i-1} + C_o c_i + b_o
        t_i          = [max(t~_{i,2j-1}, t~_{i,2j})], j = 1, ..., l
        p(y_i | ...) is proportional to exp(y_i^T (W_o t_i + b))

    Args:
        weights: of the model; those under "readout/" are used.
        s: the state [n], s_{i-1} or s_i: see `decode`.
        e: E y_{i-1} [m].
        c: c_i [k].

    Returns:
        The logits W_o t_i + b [K_target].
    """
    out = part(weights, "readout")
    t = maxout(out["U_o"] @ s + out["V_o"] @ e + out["C_o"] @ c + out["b_o"])
    return out["W_o"] @ t + out["b"]


def decode(
    weights: Weights,
    s_0: Array,
    look: Callable[[Array], tuple[Array | None, Array]],
    target: Sequence[int],
    order: Order = "look_generate_update",
) -> Result:
    """Run the decoder over a known target, i = 1, ..., Ty.

    Both orders look first: c_i from s_{i-1}. Then

        look_generate_update    logits_i = g(s_{i-1}, y_{i-1}, c_i);  s_i = f(s_{i-1}, y_i, c_i)
        look_update_generate    s_i = f(s_{i-1}, y_{i-1}, c_i);  logits_i = g(s_i, y_{i-1}, c_i)

    The first is the authors' program, and A.2.2's readout; the second is 3.1 and eq. (4).
    In both, logits_i does not depend on y_i.

    Args:
        weights: of the model.
        s_0: the initial state [n].
        look: takes s_{i-1}, returns alpha_i (or None) and c_i.
        target: y_1, ..., y_Ty.
        order: which of the two.

    Returns:
        The logits, alignment, states and contexts of all positions.
    """
    if order not in ORDERS:
        raise ValueError(f"unknown order {order!r}")
    E, gru = weights["target_embedding/E"], part(weights, "decoder")

    s = s_0
    e_previous = np.zeros(E.shape[0])  # E y_0
    logits, alignment, states, contexts = [], [], [s_0], []
    for y in target:
        e = embed(E, y)
        alpha, c = look(s)
        if order == "look_generate_update":
            logits.append(readout(weights, s, e_previous, c))
            s = gru_step(gru, e, s, c)
        else:
            s = gru_step(gru, e_previous, s, c)
            logits.append(readout(weights, s, e_previous, c))
        if alpha is not None:
            alignment.append(alpha)
        states.append(s)
        contexts.append(c)
        e_previous = e

    return Result(
        logits=np.array(logits),
        alignment=np.array(alignment) if alignment else None,
        states=np.array(states),
        contexts=np.array(contexts),
    )


# --- models ----------------------------------------------------------------------------------


def rnnsearch(
    weights: Weights,
    source: Sequence[int],
    target: Sequence[int],
    order: Order = "look_generate_update",
) -> Result:
    """RNNsearch (section 3, A.2): s_0 = tanh(W_s <-h_1 + b_s), c_i by attention to h_1..h_Tx."""
    check_weights("rnnsearch", weights)
    h = annotations(weights, source)
    s_0 = initial_state(weights, encode_backward(weights, source)[0])
    return decode(weights, s_0, lambda s: attend(weights, s, h), target, order)


def rnnencdec(
    weights: Weights,
    source: Sequence[int],
    target: Sequence[int],
    order: Order = "look_generate_update",
) -> Result:
    """RNNencdec (2.1, A.2.2): c_i = ->h_Tx for every i, s_0 = tanh(W_s ->h_Tx + b_s)."""
    check_weights("rnnencdec", weights)
    c = encode_forward(weights, source)[-1]
    s_0 = initial_state(weights, c)
    return decode(weights, s_0, lambda s: (None, c), target, order)


# --- loss ------------------------------------------------------------------------------------


def log_prob(logits: Array, target: Sequence[int]) -> float:
    """Eq. (2), in nats: log p(y | x) = sum_i log p(y_i | y_1, ..., y_{i-1}, x), </s> included."""
    return float(sum(log_softmax(row)[y] for row, y in zip(logits, target, strict=True)))


def loss(
    pairs: Sequence[tuple[Sequence[int], Sequence[int]]],
    weights: Weights,
    model: Callable[[Weights, Sequence[int], Sequence[int], Order], Result] = rnnsearch,
    order: Order = "look_generate_update",
) -> float:
    """Mean over the sentences of -log p(y | x): summed over a sentence's words, not averaged."""
    total = 0.0
    for source, target in pairs:
        total -= log_prob(model(weights, source, target, order).logits, target)
    return total / len(pairs)


def finite_difference(
    f: Callable[[Weights], float],
    weights: Weights,
    name: str,
    index: int | tuple[int, ...],
    eps: float = 1e-5,
) -> float:
    """(f(w + eps) - f(w - eps)) / (2 eps), w one element of one weight (paper's orientation)."""

    def shifted(by: float) -> float:
        changed = weights[name].copy()
        changed[index] += by
        return f({**weights, name: changed})

    return (shifted(eps) - shifted(-eps)) / (2.0 * eps)
