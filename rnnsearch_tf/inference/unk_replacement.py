"""Words for [UNK]: what the attended source word is translated by, or that word itself."""

from collections.abc import Callable
from pathlib import Path

import tensorflow as tf

from rnnsearch_tf.text.vocabulary import SPECIAL_TOKENS, UNK


class UnkReplacement(tf.Module):
    """Replaces each [UNK] of a translation by way of its attention.

        j = arg max_j α_ij over the source's words, `</s>` left out
        y_i = lexicon(x_j) where the lexicon has x_j, else x_j

    The paper leaves unknown words open; this follows Luong et al. (2015), Addressing the Rare Word
    Problem, and Jean et al. (2015), On Using Very Large Target Vocabulary, section 3.3.

    Args:
        lexicon: a file of `lexicon.write_lexicon`, an asset of the SavedModel; without one, all
            words are copied.
    """

    def __init__(self, lexicon: str | Path | None):
        super().__init__()
        self._lexicon: tf.lookup.StaticHashTable | None = None
        if lexicon is not None:
            initializer = tf.lookup.TextFileInitializer(
                str(lexicon), tf.string, 0, tf.string, 1, delimiter="\t"
            )
            self._lexicon = tf.lookup.StaticHashTable(initializer, default_value="")

    def replaced(
        self,
        target: tf.RaggedTensor,
        source: tf.RaggedTensor,
        alignment: Callable[[], tf.Tensor],
    ) -> tf.RaggedTensor:
        """Put words in the place of [UNK].

        Args:
            target: words string [R, None], without `</s>`.
            source: words string [R, None], without `</s>`; none empty whose target has [UNK].
            alignment: gives α, float32 [R, Ty, Tx] with Tx at least the longest source's; is
                called for nothing where there is no [UNK].

        Returns:
            `target` with other words in it.
        """
        words = target.flat_values
        is_unknown = words == SPECIAL_TOKENS[UNK]

        def with_others() -> tf.Tensor:
            rows = tf.boolean_mask(target.value_rowids(), is_unknown)
            places = tf.boolean_mask(tf.ragged.range(target.row_lengths()).flat_values, is_unknown)
            weights = tf.gather_nd(alignment(), tf.stack([rows, places], axis=1))  # [U, Tx]
            others = self._translated(_attended(weights, source, rows))
            return tf.tensor_scatter_nd_update(words, tf.where(is_unknown), others)

        return target.with_flat_values(
            tf.cond(tf.reduce_any(is_unknown), with_others, lambda: words)
        )

    def _translated(self, words: tf.Tensor) -> tf.Tensor:
        if self._lexicon is None:
            return words
        found = self._lexicon.lookup(words)
        return tf.where(found == "", words, found)


def _attended(weights: tf.Tensor, source: tf.RaggedTensor, rows: tf.Tensor) -> tf.Tensor:
    """The word of its row of `source` that each row of weights, [U, Tx], is greatest at."""
    lengths = tf.gather(source.row_lengths(), rows)[:, None]
    is_word = tf.range(tf.shape(weights, tf.int64)[1]) < lengths
    place = tf.argmax(tf.where(is_word, weights, -1.0), axis=1)
    return tf.gather_nd(source.to_tensor(""), tf.stack([rows, place], axis=1))
