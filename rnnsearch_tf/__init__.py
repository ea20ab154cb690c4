"""RNNsearch: neural machine translation by jointly learning to align and translate."""

__version__ = "0.1.0"
