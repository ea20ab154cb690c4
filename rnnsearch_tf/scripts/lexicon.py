"""rnnsearch-lexicon: translations of words, learned from the model's own attention."""

import dataclasses

from rnnsearch_tf.config import SENTENCEPIECE
from rnnsearch_tf.data.sampling import random_pairs
from rnnsearch_tf.errors import InputError
from rnnsearch_tf.limits import COUNT
from rnnsearch_tf.scripts.shared.chosen_models import check_written, choose_models, written_model
from rnnsearch_tf.scripts.shared.command import Command
from rnnsearch_tf.scripts.shared.decoding_flags import define_model
from rnnsearch_tf.scripts.shared.pair_flags import define_pairs, needed_pairs
from rnnsearch_tf.scripts.shared.quiet_start import quiet_start
from rnnsearch_tf.scripts.shared.text_warnings import warn_of_unknown_words

COMMAND = Command(
    "rnnsearch-lexicon",
    "align training pairs by a model's attention, and write the most frequent translations of each "
    "source word to lexicon.tsv in the model directory. With --replace_unknown, other commands "
    "replace [UNK] by the first; with --candidate_words, they choose from all of them.",
    "rnnsearch-lexicon --model_dir=model --source=train.en --target=train.fr",
)
FLAGS = COMMAND.flags
define_model(COMMAND, "the trained model, not an ensemble")
COMMAND.group("Data")
define_pairs(COMMAND, "source side of the training pairs", "their translations")
COMMAND.define("pairs", int, "align at most this many pairs, drawn at random", 50_000, COUNT)

_FIRST = 256  # pairs in which words unknown to the model are counted


@COMMAND.entry
def run() -> None:
    """Align, count and write."""
    training = needed_pairs(COMMAND)
    directory = written_model(COMMAND)  # neither an ensemble nor an export
    config = directory.load_config()
    if not config.model.has_attention:
        architecture = config.model.architecture
        raise InputError(f"{directory.path}: {architecture} has no attention to learn from")
    if config.tokenizer == SENTENCEPIECE:
        raise InputError(f"{directory.path}: a subword model does not use a lexicon")
    choose_models(COMMAND)  # for its checks
    path = directory.lexicon_path
    check_written(path)
    with quiet_start():
        from rnnsearch_tf.alignment.lexicon import lexicon_of, write_lexicon
        from rnnsearch_tf.inference.translator import Translator
        from rnnsearch_tf.progress import say

        # Off: both of these options need the lexicon.
        exact = dataclasses.replace(config.decoding, candidate_words=0, replace_unknown=False)
        translator = Translator.load(FLAGS.model_dir, exact, FLAGS.weights, "attention")
    sample = random_pairs(training, FLAGS.pairs)
    warn_of_unknown_words(COMMAND, translator, sample.source[:_FIRST], sample.target[:_FIRST])
    lexicon = lexicon_of(translator, sample)
    if not lexicon:
        raise InputError("no sentence pair has words on both sides: there is nothing to learn from")
    write_lexicon(path, lexicon)
    say(f"{path}: {len(lexicon):,} words")
