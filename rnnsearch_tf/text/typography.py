"""Typographic characters in a source text, and plain ones that a model reads instead."""

from rnnsearch_tf.text.subword_model_pb2 import SubwordModel

_PLAIN = {
    "'": "‘’‚‛‹›′",
    '"': "“”„‟«»″",
    "-": "‐‑‒–−",
    "...": "…",
    "oe": "œ",
    "Oe": "Œ",
    "ff": "ﬀ",
    "fi": "ﬁ",
    "fl": "ﬂ",
    "ffi": "ﬃ",
    "ffl": "ﬄ",
}
_FORMS = {char: form for form, chars in _PLAIN.items() for char in chars}
_DASHES = ("—", "―")  # plain ones in their place would join words, except beside spaces
_ALL = {ord(char): form for char, form in (_FORMS | dict.fromkeys(_DASHES, "-")).items()}


def plain(text: str) -> str:
    """Return a text with plain characters in place of typographic ones."""
    return text.translate(_ALL)


def reading_plain_forms(model: bytes) -> bytes:
    """Return a SentencePiece model that normalizes the typographic characters which it lacks.

    “ and ” become ", … becomes three periods, and so on, if the model has pieces of these. A text
    keeps its number of words. Models are the content of a file.
    """
    import sentencepiece

    result = SubwordModel.FromString(model)
    known = set(" ").union(*(piece.piece for piece in result.pieces if piece.type == piece.NORMAL))
    spaced = {text: plain(text) for dash in _DASHES for text in (f" {dash}", f"{dash} ")}
    forms = [
        (text, form)
        for text, form in (_FORMS | spaced).items()
        if text.strip() not in known and known.issuperset(form)
    ]
    own = sentencepiece.SentencePieceNormalizer(model_proto=model).Decompile()
    both = sentencepiece.SentencePieceNormalizer(norm_map=[*own, *forms]).serialized_model_proto()
    rules = SubwordModel.FromString(both).normalizer_spec.precompiled_charsmap
    result.normalizer_spec.precompiled_charsmap = rules
    return result.SerializeToString(deterministic=True)
