"""The layers of the paper, in `keras.ops` only: they run on every Keras backend."""

from rnnsearch_tf.layers.attention import BahdanauAttention, LastAnnotation
from rnnsearch_tf.layers.decoder import Decoder, DecoderOutputs
from rnnsearch_tf.layers.deep_output import MaxoutDeepOutput
from rnnsearch_tf.layers.encoder import Encoder
from rnnsearch_tf.layers.gru import ContextGRUCell, GRUCell
from rnnsearch_tf.layers.lexical import LexicalModel

__all__ = [
    "BahdanauAttention",
    "ContextGRUCell",
    "Decoder",
    "DecoderOutputs",
    "Encoder",
    "GRUCell",
    "LastAnnotation",
    "LexicalModel",
    "MaxoutDeepOutput",
]
