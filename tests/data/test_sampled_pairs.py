"""Drawn subwords: the distribution, the same text, and batches that depend on seed and epoch."""

import dataclasses
import itertools
import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import sentencepiece
from known_pairs import lists

from rnnsearch_tf.config import Config, TrainingConfig
from rnnsearch_tf.data import subwords
from rnnsearch_tf.data.batching import batch_count, training_batches
from rnnsearch_tf.data.parallel_corpus import ParallelText
from rnnsearch_tf.data.training_data import TrainingData
from rnnsearch_tf.data.word_alignments import WordAlignmentFiles
from rnnsearch_tf.errors import InputError
from rnnsearch_tf.synthetic.grammar import generate
from rnnsearch_tf.text.subword_model_pb2 import SubwordModel
from rnnsearch_tf.text.subword_sampling import SubwordSampler

ENGLISH = ["It is cold ☃.", "", "▁ <0x41>", "The men are not here, are they?"]
FRENCH = ["Il fait froid.", "Rien.", "Un ▁ ▁ deux", "Les hommes ne sont pas là."]
PAIRS = list(generate(40, seed=1, max_length=12))
TEXT = ParallelText(
    [*ENGLISH, *(pair.source for pair in PAIRS)], [*FRENCH, *(pair.target for pair in PAIRS)]
)
KEPT = 43  # one has a blank side
CONFIG = Config(
    training=TrainingConfig(subword_sampling=0.2, batch_size=1, max_length=100, bucket_width=6),
    tokenizer="sentencepiece",
    subwords=380,
)
BOTH = pytest.mark.parametrize("batching", ["buckets", "sorted"])


@pytest.fixture(scope="module")
def cache(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def data(cache) -> TrainingData:
    return TrainingData(CONFIG, TEXT, cache)


@pytest.fixture(scope="module")
def processor(data) -> sentencepiece.SentencePieceProcessor:
    return sentencepiece.SentencePieceProcessor(model_proto=data.subwords[0])


def contents(batches) -> list[dict[str, list]]:
    return [{name: x.tolist() for name, x in b.items()} for b in batches.as_numpy_iterator()]


def drawn_batches(data, epoch=0, skip=0, **settings) -> list[dict[str, list]]:
    config = dataclasses.replace(data.config.training, **settings)
    return contents(training_batches(data.pairs, config, epoch, skip, None, data.sampled))


def texts(data, batches) -> list[tuple[str, str]]:
    """Return the pairs of batches as text."""
    models = [sentencepiece.SentencePieceProcessor(model_proto=model) for model in data.subwords]
    vocabularies = data.source_vocabulary, data.target_vocabulary
    sides = [
        [
            model.decode([vocabulary.tokens[i] for i in row])
            for batch in batches
            for row in lists(np.array(batch[side]))
        ]
        for model, vocabulary, side in zip(models, vocabularies, ("source", "target"), strict=True)
    ]
    return sorted(zip(*sides, strict=True))


@pytest.mark.parametrize("alpha", [0.3, 1.0])
def test_segmentations_come_by_their_probability_to_the_power_of_alpha(data, processor, alpha):
    scores = {
        processor.id_to_piece(i): processor.get_score(i)
        for i in range(len(processor))
        if not processor.is_byte(i) and not processor.is_control(i)
    }
    text, count = "▁want", 4000
    cuts = itertools.product([False, True], repeat=len(text) - 1)
    rows = []
    for cut in cuts:
        ends = [i + 1 for i, is_cut in enumerate(cut) if is_cut]
        row = tuple(text[i:j] for i, j in itertools.pairwise([0, *ends, len(text)]))
        if all(piece in scores for piece in row):
            rows.append(row)
    assert len(rows) > 3
    weights = np.array([math.exp(alpha * sum(scores[piece] for piece in row)) for row in rows])
    expected = weights / weights.sum()
    drawn = SubwordSampler(data.subwords[0], alpha).draw([[text]] * count, seed=1)
    counts = Counter(map(tuple, drawn))
    assert set(counts) <= set(rows)
    observed = np.array([counts[row] for row in rows]) / count
    np.testing.assert_allclose(observed, expected, atol=4 * 0.5 / math.sqrt(count))


def test_draws_depend_on_the_seed_alone(data):
    sampler = SubwordSampler(data.subwords[0], 0.2)
    rows = [["▁want", "▁danced"]] * 20
    first = sampler.draw(rows, 1)
    assert sampler.draw(rows, 2) != first
    assert sampler.draw(rows, 1) == first
    assert len(set(map(tuple, first))) > 1


def test_letters_of_the_source_are_exchanged_in_a_share_of_the_words(cache):
    training = dataclasses.replace(CONFIG.training, subword_sampling=0.0, letter_noise=0.3)
    data = TrainingData(dataclasses.replace(CONFIG, training=training), TEXT, cache)
    first, again = (texts(data, drawn_batches(data, epoch)) for epoch in (0, 0))
    other = texts(data, drawn_batches(data, 1))
    assert first == again != other
    originals = {pair.target: pair.source for pair in PAIRS}
    drawn = [(originals[target], source) for source, target in first if target in originals]
    assert len(drawn) == len(PAIRS)
    count = changed = 0
    for original, source in drawn:
        words = [*zip(original.split(), source.split(), strict=True)]
        count += len(words)
        changed += sum(a != b for a, b in words)
        assert all(a[0] == b[0] and sorted(a) == sorted(b) for a, b in words)
    assert 0.1 < changed / count < 0.3  # two letters may be the same


def test_text_that_would_change_gets_no_letter_noise(data):
    row = ["▁want", "▁dan\u00adced"]  # without its soft hyphen, when it is read again
    assert SubwordSampler(data.subwords[0], 0.0, letter_noise=1.0).draw([row] * 5, 1) == [row] * 5


def model_of(kind: str, scores: dict[str, float]) -> bytes:
    """Make a model file of these pieces."""
    model = SubwordModel()
    model.trainer_spec.model_type = SubwordModel.TrainerSpec.ModelType.Value(kind)
    model.pieces.add(piece="[UNK]", type="UNKNOWN")
    model.pieces.add(piece="<sep>", type="USER_DEFINED")
    for piece, score in scores.items():
        model.pieces.add(piece=piece, score=score)
    return model.SerializeToString()


def test_draws_are_the_same_in_every_process_and_release():
    scores = {"▁": -3.0, "a": -2.0, "b": -3.0, "▁a": -1.5, "ab": -2.5, "▁ab": -2.0}
    sampler = SubwordSampler(model_of("UNIGRAM", scores), 0.5)
    given = ["▁ab", "☃", "▁ab", "<sep>", "ab"]
    drawn = [" ".join(row) for row in sampler.draw([given] * 4, seed=3)]
    assert drawn == [
        "▁ab ☃ ▁ab <sep> ab",
        "▁ab ☃ ▁ab <sep> ab",
        "▁ab ☃ ▁a b <sep> ab",
        "▁a b ☃ ▁a b <sep> ab",
    ]


def test_pieces_may_cross_spaces():
    scores = {"▁": -9.0, "a": -9.0, "▁a": -5.0, "▁a▁": -5.0, "▁a▁a": -1.0}
    row = ["▁a", "▁a"]
    drawn = SubwordSampler(model_of("UNIGRAM", scores), 1.0).draw([row] * 50, seed=1)
    assert set(map(tuple, drawn)) >= {("▁a▁a",)}
    assert {"".join(pieces) for pieces in drawn} == {"▁a▁a"}


def test_merges_of_byte_pairs_are_left_out_with_probability_alpha():
    scores = {"▁": -9.0, "a": -9.0, "b": -9.0, "c": -9.0, "bc": -2.0, "ab": -1.0, "abc": -3.0}
    row, count = ["abc"], 4000
    for alpha in (0.0, 0.2, 1.0):
        drawn = SubwordSampler(model_of("BPE", scores), alpha).draw([row] * count, seed=1)
        observed = Counter(map(" ".join, drawn))
        # Of both pairs, the better one that is not left out; then perhaps the last merge.
        expected = {
            "a b c": alpha**2,
            "ab c": (1 - alpha) * alpha,
            "a bc": alpha * (1 - alpha) * alpha,
            "abc": (1 - alpha) ** 2 + alpha * (1 - alpha) ** 2,
        }
        for pieces, probability in expected.items():
            assert observed[pieces] / count == pytest.approx(probability, abs=0.03)


def test_each_20_batches_of_each_pass_have_seeds_of_their_own(data, monkeypatch):
    seeds, draw, rows = [], data.sampled.draw, np.arange(10)
    drawn = [lists(draw(rows, 1, 0, n).source.batch(rows)) for n in (0, 1, 0)]
    assert drawn[0] == drawn[2] != drawn[1]

    def noted(rows, *own):
        seeds.append(own)
        return draw(rows, *own)

    monkeypatch.setattr(data.sampled, "draw", noted)
    for epoch in (0, 1):
        drawn_batches(data, epoch)
    assert seeds == [(1, epoch, window) for epoch in (0, 1) for window in range(3)]


@BOTH
def test_a_pass_has_the_text_of_every_kept_pair_once(data, batching):
    batches = drawn_batches(data, batching=batching, batch_size=5)
    best = contents(training_batches(data.pairs, data.config.training, 0))
    assert texts(data, batches) == texts(data, best)
    assert len(texts(data, batches)) == KEPT
    assert ("It is cold ☃.", "Il fait froid.") in texts(data, batches)


@BOTH
def test_other_subwords_in_each_pass(data, batching):
    passes = [drawn_batches(data, epoch, batching=batching, batch_size=5) for epoch in (0, 1)]
    first, second = ({row for b in one for row in map(tuple, lists(b["source"]))} for one in passes)
    assert len(first & second) < len(first) / 4


@BOTH
def test_batches_depend_on_seed_and_epoch_and_are_resumed(data, batching):
    everything = drawn_batches(data, 1, batching=batching)
    assert drawn_batches(data, 1, batching=batching) == everything
    assert drawn_batches(data, 1, batching=batching, seed=2) != everything
    for done in (1, 19, 20, 21, len(everything)):
        assert drawn_batches(data, 1, done, batching=batching) == everything[done:]


@BOTH
@pytest.mark.parametrize("batch_size", [1, 5])
def test_batch_count_is_the_number_of_batches(data, batching, batch_size):
    settings = {"batching": batching, "batch_size": batch_size}
    config = dataclasses.replace(data.config.training, **settings)
    for epoch in (0, 1):
        assert len(drawn_batches(data, epoch, **settings)) == batch_count(data.pairs, config)


def test_shapes(data):
    for batch in drawn_batches(data, batch_size=3):
        source, target = (np.array(batch[side]) for side in ("source", "target"))
        longest = max(map(len, lists(source) + lists(target)))
        assert source.shape[1] == target.shape[1] == -(-(longest + 1) // 6) * 6
    for batch in drawn_batches(data, batch_size=3, batching="sorted"):
        for rows in map(np.array, batch.values()):
            assert rows.shape[1] == max(map(len, lists(rows))) + 1


def test_drawn_pairs_that_are_too_long_keep_their_subwords(cache):
    training = dataclasses.replace(CONFIG.training, max_length=40, subword_sampling=0.01)
    data = TrainingData(dataclasses.replace(CONFIG, training=training), TEXT, cache)
    rows = np.flatnonzero(data.pairs.usable_lengths(np.arange(len(TEXT.source))) <= 40)
    assert data.sampled is not None
    drawn = data.sampled.draw(rows, 1)
    best = data.pairs.take(rows)
    places = np.arange(len(rows))
    same = [
        a == b for a, b in zip(*(lists(x.source.batch(places)) for x in (drawn, best)), strict=True)
    ]
    assert 0 < sum(same) < len(rows)
    assert drawn.lengths(places).max() <= 40


def first_word(vocabulary, row: np.ndarray) -> int:
    """Count the pieces of the first word of a sentence, ids with `</s>`."""
    pieces = vocabulary.decode(row)
    return next((i for i in range(1, len(pieces)) if pieces[i].startswith("▁")), len(pieces))


def test_links_of_words_are_those_of_the_drawn_pieces(cache, tmp_path):
    """The first words of all pairs are linked, but those of the first four pairs."""
    path = tmp_path / "links"
    path.write_text("\n" * 4 + "0-0\n" * 40)
    data = TrainingData(CONFIG, TEXT, cache, WordAlignmentFiles([path], [path]))
    config = dataclasses.replace(data.config.training, batch_size=5)
    linked = 0
    for batch in training_batches(data.pairs, config, 0, 0, data.links, data.sampled):
        for source, target, guide in zip(*(x.numpy() for x in batch.values()), strict=True):
            if guide.any():
                linked += 1
                pieces = first_word(data.source_vocabulary, source)
                rows = first_word(data.target_vocabulary, target)
                np.testing.assert_allclose(guide[:rows, :pieces], 1 / pieces, rtol=1e-6)
                assert guide.sum() == pytest.approx(rows)
    assert linked == 40


def test_words_and_characters_are_not_drawn(tmp_path):
    path = str(tmp_path / "words")
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(ENGLISH), model_prefix=path, vocab_size=20, model_type="word",
        hard_vocab_limit=False, minloglevel=3,
    )  # fmt: skip
    with pytest.raises(InputError, match="unigram and BPE models only"):
        SubwordSampler(Path(f"{path}.model").read_bytes(), 0.1)


def test_subwords_of_many_lines_are_learned_from_a_sample_that_is_always_the_same(monkeypatch):
    monkeypatch.setattr(subwords, "_MAX_LINES", 40)
    samples = [list(subwords._lines(TEXT, (0, 1), 44)) for _ in range(2)]
    assert samples[0] == samples[1]
    assert 20 < len(samples[0]) < 60
    assert set(samples[0]) < {*TEXT.source, *TEXT.target}
    monkeypatch.setattr(subwords, "_MAX_LINES", 44)
    assert list(subwords._lines(TEXT, (0,), 44)) == TEXT.source


def test_subwords_are_learned_from_lines_as_they_are_read():
    text = ParallelText(["\tA\u00a0?", "", "\u200eb"], ["c"] * 3)
    assert list(subwords._lines(text, (0,), 3)) == ["A ?", "", "b"]
