"""rnnsearch-aligner: a word aligner, learned from sentence pairs alone."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Literal

from rnnsearch_tf.alignment.extraction import ALIGNER_LINKS
from rnnsearch_tf.alignment.formats import pharaoh
from rnnsearch_tf.config import MOSES_NAMES, SENTENCEPIECE, Config
from rnnsearch_tf.data.parallel_corpus import Corpus, each_pair, unchanged
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.files import replacing
from rnnsearch_tf.limits import COUNT
from rnnsearch_tf.scripts.shared.chosen_models import check_written, written_model
from rnnsearch_tf.scripts.shared.command import Command
from rnnsearch_tf.scripts.shared.file_flags import MODEL_FOLDER, OUTPUT_FILE
from rnnsearch_tf.scripts.shared.pair_flags import define_pairs, needed_pairs
from rnnsearch_tf.scripts.shared.quiet_start import quiet_start
from rnnsearch_tf.windows import windows

if TYPE_CHECKING:
    from rnnsearch_tf.aligner.hmm_aligner import HmmAligner, Sentence
    from rnnsearch_tf.text.tokenizers import Tokenizer

WordTokenizerName = Literal["moses", "whitespace"]

COMMAND = Command(
    "rnnsearch-aligner",
    "train a word aligner on sentence pairs: a hidden Markov model in each direction. It reads "
    "both words of a link; attention does not read the target word. With --model_dir, it is "
    "written there as aligner.npz, and replaces the attention in alignments. With --links, it "
    "links the words of all pairs, for rnnsearch-train --train_alignments.",
    "rnnsearch-aligner --model_dir=model --source=train.en --target=train.fr",
)
FLAGS = COMMAND.flags
COMMAND.group("Data")
define_pairs(COMMAND, "source side of the training pairs", "their translations")
COMMAND.define("pairs", int, "train on at most this many pairs, drawn at random", 200_000, COUNT)
COMMAND.group("Words")
COMMAND.define(
    "model_dir", MODEL_FOLDER, "a trained model: align its words, and write aligner.npz there"
)
COMMAND.define(
    "tokenizer", WordTokenizerName,
    "how lines are split into words, without --model_dir (default: moses)",
)  # fmt: skip
COMMAND.define("source_language", str, f"source language; Moses rules: {MOSES_NAMES} (default: en)")
COMMAND.define("target_language", str, "target language, likewise (default: fr)")
COMMAND.group("Output")
COMMAND.define("links", OUTPUT_FILE, "file for the links of all pairs")
_AT_ONCE = 1000  # pairs
_PAIRS = ("source", "target", "tsv")
_WORDS = ("tokenizer", "source_language", "target_language")


@COMMAND.entry
def run() -> None:
    """Train, and write what is asked for."""
    training = needed_pairs(COMMAND)
    if not (FLAGS.model_dir or FLAGS.links):
        raise UsageError("nothing to write: --model_dir, --links, or both are needed")
    directory = written_model(COMMAND) if FLAGS.model_dir else None
    config = directory.load_config() if directory else COMMAND.settings(Config())
    _check_flags(config)
    if directory:
        check_written(directory.aligner_path)
    with quiet_start():
        from rnnsearch_tf.aligner.hmm_aligner import HmmAligner
        from rnnsearch_tf.data.sampling import random_pairs
        from rnnsearch_tf.progress import counted, say
        from rnnsearch_tf.text.tokenizers import with_prefixes, word_tokenizers_for

        if directory:
            tokenizers = directory.load_tokenizers()
        else:
            tokenizers = word_tokenizers_for(with_prefixes(config))
    fingerprint = training.fingerprint() if FLAGS.links else ""
    drawn = random_pairs(training, FLAGS.pairs)
    aligner = HmmAligner.train(_pairs(drawn, tokenizers))
    if directory:
        aligner.save(directory.aligner_path)
        say(f"{directory.aligner_path} written: it replaces attention in alignments from now on")
    if FLAGS.links:
        pairs = counted(_pairs(training, tokenizers), "linked pair")
        with (
            replacing(FLAGS.links) as temporary,
            unchanged(training.fingerprint, fingerprint),
            open(temporary, "wb") as file,
        ):
            file.writelines(line.encode() for line in _links(aligner, pairs))


def _check_flags(config: Config) -> None:
    if FLAGS.model_dir:
        COMMAND.refuse(_WORDS, "cannot be combined with --model_dir")
    if FLAGS.links:
        if config.tokenizer == SENTENCEPIECE:
            raise UsageError("--links: needs words, and the tokens of --model_dir are subwords")
        COMMAND.check_read_twice(*_PAIRS)
        COMMAND.check_distinct(_PAIRS, ["links"])


def _pairs(
    training: Corpus, tokenizers: "Iterable[Tokenizer]"
) -> "Iterator[tuple[Sentence, Sentence]]":
    """Yield the words of the pairs, as `Translator.align` gives them."""
    for window in windows(each_pair(training), _AT_ONCE):
        yield from zip(*map(_words, zip(*window, strict=True), tokenizers), strict=True)


def _words(lines: Sequence[str], tokenizer: "Tokenizer") -> "list[Sentence]":
    import tensorflow as tf

    words = tokenizer.words(tokenizer.tokenize(tf.constant(lines)))
    return [[word.decode() for word in row] for row in words.to_list()]


def _links(aligner: "HmmAligner", pairs: "Iterator[tuple[Sentence, Sentence]]") -> Iterator[str]:
    from rnnsearch_tf.aligner.hmm_aligner import MAX_WORDS
    from rnnsearch_tf.progress import say

    long = 0
    for window in windows(pairs, _AT_ONCE):
        is_long = [max(map(len, pair)) > MAX_WORDS for pair in window]
        long += sum(is_long)
        # The memory of a pair grows with the product of its lengths.
        short = [([], []) if skip else pair for pair, skip in zip(window, is_long, strict=True)]
        for weights in aligner.align(*zip(*short, strict=True)):
            yield pharaoh(ALIGNER_LINKS.links(*weights)) + "\n"
    if long:
        say(f"without links: {long:,} pairs of more than {MAX_WORDS} words")
