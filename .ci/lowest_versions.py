"""Prints, as pip's constraints, the lowest version of each package that pyproject.toml allows."""

import re
from importlib.metadata import requires

for requirement in requires("rnnsearch-tf") or ():
    name = re.match(r"[\w-]+", requirement)
    lowest = re.search(r">=([\d.]+)", requirement)
    if name and lowest:
        print(f"{name[0]}=={lowest[1]}")
