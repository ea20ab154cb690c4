"""An extension of griffe: the API page shows a setting's default and its description."""

import ast
from typing import Any

from griffe import Attribute, Docstring, ExprCall, Extension


class SettingsFields(Extension):
    """Read `name: type = setting(default, description, limits)` as a default and a docstring."""

    def on_attribute_instance(self, *, attr: Attribute, **_: Any) -> None:
        """Rewrite such an attribute."""
        call = attr.value
        if isinstance(call, ExprCall) and str(call.function) == "setting":
            default, description = call.arguments[:2]
            attr.value = default
            attr.docstring = Docstring(ast.literal_eval(f"({description})"), parent=attr)
