"""Measure beam search: sentences/s for each beam size of a workload, in one line of JSON each.

The weights are random, and `</s>` is allowed only at the last step, so that every sentence gets the
same number of words whatever the model: equal work, no translations.
"""

from collections.abc import Callable

import measure
import numpy as np
import one_line
import tensorflow as tf
import workloads

from rnnsearch_tf import threads
from rnnsearch_tf.config import DecodingConfig
from rnnsearch_tf.decoding.candidates import CandidateLists
from rnnsearch_tf.decoding.model_search import search
from rnnsearch_tf.inference.prepared_weights import PreparedWeights
from rnnsearch_tf.inference.side_by_side import side_by_side
from rnnsearch_tf.models.translation_model import TranslationModel


def main() -> None:
    """Run one measurement for each beam size."""
    parser = measure.argument_parser(__doc__, "search")
    parser.add_argument(
        "--candidates", type=int, default=0, metavar="N", help="search with --candidate_words=N"
    )
    parser.add_argument("--bfloat16", action="store_true", help="search with --bfloat16")
    arguments = parser.parse_args()
    harness = measure.start(arguments)
    workload = harness.load(arguments.workload)
    threads.limit_operations(1)  # as `rnnsearch-translate`
    model = TranslationModel(workload.model)
    for beam in workload.beams:
        search = build_search(model, beam, arguments.candidates, arguments.bfloat16)
        result = harness.time_search(workload, beam, search)
        harness.report(
            {
                "what": "decode",
                "workload": workload.name,
                "candidate_words": arguments.candidates,
                "bfloat16": arguments.bfloat16,
                **result,
                "params": model.count_params(),
                **measure.circumstances(),
            }
        )


def build_search(
    model: TranslationModel, beam_size: int, candidate_words: int = 0, bfloat16: bool = False
) -> measure.Search:
    """Build a search that writes equally many words for every sentence of a batch.

    Parts of the batch are searched side by side, one on each core.

    Args:
        model: the model.
        beam_size: hypotheses kept.
        candidate_words: the option of decoding; 0: all words.
        bfloat16: the option of decoding.
    """
    lists = None
    if candidate_words:
        translations = _stand_in_lexicon(model)
        size = model.config.target_vocabulary_size
        lists = CandidateLists(translations, size, candidate_words, beam_size)
    find = _forced_search(model, DecodingConfig(beam_size=beam_size, bfloat16=bfloat16), lists)

    def search(source: np.ndarray, beam: int, length: int) -> np.ndarray:
        if beam != beam_size:
            raise ValueError(f"built for beam size {beam_size}, not {beam}")
        with side_by_side() as apply:
            count = threads.cores() if apply is not map else 1
            parts = list(
                apply(lambda part: find(part, length).numpy(), np.array_split(source, count))
            )
        words = np.concatenate(parts)
        if words.shape != (len(source), length):
            raise AssertionError(f"{words.shape[1]} steps were run, not {length}")
        return words

    return search


def _stand_in_lexicon(model: TranslationModel) -> np.ndarray:
    """Ten translations of each source word, more of them frequent words than rare ones."""
    ranks = np.random.RandomState(workloads.SEED).uniform(
        size=[model.config.source_vocabulary_size, 10]
    )
    return (model.config.target_vocabulary_size**ranks).astype(np.int32)


def _forced_search(
    model: TranslationModel, options: DecodingConfig, lists: CandidateLists | None
) -> Callable[..., tf.Tensor]:
    """Make the graph from ids [B, Tx] and a length to the best hypotheses' words [B, length]."""
    prepared = PreparedWeights(
        lambda: model.step_weights(options.bfloat16, all_words=lists is None, tabulate=True)
    )
    ids = tf.TensorSpec([None, None], tf.int32, "source")

    @tf.function(input_signature=[ids, tf.TensorSpec([], tf.int32, "length")])
    def find(source: tf.Tensor, length: tf.Tensor) -> tf.Tensor:
        # `length` steps are run, and `length` words predicted for each hypothesis. The peers take
        # any word but `</s>` at each step; here `</s>` is not allowed before the last step, where
        # it is the only word allowed. The attention runs `length` times for both, the GRU once
        # less here: the state after the last word is not computed.
        lengths = tf.fill([tf.shape(source)[0]], length)
        hypotheses = search(
            model,
            source,
            options,
            candidates=None if lists is None else lists.of(source),
            bounds=(lengths, lengths),
            weights=prepared.read(),
        )
        return hypotheses.tokens[:, 0]

    return find


if __name__ == "__main__":
    one_line.run(main)
