"""Lines of text as valid UTF-8 without invisible characters, as TensorFlow graph ops."""

import tensorflow as tf

from rnnsearch_tf.text.composed_form import INVISIBLE

Rule = tuple[str, str]  # an RE2 pattern and its rewrite, for every match

# Whitespace without the space itself: to match and replace spaces too would only cost time.
SPACES: Rule = (
    r"[\t-\r\x{1C}-\x{1F}\x{85}\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}"
    r"\x{3000}]",
    " ",
)
_REMOVED: Rule = (rf"[\x00-\x08\x0E-\x1B{INVISIBLE}]+", "")


def apply(rule: Rule, text: tf.Tensor) -> tf.Tensor:
    """Rewrite every match of a rule's pattern in each string."""
    pattern, rewrite = rule
    return tf.strings.regex_replace(text, pattern, rewrite)


def clean(text: tf.Tensor) -> tf.Tensor:
    """Return lines, string [B], as `visible`, without spaces around them."""
    return tf.strings.strip(visible(text))


def visible(text: tf.Tensor) -> tf.Tensor:
    """Return strings as valid UTF-8, with no whitespace but spaces and no invisible characters.

    The characters of `INVISIBLE` are removed, and those control characters below the space, U+0000
    to U+001F, that are not whitespace.
    """
    return apply(_REMOVED, apply(SPACES, valid_utf8(text)))


def lowercase(text: tf.Tensor) -> tf.Tensor:
    """Lowercase strings as Python does; TensorFlow does by the locale: Turkish has another i."""
    return tf.strings.lower(apply(("I", "i"), apply(("İ", "i̇"), text)), "utf-8")


def valid_utf8(text: tf.Tensor) -> tf.Tensor:
    """Return strings with U+FFFD in place of invalid bytes."""
    return tf.strings.unicode_transcode(text, "UTF-8", "UTF-8", errors="replace")
