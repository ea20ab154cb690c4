"""Pictures and pages of alignments and curves."""
