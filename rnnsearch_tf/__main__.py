"""`python -m rnnsearch_tf NAME` runs rnnsearch-NAME where the commands are not on the PATH."""

import importlib
import pkgutil
import sys

from rnnsearch_tf import __version__, scripts


def main() -> int:
    """Run the command that the first argument names; return its exit status."""
    modules = [module.name for module in pkgutil.iter_modules(scripts.__path__) if not module.ispkg]
    names = {module.replace("_", "-"): module for module in modules}
    usage = f"usage: python -m rnnsearch_tf NAME [FLAGS]; NAME is one of {', '.join(names)}"
    name = sys.argv.pop(1) if len(sys.argv) > 1 else ""
    if name in names:
        return importlib.import_module(f"rnnsearch_tf.scripts.{names[name]}").run()
    if name in ("--help", "-h"):
        print(usage)
    elif name == "--version":
        print(f"rnnsearch_tf {__version__}")
    else:
        print(f"{name}: no such command; {usage}" if name else usage, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
