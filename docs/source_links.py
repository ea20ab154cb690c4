"""A hook of mkdocs: links from a page to files outside docs/ lead to the repository."""

import re
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError

ROOT = Path(__file__).resolve().parent.parent

_LINK = re.compile(r"\]\((?P<path>(?:\.\./)+[^)#]*)")


def on_page_markdown(markdown: str, page: Any, config: Any, **_: Any) -> str:
    """Return a page's text with such links made absolute.

    Raises:
        PluginError: the file that a link names does not exist.
    """
    folder = Path(page.file.abs_src_path).parent

    def absolute(link: re.Match[str]) -> str:
        path = (folder / link["path"]).resolve()
        if path.is_relative_to(config.docs_dir):
            return link[0]
        if not path.exists():
            raise PluginError(f"{page.file.src_uri}: {link['path']} does not exist")
        return f"]({config.repo_url}/blob/main/{path.relative_to(ROOT).as_posix()}"

    return _LINK.sub(absolute, markdown)
