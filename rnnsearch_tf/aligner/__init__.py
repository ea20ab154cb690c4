"""A word aligner without a translation model: hidden Markov models of both directions."""
