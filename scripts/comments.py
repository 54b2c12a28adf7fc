#!/usr/bin/env python3
"""Keeps the comments of Rust files within 110 columns, which rustfmt does for code.

    comments.py           wraps paragraphs and list items that have a longer line
    comments.py --check   lists lines that are longer and could be wrapped; exit status 1 where there are any

Headings, tables, fenced code and links that do not fit stay as they are.
"""

from __future__ import annotations

import argparse
import pathlib
import re
import subprocess
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parent.parent
WIDTH = 110
COMMENT = re.compile(r"^(\s*)(///|//!|//)(?: (.*)|)$")
ITEM = re.compile(r"^(\s*(?:[-*]|\d+[.)]) )(.*)$")
KEPT = re.compile(r"^(#|\||```|<|\[[^\]]*\]: |    |[-=]{3,}|SPDX)")


def files() -> list[pathlib.Path]:
    """The Rust files that are tracked."""
    listed = subprocess.run(["git", "ls-files", "crates/*.rs"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [ROOT / name for name in listed.split()]


def wrapped(words: str, first: str, further: str) -> list[str]:
    """A paragraph in lines of at most WIDTH columns, none of which begins with what Markdown reads as a list or a heading."""
    lines = textwrap.wrap(words, WIDTH, initial_indent=first, subsequent_indent=further, break_long_words=False, break_on_hyphens=False)
    starts = [line[len(further) :] for line in lines[1:]]
    if any(ITEM.match(start) or KEPT.match(start) or start[:1] in "+>" for start in starts):
        return []
    return lines


def with_short_comments(text: str) -> str:
    """The text of a file with its comments wrapped."""
    result: list[str] = []
    paragraph: list[str] = []
    head = marker = hang = ""

    def flush() -> None:
        nonlocal paragraph
        if any(len(line) > WIDTH for line in paragraph):
            bodies = [line[len(marker) :].strip() for line in paragraph]
            bodies[0] = paragraph[0][len(marker) + len(head) :].strip()
            lines = wrapped(" ".join(bodies), marker + head, marker + hang)
            result.extend(lines or paragraph)
        else:
            result.extend(paragraph)
        paragraph = []

    fenced = False
    for line in text.split("\n"):
        match = COMMENT.match(line)
        if not match:
            flush()
            fenced = False
            result.append(line)
            continue
        body = match[3] or ""
        own = f"{match[1]}{match[2]} "
        if body.lstrip().startswith("```"):
            flush()
            fenced = not fenced
            result.append(line)
        elif fenced or not body.strip() or KEPT.match(body) or body.endswith("  "):
            flush()
            result.append(line)
        elif item := ITEM.match(body):
            flush()
            marker, head, hang, paragraph = own, item[1], " " * len(item[1]), [line]
        elif paragraph and own == marker and (len(body) - len(body.lstrip()) == len(hang)):
            paragraph.append(line)
        else:
            flush()
            indent = body[: len(body) - len(body.lstrip())]
            marker, head, hang, paragraph = own, indent, indent, [line]
    flush()
    return "\n".join(result)


def main() -> int:
    """Command line: comments.py [--check]."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="change nothing")
    options = parser.parse_args()
    changed = 0
    for path in files():
        text = path.read_text()
        new = with_short_comments(text)
        if new != text:
            changed += 1
            if options.check:
                print(f"{path.relative_to(ROOT)}: comments longer than {WIDTH} columns: run scripts/comments.py")
            else:
                path.write_text(new)
    return int(options.check and changed > 0)


if __name__ == "__main__":
    sys.exit(main())
