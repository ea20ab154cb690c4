"""The contract of an export with model servers, clients and the page."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rnnsearch_tf.client import contract
from tfserving import dtypes
from tfserving.c_session import CSession
from tfserving.graph_ops import core_ops, graph_ops
from tfserving.status import StatusError

if TYPE_CHECKING:
    from rnnsearch_tf.inference.text_model import TextModel

_TEXTS = (dtypes.STRING, 1)  # DataType and rank
_DATA_TYPES = {str: dtypes.STRING, float: dtypes.FLOAT}
# Inputs and outputs of each signature, with what the client expects of a new export.
SIGNATURES = {
    name: (
        dict.fromkeys(signature.inputs, _TEXTS),
        {
            output: (_DATA_TYPES[promised.value_type], len(promised.dimensions))
            for output, promised in signature.outputs.items()
        },
    )
    for name, signature in contract.SIGNATURES.items()
}
_INITIALIZATION = "__saved_model_init_op"  # in every SavedModel of TensorFlow 2
LOWEST = np.finfo(np.float32).min  # the score of a slot without a translation
UNKNOWN, END = b"[UNK]", b"</s>"

# Sentences, a blank, what is not UTF-8, a long one.
TEXTS = [
    b"The man will eat.",
    b"She has seen the old cat in Paris, and I have not.",
    b"  ",
    b"a caf\xff",
    b"and the old man " * 9,
]

Run = Callable[[str, Mapping[str, Any]], Mapping[str, np.ndarray]]


def check_contract(
    path: str | Path, reference: "TextModel", open_session: Callable[[str | Path], Any] = CSession
) -> None:
    """Check an export, with TensorFlow's C runtime.

    Args:
        path: a version's folder.
        reference: the model that was exported, with its decoding options.
        open_session: in place of `CSession`.

    Raises:
        AssertionError: it is not what is promised; the text says where.
    """
    for side, text_ids in (("source", "source.vocab"), ("target", "target.vocab")):
        asset = Path(path) / "assets" / text_ids
        assert asset.is_file(), f"the {side} vocabulary is no asset"
    try:
        with open_session(path) as session:
            _check_signatures(session)
            _check_ops(session)
            _check_answers(session.run, Path(path) / "assets", reference)
            _check_description(session, reference)
    except StatusError as error:
        raise AssertionError(f"TensorFlow's C runtime refuses it: {error}") from error


def _check_signatures(session: CSession) -> None:
    signatures = {
        name: (_described(signature.inputs), _described(signature.outputs))
        for name, signature in session.signatures.items()
        if name != _INITIALIZATION
    }
    missing = set(SIGNATURES) - set(signatures)
    known = set(signatures) <= set(SIGNATURES)
    assert known and missing <= {"complete"}, f"the signatures are {sorted(signatures)}"
    for name, described in signatures.items():
        assert described == SIGNATURES[name], f"{name} has {described}, not {SIGNATURES[name]}"


def _described(tensors: Mapping[str, Any]) -> dict[str, tuple[int, int]]:
    """DataType and rank by name, after a look at the first dimension: the batch is of any size."""
    for name, info in tensors.items():
        sizes = [dim.size for dim in info.tensor_shape.dim]
        assert not info.tensor_shape.unknown_rank, f"{name} has no rank"
        assert sizes[0] == -1, f"{name} is of shape {sizes}: the batch comes first, of any size"
    return {name: (info.dtype, len(info.tensor_shape.dim)) for name, info in tensors.items()}


def _check_ops(session: CSession) -> None:
    ops = graph_ops(session.meta_graph)
    foreign = sorted(ops - core_ops()) + sorted(op for op in ops if "PyFunc" in op)
    assert not foreign, f"operations that a model server lacks: {foreign}"


def _check_answers(run: Run, assets: Path, reference: "TextModel") -> None:
    plain = run("serving_default", {"text": TEXTS})
    aligned = run("align", {"text": TEXTS})
    _check_arrays("serving_default", plain)
    _check_arrays("align", aligned)
    _check_plain(plain, reference)
    for name, expected in plain.items():
        _assert_equal(aligned[name], expected, f"align and serving_default differ in {name}")
    _check_alignment(aligned, assets, reference)
    _check_sums(aligned["target_tokens"], aligned["word_scores"], aligned["score"], "align")
    _check_n_best(run, plain, reference)
    _check_scores(run, plain, aligned, reference)


def _check_description(session: CSession, reference: "TextModel") -> None:
    expected = {
        "source_language": reference.config.source_language,
        "target_language": reference.config.target_language,
        "alignment": "attention" if reference.aligner is None else "aligner",
        "completions": "yes" if "complete" in session.signatures else "no",
    }
    for name, texts in session.run("describe", {"text": TEXTS}).items():
        assert texts.tolist() == [expected[name].encode()] * len(TEXTS), f"{name} is {texts}"


def _check_arrays(signature: str, outputs: Mapping[str, np.ndarray]) -> None:
    for name, (data_type, rank) in SIGNATURES[signature][1].items():
        array = outputs[name]
        assert dtypes.data_type(array) == data_type, f"{signature}: {name} is of {array.dtype}"
        assert array.ndim == rank, f"{signature}: {name} has rank {array.ndim}"
        assert len(array) == len(TEXTS), f"{signature}: {name} has {len(array)} rows"


def _check_plain(plain: Mapping[str, np.ndarray], reference: "TextModel") -> None:
    expected = {name: values.numpy() for name, values in reference.best(TEXTS).items()}
    texts = dtypes.strings(expected["text"][:, 0].tolist())
    _assert_equal(plain["translation"], texts, "the translations are not the model's")
    _assert_equal(plain["score"], expected["score"][:, 0], "the scores are not the model's")
    blank = TEXTS.index(b"  ")
    assert plain["translation"][blank] == b"", "a blank text has a translation"
    assert plain["score"][blank] == 0, "a blank text has a score"


def _check_alignment(
    outputs: Mapping[str, np.ndarray], assets: Path, reference: "TextModel"
) -> None:
    sources, targets = _tokens(outputs["source_tokens"]), _tokens(outputs["target_tokens"])
    known = {*(assets / "source.vocab").read_bytes().split(b"\n")}
    assert _tokens(outputs["model_input"]) == [
        [token if token in known else UNKNOWN for token in tokens] for tokens in sources
    ], "the model's input is not its source tokens with [UNK]"
    assert not outputs["left_out"].any(), "tokens of short texts are left out"
    assert sources[0] == [b"The", b"man", b"will", b"eat", b".", END], f"tokens: {sources[0]}"
    for i, (source, target) in enumerate(zip(sources, targets, strict=True)):
        weights = outputs["alignment"][i]
        rows, columns = len(target), len(source)
        padding = np.concatenate([weights[rows:].ravel(), weights[:rows, columns:].ravel()])
        assert not padding.any(), f"the alignment of text {i} is not zero at padding"
        own = weights[:rows, :columns]
        _assert_equal(own.sum(axis=1), np.ones(rows), f"rows of alignment {i} do not sum to 1")
        ids = [
            _ids(assets / file, tokens)
            for file, tokens in (("source.vocab", source), ("target.vocab", target))
        ]
        expected = np.asarray(reference.alignment(*ids))[0]
        _assert_equal(own, expected, f"alignment {i} is not the model's attention")


def _check_sums(words: np.ndarray, scores: np.ndarray, sums: np.ndarray, where: str) -> None:
    """Check that log p of the words, `</s>` included, is log p of the sentence."""
    _tokens(words)
    assert (scores <= 0).all(), f"{where}: a word with a probability above 1"
    assert not scores[words == b""].any(), f"{where}: padding with a score"
    _assert_equal(scores.sum(axis=1), sums, f"{where}: words do not sum to their sentence", 1e-5)


def _tokens(rows: np.ndarray) -> list[list[bytes]]:
    """Each row's tokens, which must end in `</s>` and then in nothing but padding."""
    tokens = []
    for row in rows.tolist():
        assert END in row, f"no {END!r} in {row}"
        size = row.index(END) + 1
        assert not any(row[size:]), f"more than padding after {END!r} in {row}"
        assert all(row[:size]), f"an empty token in {row}"
        tokens.append(row[:size])
    return tokens


def _ids(vocabulary: Path, tokens: Sequence[bytes]) -> np.ndarray:
    """Ids int32 [1, T] by the lines of a vocabulary file."""
    ids = {word: i for i, word in enumerate(vocabulary.read_bytes().split(b"\n"))}
    return np.int32([[ids.get(token, ids[UNKNOWN]) for token in tokens]])


def _check_n_best(run: Run, plain: Mapping[str, np.ndarray], reference: "TextModel") -> None:
    outputs = run("nbest", {"text": TEXTS})
    _check_arrays("nbest", outputs)
    decoding = reference.config.decoding
    blank = TEXTS.index(b"  ")
    for i, (texts, scores, ranks) in enumerate(_rows_of_n_best(outputs)):
        assert len(texts) == decoding.beam_size, f"{len(texts)} candidates of text {i}"
        filled = scores != LOWEST
        assert filled[0], f"no translation of text {i}"
        assert list(filled) == sorted(filled, reverse=True), f"text {i}: an empty slot in between"
        assert not any(texts[~filled]), f"text {i}: an empty slot with a text"
        assert (ranks[~filled] == LOWEST).all(), f"text {i}: an empty slot with a rank"
        assert len(set(texts[filled])) == filled.sum(), f"text {i}: a translation twice"
        assert (np.diff(ranks[filled]) <= 0).all(), f"text {i}: not ranked by normalized_scores"
        assert texts[0] == plain["translation"][i], f"text {i}: the first is not the best"
        _assert_equal(scores[:1], plain["score"][i : i + 1], f"text {i}: the best's score")
        if i == blank:
            assert filled.sum() == 1, "a blank text has several translations"
        elif decoding.length_penalty:
            lengths = (scores / ranks)[filled] ** (1 / decoding.length_penalty)
            _assert_equal(lengths, np.round(lengths), f"text {i}: scores / normalized", 1e-2)
    is_found = outputs["scores"] != LOWEST
    words, word_scores, scores = (outputs[n][is_found] for n in ("words", "word_scores", "scores"))
    _check_sums(words, word_scores, scores, "nbest")
    assert not (outputs["words"] != b"")[~is_found].any(), "an empty slot with words"
    assert not outputs["word_scores"][~is_found].any(), "an empty slot with scores of words"


def _rows_of_n_best(
    outputs: Mapping[str, np.ndarray],
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    names = ("translations", "scores", "normalized_scores")
    return zip(*(outputs[name] for name in names), strict=True)


def _check_scores(
    run: Run,
    plain: Mapping[str, np.ndarray],
    aligned: Mapping[str, np.ndarray],
    reference: "TextModel",
) -> None:
    given = run("score", {"text": TEXTS, "translation": plain["translation"]})
    _check_arrays("score", given)
    scores = given["score"]
    assert scores.dtype == np.float32, f"score is of {scores.dtype}"
    assert np.isfinite(scores).all(), "a score that is not finite"
    # A translation may be read as other tokens than it was written with, [UNK] for one.
    tokens = reference.target.tokenizer.tokenize(plain["translation"]).to_list()
    written = [row[:-1] for row in _tokens(aligned["target_tokens"])]
    same = np.array([a == b for a, b in zip(tokens, written, strict=True)])
    assert same.sum() > 1, "no translation is read as it was written"
    _assert_equal(scores[same], plain["score"][same], "score and serving_default differ")
    _check_sums(given["words"], given["word_scores"], scores, "score")
    pairs = {"text": TEXTS[:1] * 2, "translation": [b"Oui.", b"L'homme a mang\xc3\xa9 ."]}
    sides = (reference.source, pairs["text"]), (reference.target, pairs["translation"])
    expected = reference.score_tokens(
        *(side.tokenizer.tokenize(texts).to_tensor("") for side, texts in sides)
    )
    for output, name in (("score", "score"), ("word_scores", "token_scores")):
        _assert_equal(
            run("score", pairs)[output], expected[name].numpy(), f"{output} is not the model's"
        )


def _assert_equal(actual: Any, expected: Any, what: str, tolerance: float = 1e-4) -> None:
    if np.asarray(expected).dtype == object:
        assert actual.tolist() == expected.tolist(), f"{what}: {actual} and not {expected}"
    else:
        is_near = np.shape(actual) == np.shape(expected) and np.allclose(
            actual, expected, rtol=tolerance, atol=tolerance
        )
        assert is_near, f"{what}: {actual} and not {expected}"
