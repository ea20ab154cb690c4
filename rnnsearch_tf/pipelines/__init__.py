"""Work on corpora that one machine does not hold, on Apache Beam; needs the extra `[beam]`."""
