"""Hooks of mkdocs: pages whose text lies outside docs/, links between them, MathML for equations.

README.md of the repository, of export/ and of benchmark/ are pages of the site, so that each text
stands in one place. Equations between dollar signs, which GitHub renders too, become MathML when
the site is built: a page needs no script for them.
"""

import html
import os
import re
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parent.parent

# Page: its file in the repository.
ELSEWHERE = {
    "index.md": "README.md",
    "serving.md": "export/README.md",
    "performance.md": "benchmark/README.md",
    "contributing.md": "CONTRIBUTING.md",
    "security.md": "SECURITY.md",
    "changes.md": "CHANGELOG.md",
}

WIDE = ("equations.md",)  # pages of tables, which need the room of the table of contents

_LINK = re.compile(r"(?P<before>\]\(|src=\"|srcset=\")(?P<path>(?!\w+:|#|/)[^)\s#\"]+)")
_EQUATION = re.compile(
    r"<(?P<tag>span|div) class=\"arithmatex\">\\[(\[](?P<tex>.*?)\\[)\]]</(?P=tag)>", re.S
)


def on_files(files: Files, config: Any) -> Files:
    """Add the pages whose text lies elsewhere."""
    for page, source in ELSEWHERE.items():
        files.append(File.generated(config, page, abs_src_path=str(ROOT / source)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, **_: Any) -> str:
    """Return a page's text with links to pages, to files in docs/, or into the repository.

    Raises:
        PluginError: the file that a link names does not exist.
    """
    if page.file.src_uri in WIDE:
        page.meta["hide"] = ["navigation", "toc"]
    folder = Path(page.file.abs_src_path).parent
    pages = {ROOT / source: name for name, source in ELSEWHERE.items()}

    def moved(link: re.Match[str]) -> str:
        path = Path(os.path.normpath(folder / link["path"]))
        if not path.exists():
            raise PluginError(f"{page.file.src_uri}: {link['path']} does not exist")
        if path in pages:
            return link["before"] + pages[path]
        if path.is_relative_to(config.docs_dir):
            return link["before"] + path.relative_to(config.docs_dir).as_posix()
        kind = "tree" if path.is_dir() else "blob"
        repository = config.extra["repository"]
        return f"{link['before']}{repository}/{kind}/main/{path.relative_to(ROOT).as_posix()}"

    return _LINK.sub(moved, markdown)


def on_page_content(content: str, **_: Any) -> str:
    """Return a page's HTML with MathML in the place of TeX."""

    def mathml(equation: re.Match[str]) -> str:
        display = "inline" if equation["tag"] == "span" else "block"
        return convert(html.unescape(equation["tex"]), display=display)

    return _EQUATION.sub(mathml, content)
