"""Docstrings begin with their noun or verb."""

import ast
from pathlib import Path

import pytest

import rnnsearch_tf

PACKAGE = Path(rnnsearch_tf.__file__).parent
# A docstring that begins so says what it is about only further on.
RIDDLES = ("What", "Which", "How", "Where", "When", "That", "Those", "As", "So")


@pytest.mark.parametrize(
    "path", sorted(PACKAGE.rglob("*.py")), ids=lambda p: str(p.relative_to(PACKAGE))
)
def test_every_docstring_says_its_noun_or_verb_first(path):
    nodes = ast.walk(ast.parse(path.read_text("utf-8")))
    kinds = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    texts = [ast.get_docstring(node) for node in nodes if isinstance(node, kinds)]
    assert not [text for text in texts if text and text.split()[0].strip(",") in RIDDLES]
