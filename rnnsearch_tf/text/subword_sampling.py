"""Segmentations of text into subwords, drawn at random, and typing errors before them."""

import itertools
import random
import re
import threading
import unicodedata
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

from rnnsearch_tf.errors import InputError
from rnnsearch_tf.extras import require_package
from rnnsearch_tf.text.unspaced import UNSPACED

_SEEDING = threading.Lock()
_UNSPACED = re.compile(UNSPACED)
_SHORTEST = 4  # letters


class SubwordSampler:
    """Draws segmentations by their probability to the power of α (Kudo 2018, section 3.2).

        P(x|X) ∝ p(x)^α     x: one of all segmentations of the text X

    Where the model is of byte pairs, α is the probability that a merge is left out (Provilkov et
    al. 2020). InputError for a model of whole words or characters, and where
    sentencepiece is not installed.
    """

    def __init__(
        self,
        model: bytes,  # the content of a SentencePiece model file
        alpha: float,  # α; 0: the most probable segmentation
        letter_noise: float = 0.0,  # share of words in which two letters are exchanged first
    ):
        require_package("sentencepiece")
        import sentencepiece

        self._set_seed = sentencepiece.set_random_generator_seed
        self._processor = sentencepiece.SentencePieceProcessor(model_proto=model)
        self._alpha = alpha
        self._noise = letter_noise
        try:
            self._segment("a")
        except RuntimeError as error:
            raise InputError("subwords can be sampled from unigram and BPE models only") from error

    def draw(self, rows: Sequence[Sequence[str]], seed: int) -> list[Sequence[str]]:
        """Draw a segmentation of each text, whose pieces are given; 0 ≤ seed < 2³² − 1.

        A text keeps its pieces if the model would change it by normalizing it again.
        """
        # A thread draws by the seed that was last set before its first draw.
        with _SEEDING, ThreadPoolExecutor(1) as fresh_thread:
            self._set_seed(seed)
            numbers = random.Random(seed)
            drawn = fresh_thread.submit(lambda: [self._draw(row, numbers) for row in rows])
            return drawn.result()

    def _draw(self, pieces: Sequence[str], random_numbers: random.Random) -> Sequence[str]:
        text = self._processor.decode(list(pieces))
        if self._noise:
            text = exchange_letters(text, self._noise, random_numbers)
        drawn = self._segment(text)
        return drawn if self._processor.decode(drawn) == text else pieces

    def _segment(self, text: str) -> list[str]:
        # -1: from all segmentations.
        return self._processor.encode(
            text, out_type=str, enable_sampling=self._alpha > 0, nbest_size=-1, alpha=self._alpha
        )


def exchange_letters(text: str, share: float, random_numbers: random.Random) -> str:
    """Swap two adjacent inner letters in about this share of the words of a text.

    Words of fewer than four letters are never changed, so longer ones are changed more often. The
    first and the last letter of a word, and the order of the words, stay. A letter keeps its marks.
    Scripts without spaces are not changed.
    """
    words = len(text.split())
    letters = _letters(text)
    spans = [*_spans(letters)]
    count = int(share * words + random_numbers.random())  # on average, the share
    for start, end in random_numbers.sample(spans, min(count, len(spans))):
        i = random_numbers.randrange(start + 1, end - 2)
        letters[i], letters[i + 1] = letters[i + 1], letters[i]
    return "".join(letters)


def _letters(text: str) -> list[str]:
    """Split a text into characters, each with the marks behind it."""
    letters: list[str] = []
    for char in text:
        if letters and unicodedata.category(char).startswith("M"):
            letters[-1] += char
        else:
            letters.append(char)
    return letters


def _spans(letters: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Find the words that are long enough: where they start and end."""
    end = 0
    for is_word, run in itertools.groupby(letters, _is_letter):
        start, end = end, end + len([*run])
        if is_word and end - start >= _SHORTEST:
            yield start, end


def _is_letter(letter: str) -> bool:
    return letter[0].isalpha() and not _UNSPACED.match(letter)
