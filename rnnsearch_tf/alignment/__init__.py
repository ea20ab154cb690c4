"""Links between words from soft alignments, and their evaluation on gold links."""
