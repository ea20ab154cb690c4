"""Write a SavedModel: `rnnsearch-export` for those who look in this folder first."""

import sys

from rnnsearch_tf.scripts.export import run

if __name__ == "__main__":
    sys.exit(run())
