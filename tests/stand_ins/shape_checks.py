"""Checks of the shapes that signatures promise, in every call that the tests make.

`install`, called before the modules of `SUBPACKAGES` are imported, gives them the names of
`rnnsearch_tf.tensor_types` and decorates their functions and methods with jaxtyping and beartype.
The package itself imports neither. Functions inside functions are not checked.

A size that a graph does not know agrees with every other.
"""

import functools
import importlib.abc
import importlib.machinery
import inspect
import sys
import types
import typing
from collections.abc import Callable, Sequence
from typing import Any

import jaxtyping
from beartype import beartype
from beartype.door import is_bearable

DTYPES = ("Bool", "Float", "Int", "Shaped")
SUBPACKAGES = ("rnnsearch_tf.layers", "rnnsearch_tf.models", "rnnsearch_tf.decoding")


class _Shaped(type):
    """The type of tensors with a dtype and axes, `Float[Tensor, "B Tx"]`."""

    dtype: Any
    axes: str

    def __instancecheck__(cls, value: object) -> bool:
        shape = getattr(value, "shape", None)
        if shape is None:
            return False
        return isinstance(value, _type_of(cls.dtype, cls.axes, tuple(shape)))


@functools.cache
def _type_of(dtype: Any, axes: str, shape: tuple[int | None, ...]) -> Any:
    return dtype[Any, _known_axes(axes.split(), shape)]


def _known_axes(names: list[str], shape: tuple[int | None, ...]) -> str:
    """The axes with `_` or `...` for those of unknown size."""
    at = next((i for i, name in enumerate(names) if name.startswith(("*", "..."))), None)
    if at is not None:
        after = len(names) - at - 1
        within = shape[at : len(shape) - after]
        variadic = "..." if None in within else names[at]
        tail = _known_axes(names[at + 1 :], shape[len(shape) - after :])
        return f"{_known_axes(names[:at], shape[:at])} {variadic} {tail}"
    sizes = [*shape, *names][: len(names)]  # a rank that does not fit is jaxtyping's to tell
    return " ".join("_" if s is None else n for n, s in zip(names, sizes, strict=True))


class _Dtype:
    """Stands for `jaxtyping.Float` and its like in annotations."""

    def __init__(self, name: str):
        self._name = name

    def __getitem__(self, item: tuple[Any, str]) -> type:
        members = {"dtype": getattr(jaxtyping, self._name), "axes": item[1]}
        return _Shaped(f"{self._name}[{item[1]}]", (), members)


class _Fields(type):
    """The type of named tuples whose fields have the types that their class says.

    Axes agree among the fields; a function may take a named tuple and return a longer one.
    """

    of: type
    hints: dict[str, Any]

    def __instancecheck__(cls, value: object) -> bool:
        with jaxtyping.jaxtyped("context"):
            return isinstance(value, cls.of) and all(
                is_bearable(getattr(value, name), hint) for name, hint in cls.hints.items()
            )


def _shapes_of(hint: Any) -> Any:
    """The hint if it is about shapes, else `Any`: other types are mypy's to check."""
    arguments = typing.get_args(hint)
    if typing.get_origin(hint) is tuple and ... not in arguments:
        return tuple[tuple(map(_shapes_of, arguments))]  # type: ignore[misc]
    if isinstance(hint, type) and hasattr(hint, "_fields"):
        return _Fields(hint.__name__, (), {"of": hint, "hints": typing.get_type_hints(hint)})
    return hint if any(isinstance(one, _Shaped) for one in (hint, *arguments)) else Any


def _checked(function: Callable[..., Any]) -> Callable[..., Any]:
    # Evaluated here: jaxtyped takes an annotation that it cannot evaluate for `Any`.
    hints = {name: _shapes_of(hint) for name, hint in typing.get_type_hints(function).items()}
    if all(hint is Any for hint in hints.values()):
        return function
    function.__annotations__ = hints
    return jaxtyping.jaxtyped(function, typechecker=beartype)


def _check(module: types.ModuleType) -> None:
    """Decorate what a module defines."""
    owners = [module, *(c for c in vars(module).values() if inspect.isclass(c))]
    for owner in owners:
        if getattr(owner, "__module__", module.__name__) != module.__name__:
            continue
        for name, value in list(vars(owner).items()):
            function = getattr(value, "__func__", value)  # of a class method
            if inspect.isfunction(function) and _is_to_check(module, function):
                checked = _checked(function)
                setattr(owner, name, checked if function is value else type(value)(checked))


def _is_to_check(module: types.ModuleType, function: types.FunctionType) -> bool:
    if function.__code__.co_filename != module.__file__:
        return False
    # Keras looks for the arguments of a layer's __init__, and sees no further than a decorator.
    return function.__name__ != "__init__" or "Tensor" in str(function.__annotations__)


class _Loader(importlib.machinery.SourceFileLoader):
    def exec_module(self, module: types.ModuleType) -> None:
        super().exec_module(module)
        if "tensor_types" not in (self.get_source(module.__name__) or ""):
            return  # it promises no shapes
        vars(module).update({name: _Dtype(name) for name in DTYPES}, Tensor=Any)
        _check(module)


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(
        self, name: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if not name.startswith(tuple(f"{each}." for each in SUBPACKAGES)):
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and spec.origin is not None:
            spec.loader = _Loader(name, spec.origin)
        return spec


def install() -> None:
    """Check the modules of `SUBPACKAGES` from now on, in this process."""
    loaded = [name for name in sys.modules if name.startswith(SUBPACKAGES)]
    assert not loaded, f"imported before they could be checked: {loaded}"
    sys.meta_path.insert(0, _Finder())
