"""Reports as HTML, for notebooks."""

from __future__ import annotations

from html import escape


def report_html(report: str) -> str:
    """A report in lines as a table: the first one is its caption, and the first word of those that are indented by two is a heading."""
    caption, *lines = report.split("\n") if report else [""]

    def row(line: str) -> str:
        head, separator, rest = line[2:].partition(" ") if line.startswith("  ") and not line.startswith("   ") else ("", "", line)
        if not separator:
            head, rest = "", line
        cells = f'<th style="text-align: left">{escape(head, quote=False)}</th>'
        return f'<tr>{cells}<td style="text-align: left; white-space: pre">{escape(rest.lstrip(), quote=False)}</td></tr>'

    rows = "".join(map(row, lines))
    return f'<table><caption style="text-align: left">{escape(caption, quote=False)}</caption>{rows}</table>'
