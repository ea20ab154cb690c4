"""Metrics of translations, their significance, and the scores of a test set."""
