"""Replacement of [UNK] by the translation of the attended source word, or by that word itself."""

from collections.abc import Callable
from pathlib import Path

import tensorflow as tf

from rnnsearch_tf.inference.lexicon_file import read_lexicon
from rnnsearch_tf.text.vectorizer import TableFile
from rnnsearch_tf.text.vocabulary import SPECIAL_TOKENS, UNK


class UnkReplacement(tf.Module):
    """Replaces each [UNK] of a translation by way of its attention.

        j = arg max_j α_ij over the source's words, `</s>` left out
        y_i = the first translation of x_j where the lexicon has one, else x_j

    The paper leaves unknown words open; this follows Luong et al. (2015), Addressing the Rare Word
    Problem, and Jean et al. (2015), On Using Very Large Target Vocabulary, section 3.3. `lexicon`
    is the path of a file of `lexicon.write_lexicon`, an asset of the SavedModel; None copies all
    words. InputError if the file is not a lexicon; the message has the line.
    """

    def __init__(self, lexicon: str | Path | None):
        super().__init__()
        self._lexicon: tf.lookup.StaticHashTable | None = None
        if lexicon is not None and read_lexicon(lexicon):
            initializer = TableFile(lexicon, tf.string, 0, tf.string, 1, delimiter="\t")
            self._lexicon = tf.lookup.StaticHashTable(initializer, default_value="")

    def replace(
        self,
        target: tf.RaggedTensor,  # words, string [R, None], without `</s>`, as the next two
        source: tf.RaggedTensor,  # words as the model read them, which the lexicon translates
        given: tf.RaggedTensor,  # the same as they were given, which are copied
        alignment: Callable[[], tf.Tensor],
    ) -> tf.RaggedTensor:
        """Replace each [UNK] of the target; where the source is empty, it stays.

        `alignment` returns α, float32 [R, Ty, Tx]; its graph runs only if there is an [UNK].
        """
        words = target.flat_values
        is_unknown = tf.equal(words, SPECIAL_TOKENS[UNK])

        def with_replacements() -> tf.Tensor:
            rows = tf.boolean_mask(target.value_rowids(), is_unknown)
            columns = tf.boolean_mask(tf.ragged.range(target.row_lengths()).flat_values, is_unknown)
            weights = tf.gather_nd(alignment(), tf.stack([rows, columns], axis=1))  # [U, Tx]
            replacements = _attended(weights, given, rows)
            if self._lexicon is not None:
                known = self._lexicon.lookup(_attended(weights, source, rows))
                replacements = tf.where(tf.equal(known, ""), replacements, known)
            replacements = tf.where(tf.equal(replacements, ""), SPECIAL_TOKENS[UNK], replacements)
            return tf.tensor_scatter_nd_update(words, tf.where(is_unknown), replacements)

        return target.with_flat_values(
            tf.cond(tf.reduce_any(is_unknown), with_replacements, lambda: words)
        )


def _attended(weights: tf.Tensor, source: tf.RaggedTensor, rows: tf.Tensor) -> tf.Tensor:
    """Select the words with the greatest weights, string [U], from weights float32 [U, Tx].

    An empty sentence gives an empty string. `rows`, int64 [U], are the rows of `source`, string
    [R, None], that the weights belong to.
    """
    lengths = tf.gather(source.row_lengths(), rows)[:, None]
    is_word = tf.range(tf.shape(weights, tf.int64)[1]) < lengths
    attended = tf.argmax(tf.where(is_word, weights, -1.0), axis=1)
    words = tf.pad(source.to_tensor(""), [[0, 0], [0, 1]], constant_values="")
    return tf.gather_nd(words, tf.stack([rows, attended], axis=1))
