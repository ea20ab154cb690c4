"""Parallel text to batches."""
