"""What a translator gives back."""

import dataclasses

import numpy as np


@dataclasses.dataclass(frozen=True)
class Hypothesis:
    """One translation of a sentence.

    Attributes:
        text: detokenised.
        tokens: its words, `</s>` last; of a blank sentence, `</s>` alone.
        score: log p(y|x) in nats, `</s>` counted.
        normalized_score: score / |y|^length_penalty, by which hypotheses are ranked.
        alignment: α, float32 [Ty, Tx], rows the tokens and columns the source's, both with
            `</s>`; None where it was not asked for.
    """

    text: str
    tokens: tuple[str, ...]
    score: float
    normalized_score: float
    alignment: np.ndarray | None = None


@dataclasses.dataclass(frozen=True)
class Translation:
    """A sentence and its translations.

    Attributes:
        source: the sentence as it was given.
        source_tokens: the words that were read of it, `</s>` last.
        hypotheses: different texts, best first; one at least.
    """

    source: str
    source_tokens: tuple[str, ...]
    hypotheses: tuple[Hypothesis, ...]

    @property
    def text(self) -> str:
        """The best hypothesis's text."""
        return self.hypotheses[0].text

    @property
    def tokens(self) -> tuple[str, ...]:
        """The best hypothesis's tokens."""
        return self.hypotheses[0].tokens

    @property
    def score(self) -> float:
        """The best hypothesis's log p(y|x) in nats."""
        return self.hypotheses[0].score

    @property
    def alignment(self) -> np.ndarray:
        """The best hypothesis's α, [Ty, Tx].

        Raises:
            ValueError: it was not asked for.
        """
        found = self.hypotheses[0].alignment
        if found is None:
            raise ValueError("no alignment: ask for it with return_alignment=True")
        return found


@dataclasses.dataclass(frozen=True)
class Alignment:
    """The soft alignment of a given sentence pair, the target read by teacher forcing.

    Attributes:
        source_tokens: Tx words, `</s>` last.
        target_tokens: Ty words, `</s>` last.
        weights: α, float32 [Ty, Tx]; each row sums to 1.
    """

    source_tokens: tuple[str, ...]
    target_tokens: tuple[str, ...]
    weights: np.ndarray
