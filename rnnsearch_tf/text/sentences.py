"""Lines of several sentences, which are translated one by one."""

import dataclasses
import itertools
import math
import re
from collections.abc import Sequence

from rnnsearch_tf.extras import require_package
from rnnsearch_tf.given_texts import Line, decoded
from rnnsearch_tf.results import Hypothesis, Translation
from rnnsearch_tf.text.unspaced import CHINESE_JAPANESE

# After a word of four letters and marks or more: few abbreviations are that long; or a mark that
# ends nothing else, as in Hindi.
_BEGINNING = re.compile(
    r"(?:[^\s!-@_“”‘’«»…]{4}[.!?…؟][\"'”’»)]*\s|[。！？।۔።။։])[\s\"'“‘«»(¿¡]*([^\W\d_])"
)
# sentencex splits French after these, so "M. Dupont" would be two sentences.
_FRENCH_TITLE = re.compile(r"(?:^|[^\w.])(?:[A-ZÀ-Ý]|Mmes?|Mlles?|Mgr|Dr|Prof|Ste?|art)\.$")
_CHINESE_JAPANESE = re.compile(CHINESE_JAPANESE)


class SentenceSplitter:
    """Splits lines into sentences by the rules of sentencex for a language, such as "en".

    InputError where the package sentencex is not installed.
    """

    def __init__(self, language: str):
        require_package("sentencex")
        import sentencex

        self._segment = sentencex.segment
        self._language = re.split("[-_]", language)[0]  # sentencex does not know de_AT

    def split(self, line: Line) -> list[str]:
        """Return the sentences of a line, at least one, without the spaces around them."""
        text = decoded(line)
        plain = re.sub(r"\s", " ", text)  # sentencex 1.0.32 may panic at other spaces
        is_french = self._language == "fr"
        begins: list[int] = []
        end = 0
        for part in self._segment(self._language, plain):
            if sentence := part.strip():
                begin = plain.index(sentence, end)
                if not (is_french and _FRENCH_TITLE.search(plain[:end])):
                    begins.append(begin)
                end = begin + len(sentence)
        bounds = itertools.pairwise([*begins, len(plain)])
        return [plain[i:j].strip() for i, j in bounds] or [text]


def joined(line: Line, some: Sequence[Translation], length_penalty: float) -> Translation:
    """Join the best translations of the sentences of a line, at least one.

    Tokens and scores of the sentences follow one another, with `</s>` after each. `score` is the
    sum of theirs, `normalized_score` this sum / |y|^length_penalty for all tokens. Fields that a
    server did not send stay empty or None. The text is empty if a score is not finite.
    """
    if len(some) == 1:
        return dataclasses.replace(some[0], source=decoded(line))
    tokens: list[str] = []
    unknown: list[int] = []
    for one in some:
        unknown += (len(tokens) + place for place in one.unknown or ())
        tokens += one.source_tokens
    known = some[0].unknown is not None
    best = _hypothesis([one.hypotheses[0] for one in some], length_penalty)
    return Translation(decoded(line), tuple(tokens), (best,), tuple(unknown) if known else None)


def _hypothesis(some: Sequence[Hypothesis], length_penalty: float) -> Hypothesis:
    score = sum(one.score for one in some)
    length = sum(len(one.pieces or one.tokens) for one in some)
    sequences = {
        name: tuple(x for one in some for x in getattr(one, name))
        for name in ("tokens", "pieces", "word_scores", "piece_scores")
    }
    return dataclasses.replace(
        some[0],
        text=_text([one.text for one in some if one.text]) if math.isfinite(score) else "",
        score=score,
        normalized_score=score / length**length_penalty if length else None,
        **sequences,
    )


def _text(sentences: Sequence[str]) -> str:
    """Join sentences with a space, in Chinese and Japanese without."""
    text = ""
    for sentence in sentences:
        is_next = text.rstrip("”’）")[-1:] in "。！？」』" or _CHINESE_JAPANESE.match(sentence)
        text += sentence if is_next else f" {sentence}"
    return text


def seems_to_have_several(text: str) -> bool:
    """Whether a text seems to have several sentences; none begins with a small letter."""
    return any(not found[1].islower() for found in _BEGINNING.finditer(text))
