"""Apache Beam pipelines for corpora too large for one machine; needs the extra `[beam]`."""
