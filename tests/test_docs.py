"""The documentation: links lead somewhere, commands and names exist, Python compiles."""

import ast
import copy
import importlib
import importlib.util
import re
import shlex
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import rnnsearch_tf

ROOT = Path(__file__).parent.parent
PAGES = [
    *("README.md", "CONTRIBUTING.md", "SECURITY.md", "export/README.md", "benchmark/README.md"),
    *(f"docs/{path.name}" for path in ROOT.glob("docs/*.md")),
]
OF_THE_PACKAGE = [str(path.relative_to(ROOT)) for path in ROOT.glob("rnnsearch_tf/**/*.md")]
SCRIPTS = {
    path.stem: path.stem.replace("_", "-")
    for path in (ROOT / "rnnsearch_tf" / "scripts").glob("*.py")
    if path.stem != "__init__"
}

for_each = pytest.mark.parametrize("page", sorted(PAGES))


def read(page: str) -> str:
    return (ROOT / page).read_text("utf-8")


COMMANDS: dict[str, Any] = {
    f"rnnsearch-{name}": importlib.import_module(f"rnnsearch_tf.scripts.{script}").COMMAND
    for script, name in SCRIPTS.items()
}


def flags(command: str) -> set[str]:
    """Flags of a command, with those that switch a boolean off and those of all commands."""
    own = COMMANDS[command].flags
    booleans = {f"no{name}" for name in own if own[name].boolean}
    return {*own, *booleans, "help", "flagfile", "version"}


def anchors(text: str) -> set[str]:
    """Anchors of the headings, as GitHub and mkdocs make them."""
    headings = re.findall(r"^#+ (.*)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_readme_is_short():
    assert len(read("README.md").splitlines()) <= 150


def test_the_readme_has_the_place_of_the_demonstration():
    assert read("README.md").count("<!-- demo -->") == 1
    assert read("README.md").count("<!-- /demo -->") == 1


def test_the_version_is_the_same_everywhere():
    assert f"\nversion: {rnnsearch_tf.__version__}\n" in read("CITATION.cff")
    assert f"\n## {rnnsearch_tf.__version__}" in read("CHANGELOG.md")


# Links.


@for_each
def test_links_lead_somewhere(page):
    text = re.sub(r"^```.*?^```", "", read(page), flags=re.M | re.S)
    links = re.findall(r"\]\((?!https?:)([^)\s]+)\)|(?:src|href)=\"(?!https?:)([^\"]+)\"", text)
    for link in ("".join(pair) for pair in links):
        path, _, anchor = link.partition("#")
        target = (ROOT / page).parent / path if path else ROOT / page
        assert target.exists(), link
        assert target.resolve().is_relative_to(ROOT), link
        if anchor and target.suffix == ".md":
            assert anchor in anchors(target.read_text("utf-8")), link
        if anchor and target.suffix == ".py":
            line = int(re.fullmatch(r"L(\d+)", anchor)[1])  # type: ignore[index]
            assert line <= len(target.read_text("utf-8").splitlines()), link


def test_every_page_of_the_site_is_in_its_navigation():
    text = re.sub(r"!!python/\S+", "", read("mkdocs.yml"))

    def leaves(node: Any) -> Iterator[str]:
        values = node.values() if isinstance(node, dict) else node
        for value in values:
            yield from [value] if isinstance(value, str) else leaves(value)

    named = {leaf for leaf in leaves(yaml.safe_load(text)["nav"]) if leaf.endswith(".md")}
    hook = ast.parse(read("docs/site_pages.py"))
    (elsewhere,) = (
        ast.literal_eval(node.value)
        for node in hook.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "ELSEWHERE"
    )
    assert named == {path.name for path in ROOT.glob("docs/*.md")} | set(elsewhere)
    assert all((ROOT / source).exists() for source in elsewhere.values())


# Commands.


def shell_lines(page: str) -> Iterator[str]:
    """Lines of the shell: in blocks, continued ones joined; and in the text."""
    yield from (
        span for span in code_spans(page) if re.match(r"(rnnsearch-[\w-]+ |make |python )", span)
    )
    for block in shell_blocks(page):
        yield from re.sub(r"\\\n", " ", block).splitlines()


def shell_blocks(page: str) -> list[str]:
    """Blocks of the shell, fenced or indented."""
    text = read(page)
    fenced = re.findall(r"^```(\w*)\n(.*?)^```", text, re.M | re.S)
    rest = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    indented = re.findall(r"(?:^ {4}[^\n]*\n)+", rest, re.M)
    return [*(block for kind, block in fenced if kind in ("sh", "bash", "console")), *indented]


def code_spans(page: str) -> list[str]:
    """Texts between backquotes, outside of blocks."""
    text = re.sub(r"^```.*?^```", "", read(page), flags=re.M | re.S)
    return [span.replace("\n", " ") for span in re.findall(r"`([^`]+)`", text)]


def words_of_commands(page: str) -> Iterator[list[str]]:
    """Words of each command, without settings before it; of a pipe or a list, each by itself."""
    for line in shell_lines(page):
        for part in re.split(r"\|\|?|&&|;", re.sub(r"(^|\s)#.*", "", line)):
            try:
                words = shlex.split(part)
            except ValueError:  # one of several lines of a quoted text
                continue
            while words and re.match(r"\w+=", words[0]):
                words = words[1:]
            if words:
                yield words


MADE_UP = re.compile(r"…|^[A-Z_]+$")  # placeholders: … and FILE


@for_each
def test_commands_take_their_flags(page):
    for name, *words in words_of_commands(page):
        if not name.startswith("rnnsearch-"):
            continue
        command = COMMANDS.get(name)
        assert command, f"{name} is no command"
        given = [word for word in words if word.startswith("--")]
        for word in given:
            flag, _, value = word[2:].partition("=")
            assert flag in flags(name) or command.passes_on, f"{name} has no --{flag}"
            if value and flag in command.flags and not MADE_UP.search(value):
                copy.deepcopy(command.flags[flag]).parse(value)  # an int must be one


@pytest.mark.parametrize("page", sorted({*PAGES, "CHANGELOG.md", *OF_THE_PACKAGE}))
def test_no_command_has_a_comment_behind_it(page):
    """An interactive zsh, as on a Mac, takes it for arguments."""
    lines = [line for block in shell_blocks(page) for line in block.splitlines()]
    assert [line for line in lines if re.search(r"\S\s+#", line)] == []


def test_a_csv_file_of_excel_becomes_pairs(tmp_path):
    (command,) = (block for block in shell_blocks("docs/faq.md") if "import csv" in block)
    _, *arguments = shlex.split(textwrap.dedent(command))
    csv = '\ufeffIt is cold.,"Il fait froid, ici."\r\na,b,c\r\n'
    (tmp_path / "pairs.csv").write_bytes(csv.encode())
    subprocess.run([sys.executable, *arguments], cwd=tmp_path, check=True)
    assert (tmp_path / "pairs.tsv").read_text("utf-8") == (
        "It is cold.\tIl fait froid, ici.\na\tb\n"
    )


@for_each
def test_flags_in_the_text_exist(page):
    known = set().union(*map(flags, COMMANDS)) | others(page)
    spans = [span for span in code_spans(page) if not span.startswith("docker ")]
    used = {flag for span in spans for flag in re.findall(r"(?<![\w-])--(\w+)", span)}
    assert used <= known, used - known


def others(page: str) -> set[str]:
    """Flags that a page has for the programs of other projects and for scripts of this one."""
    if page == "export/README.md":
        # TensorFlow Serving's, of which that test has a list.
        return set(re.findall(r'"(\w+)"', read("tests/serving/test_deployment.py")))
    if page == "benchmark/README.md":
        scripts = " ".join(path.read_text("utf-8") for path in ROOT.glob("benchmark/*.py"))
        return set(re.findall(r"(\w+)", scripts))
    if page == "docs/beam.md":  # Beam's; tests/pipelines asks Beam
        section = read(page).partition("## Runners")[2].partition("\n## ")[0]
        return set(re.findall(r"--(\w+)", section))
    return {"logdir", "rest_api_enable_cors_support", "echo"}


@for_each
def test_what_make_and_python_run_exists(page):
    targets = set(re.findall(r"^([\w-]+):", read("Makefile"), re.M))
    for name, *words in words_of_commands(page):
        if name == "make":
            assert {word for word in words if "=" not in word} <= targets, words
        if name in ("python", ".venv/bin/python") and words[0].endswith(".py"):
            here = (ROOT / page).parent
            assert (ROOT / words[0]).exists() or (here / words[0]).exists(), words[0]


# Python.


def python_blocks(page: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", read(page), re.M | re.S)


@for_each
def test_python_compiles_and_imports_public_names(page):
    for block in python_blocks(page):
        compile(block, page, "exec")
        for node in ast.walk(ast.parse(block)):
            if isinstance(node, ast.ImportFrom) and node.module:
                module = importlib.import_module(node.module)
                public = getattr(module, "__all__", None) if "." not in node.module else None
                for alias in node.names:
                    full = f"{node.module}.{alias.name}"
                    assert hasattr(module, alias.name), full
                    assert not re.search(r"(^|\.)_", full), full
                    assert public is None or alias.name in public, full
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    importlib.import_module(alias.name)


# The network's picture.


@pytest.mark.slow
def test_the_picture_of_the_network_is_the_models():
    spec = importlib.util.spec_from_file_location("network", ROOT / "docs" / "network.py")
    assert spec and spec.loader
    network = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(network)
    drawn = network.draw(network.build())
    assert drawn == network.PICTURE.read_text("utf-8"), "stale: python docs/network.py"
