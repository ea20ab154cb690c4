"""Training data: sentence pairs as ids, vocabularies, and the settings that they complete."""

import functools
from collections.abc import Iterator, Sequence
from pathlib import Path

from rnnsearch_tf.config import MAX_LENGTH_RATIO, MOSES, Config, TrainingConfig
from rnnsearch_tf.data.batching import count_lengths, length_ratio
from rnnsearch_tf.data.parallel_corpus import Corpus
from rnnsearch_tf.data.preparation import prepare
from rnnsearch_tf.data.prepared_alignments import prepare_alignments
from rnnsearch_tf.data.prepared_corpus import SIDES
from rnnsearch_tf.data.sampled_pairs import SampledPairs
from rnnsearch_tf.data.subwords import find_subwords
from rnnsearch_tf.data.word_alignments import WordAlignmentFiles
from rnnsearch_tf.text.subword_sampling import SubwordSampler
from rnnsearch_tf.text.tokenizers import with_prefixes, word_tokenizers_for
from rnnsearch_tf.text.vocabulary import SPECIAL_TOKENS, Vocabulary

_LONG_TARGET = 1.5  # tokens for each source token: half the default limit of a translation
_MANY = 0.1  # of pairs or tokens


class TrainingData:
    """A corpus as ids, with the vocabularies made from it.

    Attributes:
        config: the given settings, with vocabulary sizes, digests and abbreviations filled in.
        source_vocabulary: of the source tokens.
        target_vocabulary: of the target tokens.
        subwords: contents of the SentencePiece models of both sides; empty if the tokens are words.
        pairs: all pairs, including those that are too long to train on.
        sampled: the pairs with sampled segmentations; None if the text is not resampled.
        links: the word alignments of the pairs; None if none are given.

    Raises:
        InputError: an unusable corpus or cache folder, no pair short enough, unusable alignments.
    """

    def __init__(
        self,
        config: Config,  # its vocabulary sizes are upper bounds
        training: Corpus,
        cache_dir: str | Path | None = None,  # of prepared texts (see `preparation.prepare`)
        links: WordAlignmentFiles | None = None,  # between the pairs' words, to guide the attention
        subwords: Sequence[str | Path] = (),  # SentencePiece models in place of learned ones
        known: Sequence[Vocabulary] = (),  # of both sides, whose words come first
    ):
        config = with_prefixes(config)
        text_digest = training.fingerprint()
        learned = find_subwords(config, training, cache_dir, subwords)
        self.subwords = [tokenizer.model for tokenizer in learned]
        source, target = learned or word_tokenizers_for(config)
        self._prepared = prepare(training, source, target, cache_dir)
        if learned:
            self.source_vocabulary, self.target_vocabulary = (t.vocabulary() for t in learned)
        else:
            first, second = [v.tokens for v in known] or [list(SPECIAL_TOKENS)] * 2
            sizes, text = config.model, self._prepared
            self.source_vocabulary = text.source.vocabulary(sizes.source_vocabulary_size, first)
            self.target_vocabulary = text.target.vocabulary(sizes.target_vocabulary_size, second)
        self.pairs = self._prepared.pairs(self.source_vocabulary, self.target_vocabulary)
        self.sampled = self._sampled(config.training)
        self.links = None
        if links:
            source_starts, target_starts = [t.word_starts() for t in learned] or [None, None]
            self.links = prepare_alignments(
                links,
                self._prepared.folder,
                self.pairs,
                training,
                (source_starts, target_starts),
                splits_further=config.tokenizer == MOSES,
            )
        lengths = count_lengths(self.pairs, config.training.max_length)
        self._ratio = length_ratio(self.pairs, config.training.max_length)
        self._blank, self._kept, self._long = lengths[0], lengths[1:-1].sum(), lengths[-1]
        longest = config.decoding.max_length_ratio  # target tokens for each source token
        if self._ratio > _LONG_TARGET:  # more, where the text has many
            longest = max(longest, min(round(3 * self._ratio, 1), MAX_LENGTH_RATIO.high))
        digests = [tokenizer.digest for tokenizer in learned] or ["", ""]
        self.config = config.with_settings(
            source_vocabulary_size=len(self.source_vocabulary),
            target_vocabulary_size=len(self.target_vocabulary),
            allow_unknown=config.decoding.allow_unknown and not self.subwords,  # they have none
            max_length_ratio=longest,
            source_vocabulary=self.source_vocabulary.digest,
            target_vocabulary=self.target_vocabulary.digest,
            source_subwords=digests[0],
            target_subwords=digests[1],
            training_text=text_digest,
            training_alignments=links.fingerprint() if links else "",
        )

    def _sampled(self, config: TrainingConfig) -> SampledPairs | None:
        """Return the pairs with sampled segmentations; None if the text is not resampled."""
        if not config.draws_text:
            return None
        vocabularies = self.source_vocabulary, self.target_vocabulary
        source, target = self.subwords
        samplers = (
            SubwordSampler(source, config.subword_sampling, config.letter_noise),
            SubwordSampler(target, config.subword_sampling),
        )
        return SampledPairs(self._prepared, vocabularies, samplers, config.max_length)

    @functools.cached_property
    def _shares_of_unknown(self) -> tuple[float, float]:
        """The fraction of each side's tokens that are [UNK], or single bytes of subwords."""
        source, target = self._prepared.source, self._prepared.target
        return source.unknown(self.source_vocabulary), target.unknown(self.target_vocabulary)

    def __str__(self) -> str:
        shares = self._shares_of_unknown
        kind = "unknown or single bytes" if self.subwords else "unknown"
        return (
            f"{self._kept:,} of {len(self.pairs):,} pairs are used ({self._blank:,} have a blank "
            f"side, {self._long:,} have more than {self.config.training.max_length} tokens); "
            f"{' to '.join(self.config.languages)}, {self.config.tokenizer}, "
            f"vocabularies {len(self.source_vocabulary):,} and {len(self.target_vocabulary):,}, "
            f"{kind} {shares[0]:.1%} and {shares[1]:.1%} of all tokens"
        )

    def hints(self) -> Iterator[str]:
        """Yield hints for the log, before the training."""
        yield from self._prepared.problems
        if self._long > _MANY * len(self.pairs):
            share = self._long / len(self.pairs)
            yield f"{share:.0%} of the pairs are too long: a larger --max_length keeps more of them"
        if self._ratio > _LONG_TARGET:
            yield (
                f"the target has {self._ratio:.1f} tokens for each source token: translations may "
                f"have {self.config.decoding.max_length_ratio:g} (max_length_ratio)"
            )
        for name, share in zip(SIDES, self._shares_of_unknown, strict=True):
            if self.subwords and share > _MANY:
                yield (
                    f"{share:.0%} of the {name}'s tokens are unknown or single bytes: the subwords "
                    "lack letters of this text; learn them from it, or more of them (--subwords)"
                )
