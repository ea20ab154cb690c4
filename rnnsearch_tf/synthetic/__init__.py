"""Built-in English-French grammar with gold word alignments."""
