"""Built-in English-French corpus: sentences, translations and gold word alignments.

A small synchronous grammar says the same thing in both languages at once: rules.txt, verbs.txt and
tenses.txt are its rules, nouns.txt and adjectives.txt its words. It has what makes the order of
words differ (adjectives that swap sides, pronouns that climb over the verb, negation in two words)
and what makes the words themselves differ (agreement, elision, contraction, tenses). The French
sentence is a function of the English one. Lengths are in Moses tokens of the longer side.

The alignment is what a careful annotator would draw, with few links: a word to its translation; a
contraction to both its sources (*du* to "of" and "the"); "not" to both *ne* and *pas*; "have eaten"
to *ai mangé* word by word, but "will eat" both to *mangera*, and "ate" to both *ai* and *mangé*;
"to" to *à* or *de*, else to the infinitive. No word of either side is left without a link.
"""

import random
from collections.abc import Iterator

from rnnsearch_tf.synthetic.derivation import Derivation, Scope
from rnnsearch_tf.synthetic.sentence_pair import SentencePair, finish

__all__ = ["SentencePair", "generate"]

_MIN_TOKENS = 3


def generate(
    count: int, seed: int, min_length: int = 1, max_length: int = 30
) -> Iterator[SentencePair]:
    """Generate sentence pairs whose lengths are about evenly spread between the bounds.

    The length of a pair is that of its longer side in tokens. The k-th pair of a seed and bounds
    does not depend on `count`. ValueError, before the first pair: the bounds leave no room.
    """
    low, high = max(min_length, _MIN_TOKENS), max_length
    if high < low:
        raise ValueError(
            f"no sentence has {min_length} to {max_length} tokens; the shortest have {_MIN_TOKENS}"
        )
    generator = random.Random(f"{seed} {low} {high}")
    lengths = range(max(low, min(4, high)), high + 2)
    for _ in range(count):
        wanted = generator.choices(lengths)[0]
        length = 0
        while not low <= length <= high:
            phrase = Derivation(generator).expand("TEXT", Scope(), wanted)
            made = finish(*phrase.sides)
            length = max(len(made.source_tokens), len(made.target_tokens))
        yield made
