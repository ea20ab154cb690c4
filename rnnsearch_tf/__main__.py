"""`python -m rnnsearch_tf NAME` runs rnnsearch-NAME where the commands are not on the PATH."""

import importlib
import pkgutil
import sys

from rnnsearch_tf import scripts

if __name__ == "__main__":
    modules = [module.name for module in pkgutil.iter_modules(scripts.__path__) if not module.ispkg]
    names = {module.replace("_", "-"): module for module in modules}
    module = names.get(sys.argv.pop(1)) if len(sys.argv) > 1 else None
    if module is None:
        sys.exit(f"python -m rnnsearch_tf NAME …: NAME is one of {', '.join(names)}")
    sys.exit(importlib.import_module(f"rnnsearch_tf.scripts.{module}").run())
