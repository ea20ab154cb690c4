"""Results of translation, the same from `Translator` and from `Client`."""

import dataclasses
import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeVar

from rnnsearch_tf.result_html import alignment_svg, result_html

if TYPE_CHECKING:
    import numpy as np  # a client that asks for no alignments does without


_Value = TypeVar("_Value")
_LOWEST = -3.4e38  # scores below it are float32's lowest number


def received_score(score: float) -> float:
    """Read a score from a model's answer, where float32's lowest number stands for −inf.

    Servers answer in JSON, which has no −inf.
    """
    return -math.inf if score < _LOWEST else score


def received_scores(scores: Iterable[float]) -> tuple[float, ...]:
    """Read scores as `received_score` does."""
    return tuple(received_score(float(score)) for score in scores)


def received_weights(weights: "np.ndarray") -> "np.ndarray":
    """Read α, [Ty, Tx], of a model's answer, where a row of zeros stands for NaN; in place."""
    weights[~weights.any(axis=1)] = math.nan
    return weights


@dataclasses.dataclass(frozen=True)
class Hypothesis:
    """One translation of a sentence.

    A `Client` fills what the signature returns: `translate` fills only `text` and `score`; only
    `align` fills `alignment`; only `n_best` and `complete` fill `normalized_score`. A `Translator`
    fills all (`alignment` on request), but `score_words` leaves `normalized_score` None.

    Attributes:
        text: detokenized text.
        tokens: Ty target words, `</s>` last; of a blank sentence, `</s>` alone. Empty where the
            server was not asked for them.
        score: log p(y|x) in nats, `</s>` counted; −inf if no translation has a finite one: weights
            overflow, or none begins with the prefix of `complete`.
        normalized_score: log p(y|x) / |y|^length_penalty in nats, by which hypotheses are ranked;
            None if the server was not asked for it.
        alignment: α, float32 [Ty, Tx], a row for each token and a column for each source token,
            `</s>` included; None if it was not asked for, NaN if it is not finite. Comparisons
            of results ignore it.
        pieces: the subwords that the words are made of, `</s>` last; only from `Translator`, and
            for models whose tokens are subwords.
        word_scores: log p of each of `tokens` given those before it, in nats, `</s>` with its own;
            for a word of several subwords, their sum. They sum to `score`. Empty if a server was
            not asked for them, and for exports of version 0.1.0.
        piece_scores: log p of each of `pieces`, in nats.
    """

    text: str
    tokens: tuple[str, ...]
    score: float
    normalized_score: float | None
    alignment: "np.ndarray | None" = dataclasses.field(default=None, compare=False)
    pieces: tuple[str, ...] = ()
    word_scores: tuple[float, ...] = ()
    piece_scores: tuple[float, ...] = ()

    def __repr__(self) -> str:
        return f"Hypothesis({self.text!r}, {_log_p(self.score)}{_shape(self.alignment)})"


@dataclasses.dataclass(frozen=True)
class Translation:
    """A sentence and its translations.

    Attributes:
        source: the sentence as it was given.
        source_tokens: the Tx tokens of the text that the model read, `</s>` last, as they were
            given; empty where a server was not asked for them.
        hypotheses: different texts, best first; at least one.
        unknown: positions in `source_tokens`, from 0, of unknown tokens: the model read [UNK], or
            the known word that `correct_spelling` found (from a server: only if more than its case
            differs). None if the server did not send them: only `align` does, for exports since
            0.2.
    """

    source: str
    source_tokens: tuple[str, ...]
    hypotheses: tuple[Hypothesis, ...]
    unknown: tuple[int, ...] | None = None

    def __repr__(self) -> str:
        best = self.hypotheses[0]
        more = f", {len(self.hypotheses)} hypotheses" if len(self.hypotheses) > 1 else ""
        return (
            f"Translation({self.source!r} → {best.text!r}, {_log_p(best.score)}{more}"
            f"{_shape(best.alignment)})"
        )

    def _repr_html_(self) -> str:
        best = self.hypotheses[0]
        return result_html(
            self.source,
            list(dict.fromkeys(self.source_tokens[position] for position in self.unknown or ())),
            [(hypothesis.text, _ranking(hypothesis)) for hypothesis in self.hypotheses],
            ""
            if best.alignment is None
            else alignment_svg(self.source_tokens, best.tokens, best.alignment),
        )

    @property
    def text(self) -> str:
        """The text of the best hypothesis."""
        return self.hypotheses[0].text

    @property
    def score(self) -> float:
        """The best hypothesis's log p(y|x) in nats."""
        return self.hypotheses[0].score

    @property
    def tokens(self) -> tuple[str, ...]:
        """The tokens of the best hypothesis; ValueError if a server was not asked for them."""
        tokens = self.hypotheses[0].tokens or None
        return _given(tokens, "no tokens: with a server, use Client.align")

    @property
    def normalized_score(self) -> float:
        """The best hypothesis's log p(y|x) / |y|^length_penalty in nats; ValueError likewise."""
        score = self.hypotheses[0].normalized_score
        return _given(score, "no normalized score: with a server, use Client.n_best")

    @property
    def word_scores(self) -> tuple[float, ...]:
        """Log p of each of `tokens`, in nats; ValueError if a server was not asked for them."""
        scores = self.hypotheses[0].word_scores or None
        return _given(scores, "no word scores: with a server, use Client.n_best")

    @property
    def alignment(self) -> "np.ndarray":
        """The best hypothesis's α, float32 [Ty, Tx]; ValueError if it was not asked for."""
        return _given(
            self.hypotheses[0].alignment,
            "no alignment: use return_alignment=True or, with a server, Client.align",
        )


@dataclasses.dataclass(frozen=True, eq=False)
class Alignment:
    """The soft alignment of a given sentence pair, the target read by teacher forcing.

    Attributes:
        source_tokens: Tx tokens, `</s>` last.
        target_tokens: Ty tokens, `</s>` last.
        weights: α, float32 [Ty, Tx]; each row sums to 1, or is NaN if it is not finite.
        unknown_source: positions in `source_tokens`, from 0, of unknown tokens; as
            `Translation.unknown`.
        unknown_target: likewise in `target_tokens`.
    """

    source_tokens: tuple[str, ...]
    target_tokens: tuple[str, ...]
    weights: "np.ndarray"
    unknown_source: tuple[int, ...] = ()
    unknown_target: tuple[int, ...] = ()

    def __repr__(self) -> str:
        source, target = (" ".join(t) for t in (self.source_tokens, self.target_tokens))
        return f"Alignment({source!r} → {target!r}{_shape(self.weights)})"

    def _repr_html_(self) -> str:
        return alignment_svg(self.source_tokens, self.target_tokens, self.weights)


def _given(value: _Value | None, missing: str) -> _Value:
    if value is None:
        raise ValueError(missing)
    return value


def _log_p(score: float) -> str:
    return f"log p {score:.2f}"


def _ranking(hypothesis: Hypothesis) -> str:
    """Show the score, and the one that ranks hypotheses where a length penalty makes it differ."""
    ranked = hypothesis.normalized_score
    is_other = ranked is not None and ranked != hypothesis.score
    return f"{_log_p(hypothesis.score)} nats" + (f", ranked by {ranked:.2f}" if is_other else "")


def _shape(weights: "np.ndarray | None") -> str:
    return "" if weights is None else ", α {}×{}".format(*weights.shape)
