"""Lines in capitals, which a model of subwords reads in lower case."""

import tensorflow as tf

from rnnsearch_tf.text.cleaning import lowercase
from rnnsearch_tf.text.tokenizers import Tokenizer

_OTHERS = r"(?:[^\p{Ll}\p{Lo}]|[ªº])*"  # no letter in lower case, nor of a script without cases
_TWO = rf"{_OTHERS}\p{{Lu}}\p{{M}}*\p{{Lu}}{_OTHERS}"
_IN_CAPITALS = f"{_TWO} {_TWO}"


class CapitalsCorrection(tf.Module):
    """Puts lines in capitals into lower case, but for their first character.

    Words in capitals are rare in most training texts, so their subwords are few letters each. A
    line is in capitals if it has no letter in lower case or of a script without cases, and at
    least two words with two adjacent capitals: one acronym is left alone.
    """

    def __init__(self, tokenizer: Tokenizer):
        super().__init__()
        self._tokenizer = tokenizer

    def correct(self, tokens: tf.RaggedTensor) -> tf.RaggedTensor:
        """Return the tokens of sentences, string [B, None], other ones for those in capitals."""
        lines = tf.strings.strip(self._tokenizer.detokenize(tokens))
        is_in_capitals = tf.strings.regex_full_match(lines, _IN_CAPITALS)
        rows = tf.where(is_in_capitals)[:, 0]

        def corrected() -> tf.RaggedTensor:
            again = self._tokenizer.tokenize(_sentence_case(tf.gather(lines, rows)))
            order = tf.range(tokens.nrows(), dtype=tf.int64)
            added = tokens.nrows() + tf.range(tf.size(rows, tf.int64), dtype=tf.int64)
            order = tf.tensor_scatter_nd_update(order, rows[:, tf.newaxis], added)
            return tf.gather(tf.concat([tokens, again], axis=0), order)

        return tf.cond(tf.size(rows) > 0, corrected, lambda: tokens)


def _sentence_case(lines: tf.Tensor) -> tf.Tensor:
    first = tf.strings.substr(lines, 0, 1, unit="UTF8_CHAR")
    rest = tf.strings.substr(lines, 1, tf.int32.max, unit="UTF8_CHAR")
    return tf.strings.join([first, lowercase(rest)])
