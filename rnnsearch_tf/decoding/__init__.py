"""Beam search, with and without the model."""
