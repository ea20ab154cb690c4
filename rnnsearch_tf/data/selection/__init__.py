"""Selection of the pairs of a large pool that are most like in-domain text."""
