"""Segmentations of text into subwords, drawn at random."""

import functools
import itertools
import math
import random
import re
from collections.abc import Iterable, Sequence

from rnnsearch_tf.errors import InputError
from rnnsearch_tf.text.letter_noise import exchange_letters
from rnnsearch_tf.text.subword_model_pb2 import SubwordModel
from rnnsearch_tf.text.subwords import BLANK, cross_spaces

_WORD = re.compile(f"{BLANK}[^{BLANK}]*|[^{BLANK}]+")
_KNOWN_WORDS = 1 << 13  # of which each takes about 3 kB


class SubwordSampler:
    """Draws segmentations by their probability to the power of α (Kudo 2018, section 3.2).

        P(x|X) ∝ p(x)^α,  p(x) = Π_i p(x_i)     x: one of all segmentations of the text X

    Where the model is of byte pairs, α is the probability that a merge is left out (Provilkov et
    al. 2020). Draws depend on the seed alone; those of sentencepiece 0.2.2 and 0.2.3 differ from
    process to process. InputError for a model of whole words or characters.
    """

    def __init__(
        self,
        model: bytes,  # the content of a SentencePiece model file
        alpha: float,  # α; 0: the given segmentation
        letter_noise: float = 0.0,  # share of words in which two letters are exchanged first
    ):
        import sentencepiece

        read = SubwordModel.FromString(model)
        kind, kinds = read.trainer_spec.model_type, SubwordModel.TrainerSpec
        if kind not in (kinds.UNIGRAM, kinds.BPE):
            raise InputError("subwords can be sampled from unigram and BPE models only")
        self._segment = self._sample if kind == kinds.UNIGRAM else self._merge
        # The others stay as they are: bytes, and symbols that a user has defined.
        normal = [piece for piece in read.pieces if piece.type == piece.NORMAL]
        self._scores = {piece.piece: piece.score for piece in normal}  # ln p, or −rank of a merge
        self._longest = max(map(len, self._scores), default=0)
        self._words = (lambda text: [text]) if cross_spaces(self._scores) else _WORD.findall
        self._lattice = functools.lru_cache(_KNOWN_WORDS)(self._filter_forward)
        self._processor = sentencepiece.SentencePieceProcessor(model_proto=model)
        self._alpha = alpha
        self._noise = letter_noise

    def draw(self, rows: Iterable[Sequence[str]], seed: int) -> list[Sequence[str]]:
        """Draw a segmentation of each text, of which one is given.

        With letter noise, a text keeps its pieces if the model would change it by normalizing it
        again.
        """
        numbers = random.Random(seed)
        return [self._draw(row, numbers) for row in rows]

    def _draw(self, pieces: Sequence[str], numbers: random.Random) -> Sequence[str]:
        if self._noise:
            text = exchange_letters(self._processor.decode(list(pieces)), self._noise, numbers)
            noisy = self._processor.encode(text, out_type=str)
            pieces = noisy if self._processor.decode(noisy) == text else pieces
        if not self._alpha:
            return pieces
        drawn: list[str] = []
        for is_normal, some in itertools.groupby(pieces, self._scores.__contains__):
            run = list(some)
            if is_normal:
                words = self._words("".join(run))
                new = [piece for word in words for piece in self._segment(word, numbers)]
                run = new if all(piece in self._scores for piece in new) else run
            drawn += run
        return drawn

    def _filter_forward(self, word: str) -> list[tuple[list[int], list[float]]]:
        """Return where the piece before each end may start, and cumulative weights of the starts.

        With a_0 = 1, the weights are a_s p(word[s:e])^α, and their sum is a_e.
        """
        table: list[tuple[list[int], list[float]]] = []
        logarithms = [0.0]  # ln a_e
        for end in range(1, len(word) + 1):
            weights = {
                start: logarithms[start] + self._alpha * self._scores[word[start:end]]
                for start in range(max(0, end - self._longest), end)
                if word[start:end] in self._scores and logarithms[start] > -math.inf
            }
            most = max(weights.values(), default=0.0)
            sums = list(itertools.accumulate(math.exp(w - most) for w in weights.values()))
            logarithms.append(most + math.log(sums[-1]) if sums else -math.inf)
            table.append((list(weights), sums))
        return table

    def _sample(self, word: str, numbers: random.Random) -> list[str]:
        """Draw a segmentation of a unigram model, from the last piece to the first."""
        table = self._lattice(word)
        pieces, end = [], len(word)
        while end:
            starts, sums = table[end - 1]
            (start,) = numbers.choices(starts, cum_weights=sums)
            pieces.append(word[start:end])
            end = start
        return pieces[::-1]

    def _merge(self, word: str, numbers: random.Random) -> list[str]:
        """Merge byte pairs, leaving out each possible merge of each step with probability α."""
        pieces = list(word)
        while True:
            pairs = enumerate(map("".join, itertools.pairwise(pieces)))
            merges = [
                (self._scores[pair], -place)
                for place, pair in pairs
                if pair in self._scores and numbers.random() >= self._alpha
            ]
            if not merges:
                return pieces
            place = -max(merges)[1]
            pieces[place : place + 2] = ["".join(pieces[place : place + 2])]
