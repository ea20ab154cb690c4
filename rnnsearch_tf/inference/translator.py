"""Translation in Python: sentences in, typed results out."""

import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar, overload

import tensorflow as tf

from rnnsearch_tf.config import Config, DecodingConfig
from rnnsearch_tf.errors import InputError
from rnnsearch_tf.inference.loading import find_version, load_config, load_export, load_text_model
from rnnsearch_tf.inference.text_model import TextModel
from rnnsearch_tf.models.model_directory import BEST
from rnnsearch_tf.progress import ProgressLine
from rnnsearch_tf.results import Alignment, Hypothesis, Translation
from rnnsearch_tf.text.tokenizers import Tokenizer, tokenizers_for

_LINES_AT_ONCE = 256  # sorted by length and worked on together
_PAIRS_AT_ONCE = 64  # likewise; a matrix for each is kept

Line = str | bytes  # bytes are UTF-8; what is not counts as U+FFFD
Target = Line | Translation | Hypothesis
Item = TypeVar("Item")


class Translator:
    """Trained models, or an export of them, at work.

    >>> from rnnsearch_tf.inference.translator import Translator
    >>> translator = Translator.load(MODEL_DIR)
    >>> found = translator.translate("The man will eat.", return_alignment=True)
    >>> type(found.text), found.tokens[-1], found.score < 0
    (<class 'str'>, '</s>', True)
    >>> found.alignment.shape == (len(found.tokens), len(found.source_tokens))
    True

    Lists are worked on in windows of a few hundred lines, each sorted by length; results come in
    the order of what was given. Iterators of any length go through the methods that end in
    `_stream`, which hold one window at a time.

    Args:
        engine: a `TextModel`, or a SavedModel of one.
        config: its languages and decoding options.
        reopen: makes an engine with other decoding options; None where that cannot be done.

    Attributes:
        config: as given.
        source_tokenizer: text to the tokens the model reads.
        target_tokenizer: likewise of translations.
    """

    def __init__(
        self,
        engine: Any,
        config: Config,
        reopen: Callable[[DecodingConfig], Any] | None = None,
    ):
        self.config = config
        self._engine = engine
        self._reopened = functools.lru_cache(maxsize=4)(reopen) if reopen else None
        self.source_tokenizer: Tokenizer
        self.target_tokenizer: Tokenizer
        self.source_tokenizer, self.target_tokenizer = tokenizers_for(config)

    @classmethod
    def load(
        cls,
        path: str | Path | Sequence[str | Path],
        decoding: DecodingConfig | None = None,
        weights: str = BEST,
    ) -> "Translator":
        """Read a model directory, several as an ensemble, or an export.

        Args:
            path: the model directory, or a list of them; languages and decoding options are the
                first one's. Or an export: a version's folder, or the folder of versions, of which
                the highest is taken.
            decoding: instead of the model's own options; an export has those it was made with.
            weights: "best" or "last"; an export has those it was made of.

        Raises:
            InputError: a directory is absent, incomplete or damaged, has other vocabularies than
                the first, or is an export and other options are asked for.
        """
        version = find_version(path) if isinstance(path, str | Path) else None
        if version is None:
            return cls.of(load_text_model(path, decoding, weights))
        config = load_config(version)
        if decoding not in (None, config.decoding):
            raise InputError(f"{version}: an export searches with the options it was made with")
        return cls(load_export(version), config)

    @classmethod
    def of(cls, text_model: TextModel) -> "Translator":
        """A translator by a model that is in memory."""
        return cls(text_model, text_model.config, text_model.with_decoding)

    # To a type checker, a str might as well be a sequence of them.
    @overload
    def translate(  # type: ignore[overload-overlap]
        self,
        text: Line,
        *,
        beam_size: int | None = None,
        n_best: int = 1,
        return_alignment: bool = False,
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
        progress: bool = True,
    ) -> list[Translation]: ...

    def translate(
        self,
        text: Line | Sequence[Line],
        *,
        beam_size: int | None = None,
        n_best: int = 1,
        return_alignment: bool = False,
        progress: bool = True,
    ) -> Translation | list[Translation]:
        """Translate a sentence, or a list of them.

        >>> both = translator.translate(["It is cold.", ""], n_best=2)
        >>> [len(found.hypotheses) for found in both], both[1].text, both[1].score
        ([2, 1], '', 0.0)

        Args:
            text: one sentence each.
            beam_size: hypotheses kept in the search; None: as configured.
            n_best: different translations wanted; there may be fewer.
            return_alignment: whether hypotheses have their α.
            progress: whether a line on standard error says how far it is, when it takes long.

        Returns:
            A `Translation` of a sentence, or a list of them.

        Raises:
            InputError: more translations than the beam is wide, or another beam than the export's.
        """
        if isinstance(text, str | bytes):
            [found] = self.translate_stream(
                [text], beam_size=beam_size, n_best=n_best, return_alignment=return_alignment
            )
            return found
        stream = self.translate_stream(
            text, beam_size=beam_size, n_best=n_best, return_alignment=return_alignment
        )
        return _collected(stream, len(text), progress)

    def translate_stream(
        self,
        lines: Iterable[Line],
        *,
        beam_size: int | None = None,
        n_best: int = 1,
        return_alignment: bool = False,
        lines_at_once: int = _LINES_AT_ONCE,
    ) -> Iterator[Translation]:
        """Translate sentences as they come; as `translate`.

        Args:
            lines: one sentence each, any number.
            beam_size: hypotheses kept in the search; None: as configured.
            n_best: different translations wanted.
            return_alignment: whether hypotheses have their α.
            lines_at_once: how many are read before the first answer.
        """
        engine = self._engine_for(beam_size, n_best)
        search = engine.best if n_best == 1 else engine.candidates
        for window in _windows(lines, lines_at_once):
            found = _translations(window, search(tf.constant(window)), n_best)
            yield from self._with_alignments(found) if return_alignment else found

    @overload
    def score(  # type: ignore[overload-overlap]
        self, source: Line, target: Target, progress: bool = True
    ) -> float: ...

    @overload
    def score(
        self, source: Sequence[Line], target: Sequence[Target], progress: bool = True
    ) -> list[float]: ...

    def score(
        self,
        source: Line | Sequence[Line],
        target: Target | Sequence[Target],
        progress: bool = True,
    ) -> float | list[float]:
        """Log p(y|x) of given translations.

        >>> found = translator.translate("It is cold.")
        >>> abs(translator.score("It is cold.", found) - found.score) < 1e-4
        True

        Args:
            source: a sentence, or a list of them.
            target: a translation, or as many: text, which is split into tokens, or what
                `translate` gave, whose tokens are taken as they are.
            progress: whether a line on standard error says how far it is, when it takes long.

        Returns:
            Nats, `</s>` counted; of either side the first `max_length` tokens are read. 0 of a
            blank and a blank.

        Raises:
            InputError: not as many translations as sentences.
        """
        if isinstance(source, str | bytes):
            return self.score([source], [_one(target)])[0]
        pairs = _pairs(source, target)
        return _collected(self.score_stream(pairs), len(pairs), progress)

    def score_stream(self, pairs: Iterable[tuple[Line, Target]]) -> Iterator[float]:
        """Scores of (source, target) pairs as they come; as `score`."""
        for window in _windows(pairs, _LINES_AT_ONCE):
            source, target = self._tokens(window)
            yield from self._engine.score_tokens(_padded(source), _padded(target)).numpy().tolist()

    @overload
    def align(  # type: ignore[overload-overlap]
        self, source: Line, target: Target, progress: bool = True
    ) -> Alignment: ...

    @overload
    def align(
        self, source: Sequence[Line], target: Sequence[Target], progress: bool = True
    ) -> list[Alignment]: ...

    def align(
        self,
        source: Line | Sequence[Line],
        target: Target | Sequence[Target],
        progress: bool = True,
    ) -> Alignment | list[Alignment]:
        """Soft alignments of given pairs, the target read by teacher forcing.

        >>> found = translator.align("It is cold.", "Il fait froid.")
        >>> found.source_tokens
        ('It', 'is', 'cold', '.', '</s>')
        >>> found.weights.shape, round(float(found.weights[0].sum()), 4)
        ((5, 5), 1.0)

        Args:
            source: a sentence, or a list of them.
            target: as for `score`.
            progress: whether a line on standard error says how far it is, when it takes long.

        Returns:
            α over the tokens of both, `</s>` included; of either side the first `max_length`
            tokens are read.

        Raises:
            InputError: not as many translations as sentences.
        """
        if isinstance(source, str | bytes):
            return self.align([source], [_one(target)])[0]
        pairs = _pairs(source, target)
        return _collected(self.align_stream(pairs), len(pairs), progress)

    def align_stream(self, pairs: Iterable[tuple[Line, Target]]) -> Iterator[Alignment]:
        """Alignments of (source, target) pairs as they come; as `align`."""
        for window in _windows(pairs, _PAIRS_AT_ONCE):
            yield from self._aligned(*self._tokens(window))

    def with_options(self, **options: Any) -> "Translator":
        """The same models with other decoding options, `replace_unknown=True` for one.

        Raises:
            InputError: an export, which has those it was made with, or models that lack what the
                options need.
            ValueError: a value out of range.
        """
        if self._reopened is None:
            raise InputError("an export searches with the options it was made with")
        return Translator.of(self._reopened(dataclasses.replace(self.config.decoding, **options)))

    def texts_with_unknown(self, translations: Iterable[Translation]) -> list[str]:
        """The best hypotheses' texts with [UNK] in them, where `text` has it replaced."""
        tokens = [found.tokens[:-1] for found in translations]
        rows = tf.ragged.constant(tokens, tf.string, ragged_rank=1, row_splits_dtype=tf.int64)
        return [text.decode() for text in self.target_tokenizer.detokenize(rows).numpy()]

    def source_lengths(self, lines: Sequence[Line]) -> list[int]:
        """Tokens of each line, `</s>` not counted."""
        return _lengths(lines, self.source_tokenizer)

    def target_lengths(self, lines: Sequence[Line]) -> list[int]:
        """Tokens of each translation, `</s>` not counted."""
        return _lengths(lines, self.target_tokenizer)

    def _engine_for(self, beam_size: int | None, n_best: int) -> Any:
        decoding = self.config.decoding
        beam_size = beam_size or decoding.beam_size
        if not 1 <= n_best <= beam_size:
            raise InputError(f"n_best {n_best}: must be from 1 to the beam size, {beam_size}")
        if beam_size == decoding.beam_size:
            return self._engine
        if self._reopened is None:
            raise InputError(
                f"beam_size {beam_size}: this model searches with a beam of {decoding.beam_size}"
            )
        return self._reopened(dataclasses.replace(decoding, beam_size=beam_size))

    def _tokens(
        self, pairs: Sequence[tuple[Line, Target]]
    ) -> tuple[list[Sequence[Any]], list[Sequence[Any]]]:
        """Without `</s>`."""
        most = self.config.decoding.max_length
        texts = [target for _, target in pairs if isinstance(target, str | bytes)]
        split = iter(_split(texts, self.target_tokenizer))
        source = _split([source for source, _ in pairs], self.source_tokenizer)
        target: list[Sequence[Any]] = [
            next(split)[:most] if isinstance(target, str | bytes) else target.tokens[:-1]
            for _, target in pairs
        ]
        return [tokens[:most] for tokens in source], target

    def _aligned(
        self, source: Sequence[Sequence[Any]], target: Sequence[Sequence[Any]]
    ) -> Iterator[Alignment]:
        """Of tokens without `</s>`."""
        weights = self._engine.align_tokens(_padded(source), _padded(target)).numpy()
        for x, y, found in zip(source, target, weights, strict=True):
            own = found[: len(y) + 1, : len(x) + 1].copy()  # not a view of all the window's
            yield Alignment(_with_end(x), _with_end(y), own)

    def _with_alignments(self, translations: Sequence[Translation]) -> Iterator[Translation]:
        pairs = (
            (found.source_tokens[:-1], hypothesis.tokens[:-1])
            for found in translations
            for hypothesis in found.hypotheses
        )
        alignments = itertools.chain.from_iterable(
            self._aligned(*zip(*window, strict=True)) for window in _windows(pairs, _PAIRS_AT_ONCE)
        )
        for found in translations:
            yield dataclasses.replace(
                found,
                hypotheses=tuple(
                    dataclasses.replace(hypothesis, alignment=next(alignments).weights)
                    for hypothesis in found.hypotheses
                ),
            )


def _windows(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    items = iter(items)
    while window := list(itertools.islice(items, size)):
        yield window


def _collected(stream: Iterator[Item], total: int, progress: bool) -> list[Item]:
    """All of a stream, with a line that says how far it is."""
    line = ProgressLine()
    report = line.counter(total, "lines")
    found = []
    for item in stream:
        found.append(item)
        if progress:
            report(len(found))
    line.clear()
    return found


def _pairs(source: Sequence[Line], target: Any) -> list[tuple[Line, Target]]:
    if isinstance(target, str | bytes | Translation | Hypothesis) or len(source) != len(target):
        count = len(target) if isinstance(target, list | tuple) else 1
        raise InputError(f"{len(source):,} sentences, but {count:,} translations")
    return list(zip(source, target, strict=True))


def _one(target: Any) -> Target:
    if not isinstance(target, str | bytes | Translation | Hypothesis):
        raise InputError("one sentence, but a list of translations")
    return target


def _split(lines: Sequence[Line], tokenizer: Tokenizer) -> list[list[bytes]]:
    return tokenizer.tokenize(tf.constant(list(lines), tf.string)).to_list()


def _lengths(lines: Sequence[Line], tokenizer: Tokenizer) -> list[int]:
    return [len(tokens) for tokens in _split(lines, tokenizer)]


def _padded(tokens: Sequence[Sequence[Any]]) -> tf.Tensor:
    """String [B, T]."""
    rows = tf.ragged.constant([list(row) for row in tokens], tf.string, ragged_rank=1)
    return rows.to_tensor("")


def _with_end(tokens: Sequence[Line]) -> tuple[str, ...]:
    return (*(t.decode() if isinstance(t, bytes) else t for t in tokens), "</s>")


def _translations(
    lines: Sequence[Line], found: dict[str, tf.Tensor], n_best: int
) -> list[Translation]:
    """What `TextModel.best` or `candidates` found, a sentence each."""
    arrays = {name: values.numpy() for name, values in found.items()}
    return [
        Translation(
            line.decode(errors="replace") if isinstance(line, bytes) else line,
            _words(arrays["source_tokens"][i]),
            tuple(_hypotheses({name: values[i] for name, values in arrays.items()}, n_best)),
        )
        for i, line in enumerate(lines)
    ]


def _hypotheses(row: dict[str, Any], n_best: int) -> Iterator[Hypothesis]:
    ends = row["length"].cumsum()
    for i, length in enumerate(row["length"][:n_best]):
        if length:
            yield Hypothesis(
                row["text"][i].decode(),
                _words(row["target_tokens"][ends[i] - length : ends[i]]),
                float(row["score"][i]),
                float(row["normalized_score"][i]),
            )


def _words(tokens: Any) -> tuple[str, ...]:
    """Up to the padding."""
    return tuple(token.decode() for token in tokens.tolist() if token)
