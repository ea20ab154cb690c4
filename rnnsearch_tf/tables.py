"""Tables of words and other short texts, in files beside the modules that use them."""

import importlib.resources


def read_tables(package: str, name: str) -> dict[str, list[list[str]]]:
    """Read the sections of a package's NAME.txt: each line's cells, separated by "|"."""
    file = importlib.resources.files(package).joinpath(f"{name}.txt")
    tables: dict[str, list[list[str]]] = {}
    for line in file.read_text("utf-8").splitlines():
        if line.startswith("["):
            rows = tables.setdefault(line.strip("[]"), [])
        elif line and not line.startswith("#"):
            rows.append([cell.strip() for cell in line.split("|")])
    return tables


def read_words(package: str, name: str) -> dict[str, tuple[str, ...]]:
    """Read the sections of a package's NAME.txt: whitespace-separated words."""
    return {
        title: tuple(word for row in rows for cell in row for word in cell.split())
        for title, rows in read_tables(package, name).items()
    }
