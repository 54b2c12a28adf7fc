"""An extension of Griffe, which reads the package for the documentation site: the classes of the extension module have `__new__`."""

from __future__ import annotations

from typing import Any

import griffe


class Constructors(griffe.Extension):
    """Takes the signature of `__new__` for that of the class."""

    def on_class(self, *, cls: griffe.Class, **_: Any) -> None:
        new = cls.members.get("__new__")
        if isinstance(new, griffe.Function) and "__init__" not in cls.members:
            del cls.members["__new__"]
            new.name = "__init__"
            cls.set_member("__init__", new)
