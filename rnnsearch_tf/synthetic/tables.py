"""Tables of words, in text files beside this module."""

import importlib.resources


def read_tables(name: str) -> dict[str, list[list[str]]]:
    """Read the sections of NAME.txt: each line's cells, which stand between "|"."""
    file = importlib.resources.files("rnnsearch_tf.synthetic").joinpath(f"{name}.txt")
    tables: dict[str, list[list[str]]] = {}
    for line in file.read_text("utf-8").splitlines():
        if line.startswith("["):
            rows = tables.setdefault(line.strip("[]"), [])
        elif line and not line.startswith("#"):
            rows.append([cell.strip() for cell in line.split("|")])
    return tables
