"""Run `rnnsearch-train` with as many logical CPUs as the first argument says.

The second is JSON: the flags of each training, which are made one after the other.
"""

import json
import sys

import logical_cpus

from rnnsearch_tf.scripts import train

if __name__ == "__main__":
    logical_cpus.use(int(sys.argv[1]))
    codes = map(train.run, json.loads(sys.argv[2]))
    sys.exit(next((code for code in codes if code), 0))
