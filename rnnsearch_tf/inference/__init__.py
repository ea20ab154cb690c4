"""Trained models at work: sentences in, typed results out."""
