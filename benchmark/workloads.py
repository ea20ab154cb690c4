"""The work that is measured: sizes, batches to train on, batches to translate.

The numbers are in workloads.json. Two sources of sentences: random words, all sentences equally
long (the paper's sizes), and Multi30k, read from the folder that RNNSEARCH_DATA names. The peers'
own batches can stand in for both.
"""

import concurrent.futures
import copy
import itertools
import json
import multiprocessing
import os
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rnnsearch_tf.config import ModelConfig
from rnnsearch_tf.data.batching import kept_rows
from rnnsearch_tf.data.lines import read_lines
from rnnsearch_tf.data.parallel_corpus import ParallelFiles
from rnnsearch_tf.data.preparation import prepare
from rnnsearch_tf.data.sentence_pairs import Pairs, Sentences, to_sentences, tokenize
from rnnsearch_tf.text.moses import MosesTokenizer
from rnnsearch_tf.text.vocabulary import EOS, PAD, UNK

_SETTINGS = json.loads(Path(__file__).with_name("workloads.json").read_text("utf-8"))
SEED: int = _SETTINGS["seed"]
THREADS: int = _SETTINGS["threads"]

_FIRST_WORD = 4  # the peers have four special ids where we have three; id 3 is left unused

_Pair = tuple[list[int], list[int]]  # ids of source and target, each with </s>
_TrainingBatch = tuple[np.ndarray, np.ndarray]  # source and target, int32 [B, Tx] and [B, Ty]
_SearchBatch = tuple[np.ndarray, int]  # source, int32 [B, Tx], and the words each sentence gets


class Batches(NamedTuple):
    """All batches of a workload, padded with 0."""

    training: list[_TrainingBatch]
    search: list[_SearchBatch]


class Workload(NamedTuple):
    """What there is to do; `train` to `test` have the names the peers' timing functions read."""

    name: str
    model: ModelConfig
    train: list[_TrainingBatch]
    warm: int  # leading batches of `train` that are not timed
    timed: int  # batches after those
    test: list[_SearchBatch]
    beams: list[int]


def use_cores() -> None:
    """Leave `THREADS` cores to this process and to those it starts."""
    if sys.platform == "linux":
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:THREADS])


def names(part: str) -> list[str]:
    """The workloads that have a part: "training" or "search"."""
    return [name for name, settings in _SETTINGS["workloads"].items() if part in settings]


def load(name: str) -> Workload:
    """Make the batches of a workload."""
    return make(name, settings_of(name))


def settings_of(name: str) -> dict[str, Any]:
    """Return what workloads.json says of a workload."""
    return copy.deepcopy(_SETTINGS["workloads"][name])


def make(name: str, settings: dict[str, Any]) -> Workload:
    """Make the batches that settings describe, in the form of workloads.json."""
    batches = _text_batches(settings) if "text" in settings else _random_batches(settings)
    sizes = dict(settings["model"])
    vocabulary_size = sizes.pop("vocabulary_size")
    model = ModelConfig(
        source_vocabulary_size=vocabulary_size, target_vocabulary_size=vocabulary_size, **sizes
    )
    return Workload(
        name,
        model,
        batches.training,
        settings["training"]["warm"],
        settings["training"]["timed"],
        batches.search,
        settings.get("search", {}).get("beams", []),
    )


def from_peers(theirs: Any) -> Workload:
    """Convert the peers' workload, with their ids mapped to ours.

    Args:
        theirs: a `common.Workload` of theirs.
    """
    model = ModelConfig(
        source_vocabulary_size=theirs.vocab,
        target_vocabulary_size=theirs.vocab,
        embedding_size=theirs.m,
        hidden_size=theirs.n,
        attention_size=theirs.align,
        maxout_size=theirs.l,
    )
    train = [(_our_ids(source), _our_ids(target)) for source, target in theirs.train]
    test = [(_our_ids(source), length) for source, length in theirs.test]
    return Workload(theirs.name, model, train, theirs.warm, theirs.timed, test, theirs.beams)


def _our_ids(ids: np.ndarray) -> np.ndarray:
    """Ids of the peers, which begin with padding, <s>, </s>, unknown, to ours."""
    special = np.array([PAD, UNK, EOS, UNK], np.int32)
    return np.where(ids < len(special), special[np.minimum(ids, 3)], ids).astype(np.int32)


def _training_batch_count(settings: dict[str, Any]) -> int:
    return settings["training"]["warm"] + settings["training"]["timed"]


def _random_batches(settings: dict[str, Any]) -> Batches:
    """Sentences of random words; the draws are the peers', one for one."""
    generator = np.random.RandomState(SEED)
    size = settings["model"]["vocabulary_size"]

    def sentences(part: dict[str, Any]) -> np.ndarray:
        ids = generator.randint(_FIRST_WORD, size, size=(part["batch"], part["length"]))
        ids[:, -1] = EOS
        return ids.astype(np.int32)

    training = settings["training"]
    pairs = [
        (sentences(training), sentences(training)) for _ in range(_training_batch_count(settings))
    ]
    if "search" not in settings:
        return Batches(pairs, [])
    search = settings["search"]
    return Batches(pairs, [(sentences(search), search["length"]) for _ in range(search["batches"])])


def _text_batches(settings: dict[str, Any]) -> Batches:
    """Sentences of a corpus.

    Another process reads them: the memory that takes is no part of what is measured.
    """
    if "RNNSEARCH_DATA" not in os.environ:
        raise SystemExit(f"set RNNSEARCH_DATA to the folder with {settings['text']['folder']}/")
    folder = Path(os.environ["RNNSEARCH_DATA"]) / settings["text"]["folder"]
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as executor:
        return executor.submit(_read_batches, settings, folder).result()


def _read_batches(settings: dict[str, Any], folder: Path) -> Batches:
    """Read the batches of a corpus as a training run would, except for their order."""
    languages = settings["text"]["source"], settings["text"]["target"]
    files = ([folder / f"train.{language}.gz"] for language in languages)
    tokenizers = [MosesTokenizer(language) for language in languages]
    prepared = prepare(ParallelFiles(*files), *tokenizers)
    size = settings["model"]["vocabulary_size"]
    vocabularies = [side.vocabulary(size) for side in (prepared.source, prepared.target)]
    pairs = prepared.pairs(*vocabularies)
    pairs = pairs.take(kept_rows(pairs, settings["training"]["max_length"]))
    lines = read_lines(folder / f"{settings['text']['test']}.{languages[0]}.gz")
    test = to_sentences(tokenize(lines, tokenizers[0]).to_list(), vocabularies[0])
    return Batches(
        _training_batches(pairs, settings),
        _search_batches(_lists(test), settings["search"]["batch"]),
    )


def _lists(sentences: Sentences) -> list[list[int]]:
    """Ids of each sentence, with `</s>`."""
    rows = sentences.batch(np.arange(len(sentences)))
    return [row[row != PAD].tolist() for row in rows]


def _training_batches(pairs: Pairs, settings: dict[str, Any]) -> list[_TrainingBatch]:
    together = list(zip(_lists(pairs.source), _lists(pairs.target), strict=True))
    training = settings["training"]
    arranged = _arrange(together, training["batch"], training["window"])
    first = itertools.islice(arranged, _training_batch_count(settings))
    return [
        (_pad([source for source, _ in batch]), _pad([target for _, target in batch]))
        for batch in first
    ]


def _arrange(pairs: list[_Pair], size: int, window: int) -> Iterator[list[_Pair]]:
    """Batches of `size` pairs, of similar length within `window` batches (appendix B.2).

    Pairs are shuffled and cut into windows; each window is sorted by target length, cut into
    batches, and these are shuffled. Batches that are not full are left out.
    """
    order = random.Random(SEED)
    shuffled = list(pairs)
    order.shuffle(shuffled)
    for start in range(0, len(shuffled), size * window):
        some = shuffled[start : start + size * window]
        some.sort(key=lambda pair: (len(pair[1]), len(pair[0])))
        batches = [some[i : i + size] for i in range(0, len(some), size)]
        order.shuffle(batches)
        yield from (batch for batch in batches if len(batch) == size)


def _search_batches(sentences: list[list[int]], size: int) -> list[_SearchBatch]:
    """From short to long; each sentence gets as many words as the longest source of its batch."""
    ordered = sorted(sentences, key=len)
    batches = [ordered[i : i + size] for i in range(0, len(ordered), size)]
    return [(_pad(batch), len(batch[-1]) - 1) for batch in batches]  # </s> not counted


def _pad(sentences: list[list[int]]) -> np.ndarray:
    shape = (len(sentences), max(map(len, sentences)))
    ids: np.ndarray = np.full(shape, PAD, np.int32)
    for row, sentence in zip(ids, sentences, strict=True):
        row[: len(sentence)] = sentence
    return ids
