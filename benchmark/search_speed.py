"""Measure beam search: sentences/s for each beam size of a workload, in one line of JSON each.

The weights are random and `</s>` is not allowed, so that every sentence gets the same number of
words whatever the model: equal work, no translations.
"""

from collections.abc import Callable

import measure
import numpy as np
import tensorflow as tf

from rnnsearch_tf import threads
from rnnsearch_tf.config import DecodingConfig
from rnnsearch_tf.decoding.model_search import search_with_lengths
from rnnsearch_tf.inference.side_by_side import side_by_side
from rnnsearch_tf.models.translation_model import TranslationModel


def main() -> None:
    """Run one measurement for each beam size."""
    arguments = measure.argument_parser(__doc__, "search").parse_args()
    harness = measure.start(arguments)
    workload = harness.load(arguments.workload)
    threads.limit_operations(1)  # as `rnnsearch-translate`
    model = TranslationModel(workload.model)
    for beam in workload.beams:
        result = harness.time_search(workload, beam, build_search(model, beam))
        harness.report(
            {
                "what": "decode",
                "workload": workload.name,
                **result,
                "params": model.count_params(),
                **measure.circumstances(),
            }
        )


def build_search(model: TranslationModel, beam_size: int) -> measure.Search:
    """Build a search that writes equally many words for every sentence of a batch.

    Parts of the batch are searched side by side, one on each core.

    Args:
        model: the model.
        beam_size: hypotheses kept.
    """
    find = _forced_search(model, beam_size)

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


def _forced_search(model: TranslationModel, beam_size: int) -> Callable[..., tf.Tensor]:
    """Make the graph from ids [B, Tx] and a length to the best hypotheses' words [B, length]."""
    ids = tf.TensorSpec([None, None], tf.int32, "source")
    options = DecodingConfig(beam_size=beam_size)

    @tf.function(input_signature=[ids, tf.TensorSpec([], tf.int32, "length")])
    def find(source: tf.Tensor, length: tf.Tensor) -> tf.Tensor:
        # `length` steps are run, and `length` words predicted for each hypothesis. The peers take
        # any word but `</s>` at each step; here `</s>` is not allowed before the last step, where
        # it is the only word allowed. The attention runs `length` times for both, the GRU once
        # less here: the state after the last word is not computed.
        lengths = tf.fill([tf.shape(source)[0]], length)
        hypotheses = search_with_lengths(
            model, source, options, max_lengths=lengths, min_lengths=lengths
        )
        return hypotheses.tokens[:, 0]

    return find


if __name__ == "__main__":
    main()
