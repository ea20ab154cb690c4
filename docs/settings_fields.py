"""An extension of griffe: the API page shows a setting's default and its description."""

import html
import importlib
from typing import Any

from griffe import Attribute, Docstring, ExprCall, Extension


class SettingsFields(Extension):
    """Read `name: type = setting(default, description, limits)` as a default and a docstring."""

    def on_attribute_instance(self, *, attr: Attribute, **_: Any) -> None:
        """Rewrite such an attribute."""
        call = attr.value
        if isinstance(call, ExprCall) and str(call.function) == "setting" and attr.parent:
            attr.value = call.arguments[0]
            owner = getattr(importlib.import_module(attr.module.path), attr.parent.name)
            about = owner.__dataclass_fields__[attr.name].metadata
            attr.docstring = Docstring(html.escape(about["help"]), parent=attr)
