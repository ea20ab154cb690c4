"""Translation in Python: sentences in, typed results out."""

# To a type checker, a str might as well be a sequence of them.
# mypy: disable-error-code="overload-overlap"

import dataclasses
import functools
import itertools
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from numbers import Integral
from typing import Any, overload

import tensorflow as tf

from rnnsearch_tf import given_texts
from rnnsearch_tf.aligner.hmm_aligner import HmmAligner
from rnnsearch_tf.config import AlignmentName, Config, DecodingConfig, check_names
from rnnsearch_tf.data.sentence_pairs import tokenize
from rnnsearch_tf.errors import InputError, input_errors
from rnnsearch_tf.files import Paths, as_list
from rnnsearch_tf.given_texts import Line, Target, decoded, each_line, each_pair
from rnnsearch_tf.inference import exported
from rnnsearch_tf.inference.loading import load_export, load_text_model
from rnnsearch_tf.inference.n_best import read_translations
from rnnsearch_tf.inference.side_by_side import map_parts, side_by_side
from rnnsearch_tf.inference.text_model import MAX_WEIGHTS, TextModel
from rnnsearch_tf.inference.words import Side, Words, decoded_with_end, in_words, tokens_of_pairs
from rnnsearch_tf.models.ensemble import Ensemble
from rnnsearch_tf.models.model_directory import BEST
from rnnsearch_tf.models.translation_model import TranslationModel
from rnnsearch_tf.progress import counted
from rnnsearch_tf.results import (
    Alignment,
    Hypothesis,
    Translation,
    received_scores,
    received_weights,
)
from rnnsearch_tf.terminal import printable
from rnnsearch_tf.text.sentences import SentenceSplitter, joined
from rnnsearch_tf.text.tokenizers import Tokenizer, tokenizers_for
from rnnsearch_tf.text.vectorizer import padded, ragged
from rnnsearch_tf.text.vocabulary import EOS, SPECIAL_TOKENS, Vocabulary
from rnnsearch_tf.windows import text_windows

LINES_AT_ONCE = 256  # sorted by length and searched together
_PAIRS_AT_ONCE = 64  # likewise; α is kept for each

Lines = Line | Sequence[Line]
Targets = Target | Sequence[Target]


class Translator:
    """Translates with trained models, or with an export of them.

    Examples:
        >>> from rnnsearch_tf.inference.translator import Translator
        >>> translator = Translator.load(MODEL_DIR)
        >>> result = translator.translate("The man will eat.", return_alignment=True)
        >>> type(result.text), result.tokens[-1], result.score < 0
        (<class 'str'>, '</s>', True)
        >>> result.alignment.shape == (len(result.tokens), len(result.source_tokens))
        True

    Lists are processed in windows of a few hundred lines, in parts of similar length; results come
    in the order of the input. If TensorFlow runs each operation on one thread
    (`tf.config.threading.set_intra_op_parallelism_threads(1)`), parts of a window are translated
    in parallel, one on each core. For iterators of any length, use the methods that end in
    `_stream`, which hold one window at a time. If their input raises an error, the results of all
    lines before it come first.

    Attributes:
        config: languages and decoding options.
        source_tokenizer, target_tokenizer: text to the tokens of the model.
        vocabularies: of source and target.
        aligns: whether `align` has something to align by: attention or an aligner.
    """

    def __init__(
        self,
        engine: Any,  # a `TextModel`, or a SavedModel of one
        config: Config,
        tokenizers: tuple[Tokenizer, Tokenizer],
        vocabularies: tuple[Vocabulary, Vocabulary],
        with_decoding: Callable[[DecodingConfig], TextModel] | None = None,  # None for an export
        origin: str = "memory",  # where the engine was loaded from
        aligns: bool = True,
    ):
        self.config = config
        self.vocabularies = vocabularies
        self.source_tokenizer, self.target_tokenizer = tokenizers
        source, target = map(Side, tokenizers, vocabularies)
        self._sides = source, target
        self._engine = engine
        # Tracing a search takes seconds: engines for other options are kept.
        self._with_decoding = with_decoding and functools.lru_cache(maxsize=4)(with_decoding)
        self._origin = origin
        self._process = os.getpid()
        self.aligns = aligns

    def __repr__(self) -> str:
        config, (source, target) = self.config, self.vocabularies
        return printable(
            f"Translator({config.model.architecture}, "
            f"{config.source_language} → {config.target_language}, "
            f"{len(source):,} → {len(target):,} tokens, beam {config.decoding.beam_size}, "
            f"from {self._origin})"
        )

    def __reduce__(self) -> Any:
        raise TypeError("a Translator cannot be copied or pickled: load it once more")

    @classmethod
    def load(
        cls,
        path: Paths,
        decoding: DecodingConfig | None = None,
        weights: str = BEST,
        alignment: AlignmentName | None = None,
    ) -> "Translator":
        """Read a model directory, several as an ensemble, or an export.

        Args:
            path: a model directory; a list of them, with the first one's languages and decoding
                options; "europarl-en-fr", the pretrained model; or an export, a version's folder or
                the folder of versions, whose highest is used.
            decoding: all options, instead of the model's own (`with_options` changes some of
                them); an export always has its own.
            weights: "best" or "last"; an export has one set, and refuses "last".
            alignment: source of the alignments, "attention" or the "aligner" that
                `rnnsearch-aligner` has written; None: the (first) model's aligner if it has
                one. An export always has its own.

        Raises:
            InputError: a directory is absent, incomplete or damaged, has other vocabularies than
                the first, lacks the requested aligner, or is an export that was made with
                other options.
        """
        paths = as_list(path)
        version = exported.find_version(paths[0]) if len(paths) == 1 else None
        if version is None:
            origin = ", ".join(map(str, paths))
            return cls.of(load_text_model(paths, decoding, weights, alignment=alignment), origin)
        export = exported.Export(version)
        export.check_options(decoding, alignment, weights)
        # Making subword tokenizers loads the operations that the graph needs.
        tokenizers = tokenizers_for(export.config, version / exported.SUBWORDS)
        vocabularies = export.load_vocabularies()
        return cls(
            load_export(export),
            export.config,
            tokenizers,
            vocabularies,
            origin=str(version),
            aligns=export.aligns,
        )

    @classmethod
    def of(cls, text_model: TextModel, origin: str = "memory") -> "Translator":
        """Return a translator that runs a model in memory."""
        source, target = text_model.source, text_model.target
        return cls(
            text_model,
            text_model.config,
            (source.tokenizer, target.tokenizer),
            (source.vocabulary, target.vocabulary),
            text_model.with_decoding,
            origin,
            text_model.aligner is not None or text_model.model.has_attention,
        )

    def prepare(self) -> None:
        """Precompute what every search needs from the model's weights, to translate much text.

        Call it before the first search, and only if the weights no longer change. For each model,
        it takes 0.1 s and, until the process ends, at most the memory of the decoder's weights plus
        64 MiB; other `candidate_words` and `bfloat16` take this again. It does nothing for exports.
        """
        if isinstance(self._engine, TextModel):
            self._engine.prepare()

    @property
    def model(self) -> TranslationModel | Ensemble | None:
        """The model in memory, or the ensemble; None for an export."""
        return self._engine.model if isinstance(self._engine, TextModel) else None

    @property
    def aligner(self) -> HmmAligner | None:
        """The aligner in memory; None if attention aligns, and for an export."""
        return self._engine.aligner if isinstance(self._engine, TextModel) else None

    @overload
    def translate(
        self,
        text: Line,
        *,
        beam_size: int | None = None,
        n_best: int = 1,
        return_alignment: bool = False,
        split_sentences: bool = False,
        progress: bool = True,
    ) -> Translation: ...

    @overload
    def translate(
        self,
        text: Sequence[Line],
        *,
        beam_size: int | None = None,
        n_best: int = 1,
        return_alignment: bool = False,
        split_sentences: bool = False,
        progress: bool = True,
    ) -> list[Translation]: ...

    def translate(
        self,
        text: Lines,
        *,
        beam_size: int | None = None,
        n_best: int = 1,
        return_alignment: bool = False,
        split_sentences: bool = False,
        progress: bool = True,
    ) -> Translation | list[Translation]:
        """Translate a sentence, or a list of them.

        Examples:
            >>> both = translator.translate(["It is cold.", ""], n_best=2)
            >>> [len(result.hypotheses) for result in both], both[1].text, both[1].score
            ([2, 1], '', 0.0)

        Args:
            text: a sentence or several; the first `decoding.max_length` tokens of each are read.
            beam_size: hypotheses kept in the search; None: as configured.
            n_best: different translations wanted; there may be fewer.
            return_alignment: whether hypotheses have their α.
            split_sentences: whether to translate the sentences of a text one by one. Their tokens
                are joined, with `</s>` after each sentence, and their scores added. sentencex finds
                the sentences by the rules of the source language.
            progress: whether to show progress on standard error.

        Returns:
            A `Translation`, or a list of them. Scores are in nats.

        Raises:
            InputError: `n_best` or beam size out of range, or another beam size than the export's;
                several translations, or alignments, of split text; sentencex is not installed; a
                str that is not Unicode.
            TypeError: the text is not a string.
        """
        lines = given_texts.checked_lines(text)
        stream = self.translate_stream(
            lines,
            beam_size=beam_size,
            n_best=n_best,
            return_alignment=return_alignment,
            split_sentences=split_sentences,
        )
        return _collected(stream, len(lines), isinstance(text, Line), progress)

    def translate_stream(
        self,
        lines: Iterable[Line],
        *,
        beam_size: int | None = None,
        n_best: int = 1,
        return_alignment: bool = False,
        split_sentences: bool = False,
        text_only: bool = False,
    ) -> Iterator[Translation]:
        """Translate any number of sentences as they come; as `translate_windows`."""
        yield from self.translate_windows(
            text_windows(each_line(lines), LINES_AT_ONCE),
            beam_size=beam_size,
            n_best=n_best,
            return_alignment=return_alignment,
            split_sentences=split_sentences,
            text_only=text_only,
        )

    def translate_windows(
        self,
        lines: Iterable[Sequence[Line]],
        *,
        beam_size: int | None = None,
        n_best: int = 1,
        return_alignment: bool = False,
        split_sentences: bool = False,
        text_only: bool = False,
    ) -> Iterator[Translation]:
        """Translate windows of sentences as they come; as `translate`.

        Each window is searched as a whole, before the next one is read. With `text_only`, subwords
        are not joined into words in the tokens of the results, which saves time.
        """
        engine = self._engine_for(beam_size, n_best)
        search = engine.best if n_best == 1 else engine.candidates
        if split_sentences and (n_best > 1 or return_alignment):
            raise InputError("split_sentences: n_best must be 1, and return_alignment False")
        splitter = SentenceSplitter(self.config.source_language) if split_sentences else None
        penalty = self.config.decoding.length_penalty

        def translate_part(part: Sequence[Line]) -> list[Translation]:
            if splitter is None:
                return translate_sentences(part)
            split = [splitter.split(line) for line in part]
            results = iter(translate_sentences(list(itertools.chain.from_iterable(split))))
            some = (list(itertools.islice(results, len(sentences))) for sentences in split)
            return [joined(*each, penalty) for each in zip(part, some, strict=True)]

        def translate_sentences(part: Sequence[Line]) -> list[Translation]:
            outputs = search(tf.constant(part))
            results = read_translations(part, outputs, n_best, self.vocabularies[0])
            if return_alignment:
                results = list(self._with_alignments(results))
            is_in_pieces = text_only and not return_alignment  # α is of words
            return results if is_in_pieces else in_words(results, *self._sides)

        with side_by_side() as apply:
            for window in lines:
                part = list(each_line(window))
                yield from map_parts(apply, translate_part, part)

    def complete(self, text: Line, prefix: Line, *, n_best: int = 1) -> Translation:
        """Complete a partial translation.

        Examples:
            >>> result = translator.complete("It is cold.", "Elle ")
            >>> result.tokens[0], result.tokens[-1]
            ('Elle', '</s>')

        Args:
            text: a sentence.
            prefix: how its translation begins. A space at the end says that the last word is
                whole: another word or punctuation follows. Without it, the last word may be
                unfinished, and the translation has a word that begins with it. Words that the
                vocabulary lacks are read as [UNK], and stay in the text as they are. The first
                `max_length` tokens are read.
            n_best: different translations wanted; there may be fewer.

        Returns:
            Whole translations: text and scores include the prefix. With candidate words, its words
            become candidates. If no translation can begin with it, the text is empty and the score
            is −inf.

        Raises:
            InputError: more translations than the beam is wide, an export without completions, or
                a str that is not Unicode.
            TypeError: the text or the prefix is not a string.
        """
        for name, line in (("the text", text), ("the prefix", prefix)):
            given_texts.checked_text(line, name)
        engine = self._engine_for(None, n_best)
        if getattr(engine, "complete", None) is None:
            raise InputError("this export has no completions; export with --completions")
        outputs = engine.complete(tf.constant([text]), tf.constant([prefix]))
        results = read_translations([text], outputs, n_best, self.vocabularies[0])
        return in_words(results, *self._sides)[0]

    @overload
    def score(self, source: Line, target: Target, progress: bool = True) -> float: ...

    @overload
    def score(
        self, source: Sequence[Line], target: Sequence[Target], progress: bool = True
    ) -> list[float]: ...

    def score(self, source: Lines, target: Targets, progress: bool = True) -> float | list[float]:
        """Score given translations: log p(y|x) in nats.

        Examples:
            >>> result = translator.translate("It is cold.")
            >>> abs(translator.score("It is cold.", result) - result.score) < 1e-4
            True

        Args:
            source: a sentence, or a list of them.
            target: a translation, or a list of as many: text, which is split into tokens, or a
                result of `translate`, whose tokens are taken as they are.
            progress: whether to show progress on standard error.

        Returns:
            Nats, `</s>` counted; the first `max_length` tokens of each text are read. 0 if both are
            blank, −inf if log p is not finite.

        Raises:
            InputError: not as many translations as sentences, or a str that is not Unicode.
            TypeError: a sentence or a translation is not a string.
        """
        return _of_pairs(self.score_stream, source, target, progress)

    def score_stream(self, pairs: Iterable[tuple[Line, Target]]) -> Iterator[float]:
        """Score (source, target) pairs as they come; as `score`."""
        return (given.score for given in self.score_words_stream(pairs))

    @overload
    def score_words(self, source: Line, target: Target, progress: bool = True) -> Hypothesis: ...

    @overload
    def score_words(
        self, source: Sequence[Line], target: Sequence[Target], progress: bool = True
    ) -> list[Hypothesis]: ...

    def score_words(
        self, source: Lines, target: Targets, progress: bool = True
    ) -> Hypothesis | list[Hypothesis]:
        """Score given translations word by word; arguments and errors as in `score`.

        Examples:
            >>> given = translator.score_words("It is cold.", "Il fait froid.")
            >>> given.tokens, abs(sum(given.word_scores) - given.score) < 1e-4
            (('Il', 'fait', 'froid', '.', '</s>'), True)

        Returns:
            The given texts with `tokens`, `score` and `word_scores` and, from subword models,
            pieces. Exports of version 0.1.0 give no `word_scores`.
        """
        return _of_pairs(self.score_words_stream, source, target, progress)

    def score_words_stream(self, pairs: Iterable[tuple[Line, Target]]) -> Iterator[Hypothesis]:
        """Score (source, target) pairs word by word, as they come; as `score_words`."""
        for window in text_windows(each_pair(pairs), LINES_AT_ONCE):
            source, target = self._tokens(window)
            outputs = self._engine.score_tokens(padded(source), padded(target))
            if not isinstance(outputs, Mapping):  # version 0.1.0's exports give the sums alone
                outputs = {"score": outputs}
            scores = received_scores(outputs["score"].numpy())
            of_tokens = outputs["token_scores"].numpy() if "token_scores" in outputs else None
            side = self._sides[1]
            for i, (tokens, read) in enumerate(zip(target, side.words(target), strict=True)):
                own = () if of_tokens is None else received_scores(of_tokens[i, : len(tokens) + 1])
                given = window[i][1]
                yield Hypothesis(
                    decoded(given if isinstance(given, Line) else given.text),
                    read.words,
                    scores[i],
                    None,
                    pieces=decoded_with_end(tokens) if side.has_subwords else (),
                    word_scores=read.sums(own),
                    piece_scores=own if side.has_subwords else (),
                )

    @overload
    def align(self, source: Line, target: Target, progress: bool = True) -> Alignment: ...

    @overload
    def align(
        self, source: Sequence[Line], target: Sequence[Target], progress: bool = True
    ) -> list[Alignment]: ...

    def align(
        self, source: Lines, target: Targets, progress: bool = True
    ) -> Alignment | list[Alignment]:
        """Compute the soft alignments of given pairs, by teacher forcing.

        Arguments and errors are those of `score`.

        Examples:
            >>> alignment = translator.align("It is cold.", "Il fait froid.")
            >>> alignment.source_tokens
            ('It', 'is', 'cold', '.', '</s>')
            >>> alignment.weights.shape, round(float(alignment.weights[0].sum()), 4)
            ((5, 5), 1.0)

        Returns:
            α over the tokens of both, `</s>` included; only the first `max_length` tokens of each
            text are read. Without attention or an aligner, all of the weight is on `</s>`.
        """
        return _of_pairs(self.align_stream, source, target, progress)

    def align_stream(self, pairs: Iterable[tuple[Line, Target]]) -> Iterator[Alignment]:
        """Align (source, target) pairs as they come; as `align`."""
        for window in text_windows(each_pair(pairs), _PAIRS_AT_ONCE):
            yield from self._aligned(*self._tokens(window))

    def with_options(self, **options: Any) -> "Translator":
        """Return the same models with other decoding options, such as `replace_unknown=True`.

        Raises:
            InputError: an export, which always has its own, or models that lack what the
                options need.
            ValueError: a value out of range.
            TypeError: an unknown option.
        """
        if self._with_decoding is None:
            raise InputError("an export always uses its own decoding options")
        self._check_process()
        check_names(options, self.config.decoding)
        decoding = dataclasses.replace(self.config.decoding, **options)
        return Translator.of(self._with_decoding(decoding), self._origin)

    def texts_with_unknown(self, translations: Iterable[Translation]) -> list[str]:
        """Return the best hypotheses' texts with [UNK] kept, which `text` may have replaced."""
        each = (h.pieces or h.tokens for h in (t.hypotheses[0] for t in translations))
        # Split text has one after each sentence.
        tokens = [[token for token in some if token != SPECIAL_TOKENS[EOS]] for some in each]
        texts = self.target_tokenizer.detokenize(ragged(tokens)).numpy()
        return [text.decode() for text in texts]

    def source_lengths(self, lines: Sequence[Line]) -> list[int]:
        """Count the model's tokens of each line, without `</s>`."""
        return _lengths(lines, self.source_tokenizer)

    def target_lengths(self, lines: Sequence[Line]) -> list[int]:
        """Count the model's tokens of each translation, without `</s>`."""
        return _lengths(lines, self.target_tokenizer)

    def words_of_pairs(
        self, source: Sequence[Line], target: Sequence[Line]
    ) -> tuple[list[Words], list[Words], list[list[str]]]:
        """Split pairs into the words that `align` gives, and the source words that the model reads.

        The latter are of the corrected text, without `</s>`; for an export, of the text as given.
        """
        pairs = zip(*map(each_line, (source, target)), strict=True)
        tokens = self._tokens(list(pairs))
        x, y = (side.words(rows) for side, rows in zip(self._sides, tokens, strict=True))
        read = ragged(tokens[0])
        if isinstance(self._engine, TextModel):
            read = self._engine.corrected(read)
        words = self.source_tokenizer.words(read).to_list()
        return x, y, [[word.decode() for word in sentence] for sentence in words]

    def _check_process(self) -> None:
        """Raise a RuntimeError in a forked process, where TensorFlow would wait for ever."""
        if os.getpid() != self._process:
            raise RuntimeError(
                "a Translator does not work in a forked process: load it in each process, or start "
                'processes by multiprocessing.get_context("spawn")'
            )

    def _engine_for(self, beam_size: int | None, n_best: int) -> Any:
        self._check_process()
        decoding = self.config.decoding
        beam_size = decoding.beam_size if beam_size is None else beam_size
        if isinstance(beam_size, Integral) and not isinstance(beam_size, bool):
            beam_size = int(beam_size)  # also of NumPy
        with input_errors("decoding options"):
            wanted = dataclasses.replace(decoding, beam_size=beam_size)
        if not isinstance(n_best, Integral) or n_best not in range(1, beam_size + 1):
            raise InputError(f"n_best {n_best!r}: must be from 1 to the beam size, {beam_size}")
        if wanted == decoding:
            return self._engine
        if self._with_decoding is None:
            raise InputError(
                f"beam_size {beam_size}: this model searches with a beam of {decoding.beam_size}"
            )
        return self._with_decoding(wanted)

    def _tokens(
        self, pairs: Sequence[tuple[Line, Target]]
    ) -> tuple[list[Sequence[Line]], list[Sequence[Line]]]:
        self._check_process()
        return tokens_of_pairs(pairs, *self._sides, self.config.decoding.max_length)

    def _aligned(
        self, source: Sequence[Sequence[Line]], target: Sequence[Sequence[Line]]
    ) -> Iterator[Alignment]:
        """Align tokens without `</s>`, as many pairs at once as the engine takes."""
        weights_each = math.prod(max(map(len, tokens)) + 1 for tokens in (source, target))
        if len(source) > 1 and len(source) * weights_each > MAX_WEIGHTS:
            half = len(source) // 2
            yield from self._aligned(source[:half], target[:half])
            yield from self._aligned(source[half:], target[half:])
            return
        alignments = self._engine.align_tokens(padded(source), padded(target)).numpy()
        words = (
            side.words(tokens) for side, tokens in zip(self._sides, (source, target), strict=True)
        )
        for x, y, weights in zip(*words, alignments, strict=True):
            # A view would keep the whole window.
            own = weights[: len(y.words), : len(x.words)].copy()
            yield Alignment(x.words, y.words, received_weights(own), x.unknown, y.unknown)

    def _with_alignments(self, translations: Sequence[Translation]) -> Iterator[Translation]:
        pairs = (
            (translation.source_tokens[:-1], hypothesis.tokens[:-1])
            for translation in translations
            for hypothesis in translation.hypotheses
        )
        alignments = itertools.chain.from_iterable(
            self._aligned(*zip(*window, strict=True))
            for window in text_windows(pairs, _PAIRS_AT_ONCE)
        )
        for translation in translations:
            yield dataclasses.replace(
                translation,
                hypotheses=tuple(
                    dataclasses.replace(hypothesis, alignment=next(alignments).weights)
                    for hypothesis in translation.hypotheses
                ),
            )


def _of_pairs(
    stream: Callable[[Iterable[tuple[Line, Target]]], Iterator[Any]],
    source: Lines,
    target: Targets,
    progress: bool,
) -> Any:
    pairs = given_texts.checked_pairs(source, target)
    return _collected(stream(pairs), len(pairs), isinstance(source, Line), progress)


def _collected(stream: Iterator[Any], total: int, is_single: bool, progress: bool) -> Any:
    """Return the one result, or a list of all."""
    results = list(counted(stream, "line", total) if progress and not is_single else stream)
    return results[0] if is_single else results


def _lengths(lines: Sequence[Line], tokenizer: Tokenizer) -> list[int]:
    return tokenize(list(each_line(lines)), tokenizer).row_lengths().numpy().tolist()
