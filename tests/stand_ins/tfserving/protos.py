"""Generated protobuf classes of TensorFlow without Python TensorFlow."""

import importlib.util
import sys
import types


def leave_python_tensorflow_out() -> None:
    """Make `import tensorflow.core.….x_pb2` load that module alone, in this process, from now on.

    For processes that must not run Python TensorFlow; to be called before anything imports a
    generated module. It does nothing where Python TensorFlow has been imported.
    """
    if "tensorflow" in sys.modules:
        return
    spec = importlib.util.find_spec("tensorflow")
    assert spec is not None
    # Importing a submodule first imports its package, whose __init__ is all of Python TensorFlow.
    # A package that is there already is taken as it is: this one has a path and no more.
    bare = types.ModuleType("tensorflow")
    bare.__spec__ = spec
    bare.__path__ = list(spec.submodule_search_locations or ())
    sys.modules["tensorflow"] = bare
