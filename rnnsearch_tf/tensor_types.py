"""Types of tensors in signatures: dtype and axes, as in `Float[Tensor, "B Tx two_n"]`.

For readers, type checkers and the tests, which check the shapes of every call against the
signatures (`tests/stand_ins/shape_checks.py`). At run time the names mean nothing, and jaxtyping is
not needed: modules that use them postpone the evaluation of annotations.

`Shaped` is of any dtype. Within a signature an axis has one length:

    B        sentences of a batch
    Q        states or hypotheses of each sentence: 1 in training, up to k in beam search
    R        rows: decoder states, one a sentence in training
    N        tokens of a batch without padding, sentence by sentence
    Tx, Ty   tokens of source and target, `</s>` and padding counted
    K        words of a vocabulary
    m        dimensions of a word vector
    n        hidden units of a recurrent network
    two_n    2n, elements of an annotation and of a context; n in RNNencdec
    three_n  3n, what two gates and a candidate take from a word
    n_a      n', hidden units of the alignment model
    l        maxout units
    *rows    any axes
    _, ...   one axis, or any, of lengths that differ
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jaxtyping import Bool, Float, Int, Shaped
else:
    Bool = Float = Int = Shaped = Any

Tensor = Any  # of any backend, symbolic or not, and what Keras converts to one

__all__ = ["Bool", "Float", "Int", "Shaped", "Tensor"]
