"""Reports: text for people, and its figures."""

from __future__ import annotations

import json
from typing import Any, Self

from ._text import report_html
from ._wrapping import path_of


class Report:
    """What prints as text, and has its figures in a dict."""

    __slots__ = ("_figures", "_text")
    _figures: str
    _text: str

    def __init__(self) -> None:
        raise TypeError(f"cannot create '{path_of(type(self))}' instances")

    @classmethod
    def _of(cls, report: tuple[str, str]) -> Self:
        """The report that the extension gives as text and JSON."""
        made = object.__new__(cls)
        made._text, made._figures = report
        return made

    def _dict(self) -> dict[str, Any]:
        figures: dict[str, Any] = json.loads(self._figures)
        return figures

    def __repr__(self) -> str:
        return self._text

    def _repr_html_(self) -> str:
        return report_html(self._text)
