"""Selection of in-domain sentence pairs by their bilingual cross-entropy difference.

Source: Axelrod, He & Gao (2011), Domain Adaptation via Pseudo In-Domain Data Selection, after
Moore & Lewis (2010), Intelligent Selection of Language Model Training Data.
"""

import functools
import itertools
from collections.abc import Iterable, Sequence

import numpy as np

from rnnsearch_tf.config import MOSES
from rnnsearch_tf.data.parallel_corpus import Corpus, ParallelText, checked_blocks, read_all
from rnnsearch_tf.data.sampling import two_samples
from rnnsearch_tf.data.selection.ngram_model import NgramModel, frequent_words
from rnnsearch_tf.data.selection.pairs import pair_digest
from rnnsearch_tf.data.sentence_pairs import tokenize
from rnnsearch_tf.errors import InputError
from rnnsearch_tf.progress import counted
from rnnsearch_tf.text.tokenizers import Tokenizer, tokenizer_for

_CACHED_NGRAMS = 1 << 19  # of each side and sample, about 0.2 GB

Tokens = Sequence[str]


class EntropyDifference:
    """Cross-entropy of a sentence under in-domain text, minus that under the pool.

        H_in(s) − H_pool(s),   H_m(s) = −1/(|s| + 1) · Σ_i log p_m(s_i | s_1 … s_{i−1})

    in nats per token, `</s>` counted; the lower, the more in-domain. Both models have one
    vocabulary and one order.
    """

    def __init__(self, in_domain: NgramModel, pool: NgramModel):
        self._in_domain = in_domain
        self._pool = pool
        self._of_ngram = functools.lru_cache(_CACHED_NGRAMS)(self._difference)

    def __call__(self, sentence: Tokens) -> float:
        """Return the difference for a sentence, in nats per token; inf without tokens."""
        if not sentence:
            return float("inf")
        differences = [self._of_ngram(ngram) for ngram in self._in_domain.ngrams(sentence)]
        return sum(differences) / len(differences)

    def _difference(self, ngram: tuple[str, ...]) -> float:
        """Return log p_pool − log p_in of the last token."""
        context = ngram[:-1]
        if not (self._in_domain.knows(context) or self._pool.knows(context)):
            return self._of_ngram(ngram[1:])
        return self._pool.log_probability(ngram) - self._in_domain.log_probability(ngram)


def entropy_differences(
    in_domain: Iterable[Tokens], pools: Iterable[Iterable[Tokens]], order: int
) -> list[EntropyDifference]:
    """Return the difference of a domain from each sample of the pool, for one language.

    Their common vocabulary is the words that occur twice or more in the in-domain text.
    """
    in_domain = [sentence for sentence in in_domain if sentence]
    words = frequent_words(in_domain)
    if not words:
        raise InputError("the in-domain text is too small: no word occurs twice")
    inside = NgramModel(in_domain, words, order)
    return [
        EntropyDifference(inside, NgramModel((s for s in pool if s), words, order))
        for pool in pools
    ]


class PairScorer:
    """Bilingual cross-entropy difference of the pairs of a pool.

        [H_in(s) − H_pool(s)] + [H_in(t) − H_pool(t)]

    H_pool is under a model of a sample of the pool. A pair that is in the sample, or equals one in
    it, is scored under a second sample instead: the first model has learned this pair and finds it
    far too likely, so the pair would never be chosen. InputError for too little in-domain text, or
    too much.
    """

    def __init__(
        self,
        in_domain: ParallelText,
        samples: tuple[ParallelText, ParallelText],  # of the pool
        languages: tuple[str, str],  # of source and target, for Moses' rules
        order: int,  # n of the n-gram models
    ):
        self._tokenizers = [tokenizer_for(MOSES, language) for language in languages]
        self._learned = {pair_digest(*pair) for pair in zip(*samples[0], strict=True)}
        self._models = [
            entropy_differences(
                _tokens(in_domain[side], tokenizer),
                (_tokens(sample[side], tokenizer) for sample in samples),
                order,
            )
            for side, tokenizer in enumerate(self._tokenizers)
        ]

    def __call__(self, pairs: ParallelText) -> np.ndarray:
        """Score pairs; inf where a side is blank."""
        in_first = [pair_digest(*pair) in self._learned for pair in zip(*pairs, strict=True)]
        scores: np.ndarray = np.zeros(len(in_first))
        for lines, tokenizer, differences in zip(
            pairs, self._tokenizers, self._models, strict=True
        ):
            for row, sentence in enumerate(_tokens(lines, tokenizer)):
                scores[row] += differences[1 if in_first[row] else 0](sentence)
        return scores


def score_pairs(
    in_domain: Corpus,
    pool: Corpus,
    languages: tuple[str, str] = ("en", "fr"),
    order: int = 3,
    seed: int = 1,
) -> np.ndarray:
    """Score each pair of a pool (see `PairScorer`); the pool is read twice.

    The samples have as many pairs as the in-domain text, or half the pool's if that is less. The
    in-domain text, the samples and the scores are kept in memory.
    """
    text = read_all(in_domain)
    first, second, count = two_samples(pool, len(text.source), seed)
    scorer = PairScorer(text, (first, second), languages, order)
    blocks = counted(checked_blocks(pool), "scored pair", count, lambda block: len(block.source))
    return np.fromiter(itertools.chain.from_iterable(map(scorer, blocks)), np.float64)


def best_pairs(scores: np.ndarray, keep: int, candidates: np.ndarray | None = None) -> np.ndarray:
    """Choose up to `keep` pairs with the lowest scores, float [N]: rows, int64, ascending.

    Of equal scores, the first are chosen. `candidates`, bool [N], marks the pairs that may be
    chosen; a score that is not finite never is.
    """
    order = np.argsort(scores, kind="stable")
    allowed = np.isfinite(scores) if candidates is None else np.isfinite(scores) & candidates
    return np.sort(order[allowed[order]][:keep])


def _tokens(lines: Sequence[str], tokenizer: Tokenizer) -> list[list[str]]:
    return [[token.decode() for token in row] for row in tokenize(lines, tokenizer).to_list()]
