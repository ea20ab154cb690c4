"""Lexicon learned from attention: the most frequent translations of each source word."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path

from rnnsearch_tf.alignment.links import LinkRule
from rnnsearch_tf.data.parallel_corpus import Corpus, each_pair
from rnnsearch_tf.errors import input_errors
from rnnsearch_tf.files import write_atomically
from rnnsearch_tf.inference.lexicon_file import Lexicon
from rnnsearch_tf.inference.translator import Translator
from rnnsearch_tf.progress import counted
from rnnsearch_tf.results import Alignment

MAX_PAIRS = 50_000
_MIN_LINKS = 2  # a single one is as likely an error of the attention
_MAX_TRANSLATIONS = 10


def lexicon_of(translator: Translator, pairs: Corpus) -> dict[str, tuple[str, ...]]:
    """Align pairs, such as `MAX_PAIRS` of the training text, and learn a lexicon from them."""
    alignments = translator.align_stream(each_pair(pairs))
    return learn_lexicon(counted(alignments, "aligned pair"))


def learn_lexicon(alignments: Iterable[Alignment]) -> dict[str, tuple[str, ...]]:
    """Return up to ten target words that each source word is most often linked to.

    A target word is linked to the source word it attends to most (`LinkRule`), as in Jean et al.
    (2015), On Using Very Large Target Vocabulary, section 3.3. Words linked equally often are in
    code point order. The first translation is the one that replaces [UNK]. It must be linked at
    least twice; if no word is, the first translation is empty.
    """
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for pair in alignments:
        for source, target in LinkRule().links(pair.weights):
            counts[pair.source_tokens[source]][pair.target_tokens[target]] += 1
    return {word: _best(translations) for word, translations in counts.items()}


def _best(counts: Counter[str]) -> tuple[str, ...]:
    best = sorted(counts, key=lambda word: (-counts[word], word))[:_MAX_TRANSLATIONS]
    return tuple(best if counts[best[0]] >= _MIN_LINKS else ["", *best])


def write_lexicon(path: str | Path, lexicon: Lexicon) -> None:
    """Write lines of a source word and its translations, tabs between, in code point order."""
    lines = "".join("\t".join([word, *others]) + "\n" for word, others in sorted(lexicon.items()))
    with input_errors(f"{path}: cannot be written"):
        write_atomically(path, lines.encode())
