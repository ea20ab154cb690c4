"""Run `rnnsearch-train`, and `model.fit`, with as many logical CPUs as the first argument says.

The second is JSON: the flags of each training, one after the other. The third, if given, is a
folder for the weights and the loss of `fit_on_devices.fit`.
"""

import json
import sys
from pathlib import Path

import fit_on_devices
import logical_cpus

from rnnsearch_tf.scripts import train

if __name__ == "__main__":
    logical_cpus.use(int(sys.argv[1]))
    for flags in json.loads(sys.argv[2]):
        if code := train.run(flags):
            sys.exit(code)
    if sys.argv[3:]:
        fit_on_devices.save(Path(sys.argv[3]), *fit_on_devices.fit("mirrored"))
