"""Soft alignments to links between words, and links against gold links."""
