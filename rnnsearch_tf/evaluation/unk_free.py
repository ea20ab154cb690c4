"""Unknown words: sentences without them, the paper's column "No UNK", and texts full of them."""

from collections.abc import Mapping, Sequence

from rnnsearch_tf.data.sentence_pairs import tokenize
from rnnsearch_tf.evaluation.metrics import Reference, reference_sets
from rnnsearch_tf.inference.translator import Translator
from rnnsearch_tf.text.composed_form import problem_of_form
from rnnsearch_tf.text.subwords import ids_of_the_unknown
from rnnsearch_tf.text.tokenizers import Tokenizer, splits_words
from rnnsearch_tf.text.vocabulary import UNK, Vocabulary

_FIRST = 256  # sentences of a text that tell its language
_MIN_TOKENS = 30  # in them
_MANY = 0.4  # share of them; measured on Europarl and Multi30k: 0.5–3%, sides swapped: 45–76%


def unk_free_sentences(
    translator: Translator, sources: Sequence[str], references: Sequence[Reference]
) -> list[int]:
    """Select the sentences without [UNK] in themselves and in any reference (section 5.1).

    Returns their indices, from 0, ascending.
    """
    tokenizers = translator.source_tokenizer, translator.target_tokenizer
    source, target = zip(tokenizers, translator.vocabularies, strict=True)
    texts = [_ids(sources, *source), *(_ids(x, *target) for x in reference_sets(references))]
    return [i for i, rows in enumerate(zip(*texts, strict=True)) if not any(UNK in r for r in rows)]


def unknown_word_problems(
    texts: Mapping[str, Sequence[str]],
    tokenizers: Sequence[Tokenizer],
    vocabularies: Sequence[Vocabulary],
) -> list[str]:
    """Return warnings about texts whose words a model may not know.

    These are texts with more than 40% of the first sentences' tokens unknown, or single bytes of
    subwords, and, for a model of words, those in which `problem_of_form` finds a line. The texts,
    by name, are the source, and the target if there is one.
    """
    problems = []
    sides = zip(tokenizers, vocabularies, strict=True)
    for (name, lines), side in zip(texts.items(), sides, strict=False):
        if not splits_words(side[0]) and (problem := problem_of_form(lines)):
            problems.append(f"{name}: {problem}")
        rows = _ids(lines[:_FIRST], *side)
        tokens = sum(len(row) - 1 for row in rows)  # without </s>
        lacking = set(ids_of_the_unknown(side[1]))
        unknown = sum(i in lacking for row in rows for i in row)
        kind, said = "words", "are unknown to the model"
        if splits_words(side[0]):
            kind, said = "tokens", "are unknown or single bytes"
        if tokens >= _MIN_TOKENS and unknown > _MANY * tokens:
            problems.append(
                f"{unknown / tokens:.0%} of the {kind} of {name} {said}: are "
                "source and target swapped, is it in another language, or not tokenized as the "
                "training text was?"
            )
    return problems


def _ids(lines: Sequence[str], tokenizer: Tokenizer, vocabulary: Vocabulary) -> list[list[int]]:
    """Return each sentence's tokens as ids, with that of `</s>`."""
    sentences = tokenize(lines, tokenizer).to_list()
    return [vocabulary.encode(sentence) for sentence in sentences]
