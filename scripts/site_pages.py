"""Pages of the documentation site that are made of other files: a hook of MkDocs.

`SECURITY.md` and `CHANGELOG.md` become pages, the tables that the benchmarks wrote become one page each, and the list of parameter sets is
what the command says. Links to files that are no part of the site become plain text.
"""

from __future__ import annotations

import inspect
import json
import posixpath
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

import clathrate

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results"
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
WHOLE_PAGES = {"security.md": "SECURITY.md", "changelog.md": "CHANGELOG.md"}


def pages_of_results() -> list[Path]:
    """The pages that full runs of the benchmarks wrote."""
    return sorted(page for page in RESULTS.glob("*.md") if not page.stem.endswith("-quick"))


def table_of_presets() -> str:
    """All parameter sets, in the words of the command."""
    command = [sys.executable, "-m", "clathrate", "params", "list", "--json"]
    presets: list[dict[str, Any]] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["presets"]
    lines = [
        "| name | degree | rank | rescales | security, bits | a fresh ciphertext, KiB | for |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for preset in presets:
        security = "none: for tests" if preset.get("insecure") else f"{preset['security_bits']:.0f}"
        size, depth = preset["ciphertext_bytes"] / 1024, len(preset["steps"]) - 1
        lines.append(
            f"| `{preset['name']}` | {preset['degree']} | {preset['rank']} | {depth} | {security} | {size:.0f} | {preset['purpose']} |"
        )
    return "\n".join(lines)


def reference() -> str:
    """Every public name of the package, in groups."""
    groups: dict[str, list[str]] = {"Classes": [], "Functions": []}
    for name in clathrate.__all__:
        thing = getattr(clathrate, name)
        if inspect.ismodule(thing):
            groups[f"`clathrate.{name}`"] = [f"{name}.{inner}" for inner in thing.__all__]
        elif name != "__version__":
            groups["Classes" if inspect.isclass(thing) else "Functions"].append(name)
    return "\n\n".join(f"## {title}\n\n" + "\n\n".join(f"::: clathrate.{name}" for name in names) for title, names in groups.items())


def on_files(files: Files, config: Any) -> Files:
    """Adds the pages."""
    for name, source in WHOLE_PAGES.items():
        files.append(File.generated(config, name, content=(ROOT / source).read_text()))
    for page in pages_of_results():
        files.append(File.generated(config, f"performance/{page.name}", content=page.read_text()))
    for picture in RESULTS.glob("*.png"):
        files.append(File.generated(config, f"performance/{picture.name}", abs_src_path=str(picture)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Fills in what is made here, and leads links to pages of the site or nowhere."""
    here = page.file.src_uri
    if here == "presets.md":
        markdown = markdown.replace("<!-- PRESETS -->", table_of_presets())
    if here == "performance.md":
        listed = "\n".join(f"- [{found.stem}](performance/{found.name})" for found in pages_of_results())
        markdown = markdown.replace("<!-- RESULTS -->", listed)
    if here == "api.md":
        return markdown.replace("<!-- REFERENCE -->", reference())
    return LINK.sub(lambda found: led(found, here, files), markdown)


def on_post_build(config: Any) -> None:
    """Refuses a site that loads something from the network."""
    for page in Path(config.site_dir).rglob("*.html"):
        loaded = re.findall(r"""<(?:script|img|link)[^>]*\b(?:src|href)=["']?(https?://[^"' >]+)""", page.read_text())
        if loaded:
            raise PluginError(f"{page.name} loads {loaded[0]}: the site is read without a network")


def led(found: re.Match[str], here: str, files: Files) -> str:
    """A link as the site has it."""
    picture, text, target = found.groups()
    if re.match(r"[a-z]+:|#", target):
        return found.group(0)
    path, _, anchor = target.partition("#")
    folder = posixpath.dirname(here)
    # Written for the place in the repository: pages are in docs/, results in bench/results/, the others at the root.
    origin = "bench/results" if folder == "performance" else "" if here in WHOLE_PAGES else posixpath.join("docs", folder)
    place = posixpath.normpath(posixpath.join(origin, path))
    for prefix, onto in (("docs/", ""), ("bench/results/", "performance/")):
        site = onto + place.removeprefix(prefix)
        if place.startswith(prefix) and files.get_file_from_path(site) is not None:
            link = posixpath.relpath(site, folder or ".")
            return f"{picture}[{text}]({link}{'#' + anchor if anchor else ''})"
    for name, source in WHOLE_PAGES.items():
        if place == source:
            return f"[{text}]({posixpath.relpath(name, folder or '.')})"
    return text
