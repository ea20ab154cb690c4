"""Run `rnnsearch-train` with as many logical CPUs as the first argument says."""

import sys

import logical_cpus

from rnnsearch_tf.scripts import train

if __name__ == "__main__":
    logical_cpus.use(int(sys.argv[1]))
    sys.exit(train.run(sys.argv[2:]))
