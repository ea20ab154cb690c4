"""n-gram language models with Kneser-Ney smoothing, counted and interpolated by NLTK."""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from nltk.lm import NgramCounter, Vocabulary
from nltk.lm.models import InterpolatedLanguageModel
from nltk.lm.smoothing import AbsoluteDiscounting

from rnnsearch_tf.errors import InputError

UNK = "<UNK>"
_BEGIN, _END = "<s>", "</s>"
_DISCOUNT = 0.75


def frequent_words(sentences: Iterable[Sequence[str]]) -> frozenset[str]:
    """Return the words that occur twice or more."""
    counts = Counter(word for sentence in sentences for word in sentence)
    return frozenset(word for word, count in counts.items() if count >= 2)


class NgramModel:
    """p(w | n − 1 tokens before it) in a closed vocabulary, by interpolated Kneser-Ney smoothing.

        p(w | v u) = max(c(v u w) − D, 0) / c(v u ·) + D · N(v u ·) / c(v u ·) · p(w | u)

    N(v u ·) is the number of different tokens after v u. c of the longest n-grams, and of those
    that begin with `<s>`, is the number of times they occur; c of shorter ones is the number of
    different tokens before them, plus 1 for a single word, so that every word of the vocabulary has
    a probability. D is 0.75 throughout. Over the vocabulary, UNK and `</s>`, the probabilities add
    up to 1.

    Source: Chen & Goodman (1998), An Empirical Study of Smoothing Techniques for Language Modeling;
    their modified smoothing has a D for each order and small count instead. The vocabulary need not
    occur in the sentences; any other token is UNK. InputError for more different n-grams than NLTK
    allows.
    """

    def __init__(self, sentences: Iterable[Sequence[str]], words: Collection[str], order: int):
        self._words = words
        self._order = order
        try:
            counts = _kneser_ney_counts(map(self.ngrams, sentences), words, order)
        except ValueError as error:  # NLTK's limit, which protects memory
            raise InputError(
                f"too much text for a language model of order {order} (more different n-grams than "
                "NLTK counts): give less in-domain text or a lower order"
            ) from error
        self._model = InterpolatedLanguageModel(
            _Discounting, order, vocabulary=Vocabulary(words), counter=counts,
            params={"discount": _DISCOUNT},
        )  # fmt: skip

    def ngrams(self, sentence: Sequence[str]) -> list[tuple[str, ...]]:
        """Return the n-gram that ends in each token and in `</s>`; shorter after `<s>`."""
        words, n = self._words, self._order
        row = (_BEGIN, *(word if word in words else UNK for word in sentence), _END)
        return [row[max(0, i + 1 - n) : i + 1] for i in range(1, len(row))]

    def knows(self, context: tuple[str, ...]) -> bool:
        """Whether any token occurs after this context."""
        return not context or context in self._model.counts[len(context) + 1]

    def log_probability(self, ngram: tuple[str, ...]) -> float:
        """Return log p of an n-gram's last token given those before it, in nats."""
        context = ngram[:-1]
        while not self.knows(context):  # NLTK would add each unknown context to its table
            context = context[1:]
        return math.log(self._model.unmasked_score(ngram[-1], context))


class _Discounting(AbsoluteDiscounting):
    """NLTK's, without counting the followers of a context again on each call."""

    def alpha_gamma(self, word: str, context: tuple[str, ...]) -> tuple[float, float]:
        followers = self.counts[context]
        total = followers.N()
        alpha = max(followers[word] - self.discount, 0.0) / total
        return alpha, self.discount * len(followers) / total


def _kneser_ney_counts(
    text: Iterable[list[tuple[str, ...]]], words: Collection[str], order: int
) -> NgramCounter:
    counts = NgramCounter(text)
    for n in range(order, 1, -1):
        ngrams = counts[n].items()  # each is counted once, without its first token
        counts.update([(*context[1:], word) for word in followers] for context, followers in ngrams)
    counts.update([[(word,) for word in (*words, UNK, _END)]])
    return counts
