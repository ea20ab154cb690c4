"""A client for a model in TensorFlow Serving."""

import collections
import contextlib
import functools
import itertools
import threading
import weakref
from collections.abc import Callable, Generator, Iterable, Iterator
from typing import TYPE_CHECKING, TypeVar

from rnnsearch_tf.client import results
from rnnsearch_tf.client.address import Address, ModelSpec, Tls, model_spec, parse_address
from rnnsearch_tf.client.call import Call, in_order, with_retries
from rnnsearch_tf.client.contract import SIGNATURES, Columns, UnexpectedAnswer, checked
from rnnsearch_tf.client.errors import AnswerError
from rnnsearch_tf.client.results import VersionStatus
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.given_texts import each_line, each_pair
from rnnsearch_tf.results import Hypothesis, Translation
from rnnsearch_tf.text.sentences import SentenceSplitter, joined
from rnnsearch_tf.windows import windows

if TYPE_CHECKING:  # a client needs one of them alone
    from rnnsearch_tf.client.grpc_transport import GrpcTransport
    from rnnsearch_tf.client.rest_transport import RestTransport

_Result = TypeVar("_Result")

DEFAULT_SERVER = "http://localhost:8501"
_MAX_DEADLINE = 86_400.0  # seconds


class Client:
    """A client for a model in TensorFlow Serving.

    Texts are sent in batches, `concurrency` of them at once, and read only when they are about to
    be sent; results come one by one, in order, as the caller asks for them. When a batch fails, the
    results before it come first, then its error is raised and the other batches are cancelled.
    Servers with http and https are called over REST, those with grpc and grpcs over gRPC; neither
    needs TensorFlow.

    Results have the types of `Translator`. Fields that the signature does not send are empty or
    None in hypotheses (see `Hypothesis`); the same fields of the result raise a ValueError.

    A client can be used by several threads, and as a context manager, which closes it.

    Args:
        server: scheme://host:port with one of http, https, grpc, grpcs.
        model: the name under which it is served.
        version: its version; None leaves the choice to the server.
        label: a label that the server knows, instead of a version.
        deadline: maximum seconds of a batch, its retries included.
        batch_size: texts in a call.
        concurrency: calls at once.
        attempts: maximum attempts of a call while the server is unavailable.
        max_message_bytes: larger requests are not sent, larger answers not read.
        tls: certificates, for https and grpcs.

    Raises:
        UsageError: an argument that cannot be used; for a file of `tls`, an InputError.
    """

    def __init__(
        self,
        server: str = DEFAULT_SERVER,
        model: str = "rnnsearch",
        version: int | None = None,
        label: str | None = None,
        *,
        deadline: float = 60.0,
        batch_size: int = 32,
        concurrency: int = 4,
        attempts: int = 5,
        max_message_bytes: int = 1 << 28,
        tls: Tls | None = None,
    ):
        counts = {"batch_size": batch_size, "concurrency": concurrency, "attempts": attempts}
        for name, value in {**counts, "max_message_bytes": max_message_bytes}.items():
            if value < 1:
                raise UsageError(f"{name} {value}: must be at least 1")
        if not 0 < deadline <= _MAX_DEADLINE:
            raise UsageError(f"deadline {deadline} s: must be above 0, and at most a day")
        self._address = parse_address(server)
        self._spec = model_spec(model, version, label)
        if tls and any(tls) and not self._address.is_secure:
            raise UsageError(f"server {server!r}: certificates are for https:// and grpcs://")
        self._deadline = deadline
        self._batch_size = batch_size
        self._concurrency = concurrency
        self._attempts = attempts
        self._lock = threading.Lock()
        self._running: weakref.WeakSet[Call] = weakref.WeakSet()
        self._is_closed = False
        self._transport = _transport(self._address, self._spec, tls or Tls(), max_message_bytes)

    def __repr__(self) -> str:
        return f"Client({self._address}, {self._spec})"

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Cancel running calls and close the connections; later calls raise a ValueError."""
        with self._lock:
            self._is_closed = True
            for call in self._running:
                call.cancel()
        self._transport.close()

    def translate(
        self, lines: Iterable[str], *, split_sentences: bool = False
    ) -> Iterator[Translation]:
        """Translate sentences: text and score.

        Args:
            lines: one sentence each.
            split_sentences: whether to translate the sentences of a line one by one; their scores
                are added. sentencex finds them by the rules of the model's source language, for
                which the server is asked once.

        Raises:
            ServingError: a batch failed.
            InputError: text that is not Unicode; sentencex is not installed.
        """
        if split_sentences:
            return self._translate_split(each_line(lines, str), self._splitter)
        return self._results("serving_default", _alone(lines), results.translations)

    def n_best(self, lines: Iterable[str]) -> Iterator[Translation]:
        """Translate into several hypotheses, with scores, words and word scores; as `translate`."""
        return self._results("nbest", _alone(lines), results.n_best_lists)

    def complete(self, pairs: Iterable[tuple[str, str]]) -> Iterator[Translation]:
        """Complete partial translations: hypotheses that begin with a prefix; as `n_best`.

        Each pair is a text and a prefix. End the prefix with a space if its last word is complete.
        """
        return self._results("complete", each_pair(pairs, str, str), results.n_best_lists)

    def align(self, lines: Iterable[str]) -> Iterator[Translation]:
        """Translate, with tokens and soft alignment: text, score, tokens and α; as `translate`."""
        return self._results("align", _alone(lines), results.alignments)

    def score(self, pairs: Iterable[tuple[str, str]]) -> Iterator[float]:
        """Score texts with given translations: log p(translation|text) in nats; as `translate`."""
        return (given.score for given in self.score_words(pairs))

    def score_words(self, pairs: Iterable[tuple[str, str]]) -> Iterator[Hypothesis]:
        """Score as `score`, word by word: the given translations with `word_scores`."""
        return self._results("score", each_pair(pairs, str, str), results.given_in_words)

    def status(self) -> list[VersionStatus]:
        """Return the versions of the model, or the one that the client names, with their states.

        TensorFlow Serving ignores a label here: it returns all versions.

        Raises:
            ServingError: the call failed.
        """
        return self._start(self._transport.status).result()

    def served_version(self) -> int:
        """Return the version that answers the client's calls, for example that of its label.

        Raises:
            ServingError: the call failed.
        """
        return self._start(self._transport.version).result()

    @functools.cached_property
    def _splitter(self) -> SentenceSplitter:
        described = self._start(lambda call: self._predict(call, "describe", {"text": [""]}))
        return SentenceSplitter(described.result()["source_language"][0])

    def _translate_split(
        self, lines: Iterator[str], splitter: SentenceSplitter
    ) -> Iterator[Translation]:
        sent: collections.deque[tuple[str, int]] = collections.deque()  # lines and their sentences

        def sentences() -> Iterator[str]:
            for line in lines:
                some = splitter.split(line)
                sent.append((line, len(some)))
                yield from some

        found = self._results("serving_default", _alone(sentences()), results.translations)
        with contextlib.closing(found):
            for first in found:
                line, count = sent.popleft()
                yield joined(line, [first, *itertools.islice(found, count - 1)], 0)

    def _results(
        self,
        signature: str,
        rows: Iterable[tuple[str, ...]],
        read: Callable[[Columns], Iterator[_Result]],
    ) -> Generator[_Result, None, None]:
        """Call a signature with rows of its inputs; `read` makes results of inputs and outputs."""

        def start(batch: list[tuple[str, ...]]) -> Call[Columns]:
            columns = [list(texts) for texts in zip(*batch, strict=True)]
            inputs = dict(zip(SIGNATURES[signature].inputs, columns, strict=True))
            return self._start(lambda call: {**inputs, **self._predict(call, signature, inputs)})

        answers = in_order(windows(rows, self._batch_size), start, self._concurrency)
        with contextlib.closing(answers):
            for columns in answers:
                yield from read(columns)

    def _predict(self, call: Call, signature: str, inputs: Columns) -> Columns:
        try:
            columns = self._transport.predict(call, signature, inputs)
            return checked(columns, SIGNATURES[signature], len(inputs["text"]))
        except UnexpectedAnswer as error:
            raise AnswerError(
                self._address, f"the answer is not what {signature} promises: {error}"
            ) from error

    def _start(self, attempt: Callable[[Call], _Result]) -> Call[_Result]:
        """Start a call, which is tried again while the server is unavailable."""
        call: Call[_Result] = Call(self._address, self._deadline)
        with self._lock:
            if self._is_closed:
                raise ValueError("the client is closed")
            call.start(lambda: with_retries(call, attempt, self._attempts))
            self._running.add(call)
        return call


def _transport(
    address: Address, spec: ModelSpec, tls: Tls, max_message_bytes: int
) -> "RestTransport | GrpcTransport":
    if address.is_rest:
        from rnnsearch_tf.client.rest_transport import RestTransport

        return RestTransport(address, spec, tls, max_message_bytes)
    from rnnsearch_tf.client.grpc_transport import GrpcTransport

    return GrpcTransport(address, spec, tls, max_message_bytes)


def _alone(lines: Iterable[str]) -> Iterator[tuple[str]]:
    return ((line,) for line in each_line(lines, str))
