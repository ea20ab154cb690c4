"""The documentation: its links, flags and imports exist."""

import ast
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [
    *("README.md", "CONTRIBUTING.md", "SECURITY.md"),
    *(f"docs/{path.name}" for path in ROOT.glob("docs/*.md")),
]
SCRIPTS = (
    "align", "client", "demo", "evaluate", "export", "lexicon", "plot", "reproduce", "score",
    "select_pairs", "train", "translate",
)  # fmt: skip

for_each = pytest.mark.parametrize("page", sorted(PAGES))


def read(page: str) -> str:
    return (ROOT / page).read_text("utf-8")


def flags(script: str) -> set[str]:
    """Flags of a command, with those that switch a boolean off."""
    command = importlib.import_module(f"rnnsearch_tf.scripts.{script}").COMMAND
    booleans = {f"no{name}" for name in command.flags if command.flags[name].boolean}
    return {*command.flags, *booleans, "help", "flagfile"}


def anchors(text: str) -> set[str]:
    """Anchors of the headings, as GitHub and mkdocs make them."""
    headings = re.findall(r"^#+ (.*)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_readme_is_short():
    assert len(read("README.md").splitlines()) <= 150


@for_each
def test_links_lead_somewhere(page):
    for link in re.findall(r"\]\((?!https?:)([^)\s]+)\)", read(page)):
        path, _, anchor = link.partition("#")
        target = (ROOT / page).parent / path if path else ROOT / page
        assert target.exists(), link
        if anchor and target.suffix == ".md":
            assert anchor in anchors(target.read_text("utf-8")), link


@for_each
def test_flags_exist(page):
    known = set().union(*map(flags, SCRIPTS))
    used = set(re.findall(r"(?<![\w-])--(\w+)", read(page)))
    assert used <= known | {"logdir", "no"}, used - known  # TensorBoard's, pip's --no-deps


@for_each
def test_flags_of_a_command_are_its_own(page):
    lines = re.sub(r"\\\n", " ", read(page)).splitlines()
    for line in lines:
        if match := re.match(r"(?: {4}|.*\| )rnnsearch-(\w+) (.*)", line):
            script = "select_pairs" if match[1] == "select" else match[1]
            used = set(re.findall(r"--(\w+)", match[2]))
            assert used <= flags(script), (match[1], used - flags(script))


@for_each
def test_imports_exist(page):
    for block in re.findall(r"^```python\n(.*?)^```", read(page), re.M | re.S):
        for node in ast.walk(ast.parse(block)):
            if isinstance(node, ast.ImportFrom) and node.module:
                module = importlib.import_module(node.module)
                for alias in node.names:
                    assert hasattr(module, alias.name), f"{node.module}.{alias.name}"
