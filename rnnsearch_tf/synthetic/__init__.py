"""A built-in English-French grammar with gold word alignments."""
