"""File formats of links between words: Pharaoh's, and that of the NAACL 2003 shared task."""

import re
from collections.abc import Sequence
from pathlib import Path

from rnnsearch_tf.alignment.error_rate import GoldLinks
from rnnsearch_tf.alignment.links import Links, flipped
from rnnsearch_tf.data.lines import read_lines
from rnnsearch_tf.errors import InputError

_PHARAOH = re.compile(r"([0-9]{1,9})([-p])([0-9]{1,9})")
_NAACL = re.compile(r"([0-9]{1,9}) ([0-9]{1,9}) ([0-9]{1,9})( [SP])?( [0-9.]+)?")


def read_gold(
    path: str | Path, lengths: Sequence[tuple[int, int]], flip: bool = False
) -> list[GoldLinks]:
    """Read the gold links of a text; `lengths` are its pairs' numbers of source and target words.

    A file with a line in NAACL 2003's format is read as such, any other as Pharaoh's. `flip` is for
    a file of target-source pairs.

    Pharaoh (0-based): line k has the links of sentence pair k, `i-j` sure and `ipj` possible; it
    is blank where there are none. NAACL 2003 (Mihalcea & Pedersen; 1-based): a line for each link,
    `k i j`, then S (sure, also where there is no letter) or P (possible), then perhaps a
    confidence, which is ignored; k does not fall, and the last k is the last pair's. Position 0
    is the empty word: such a link is left out.

    Raises:
        InputError: a file that cannot be read or has no link, malformed links, a position outside
            its sentence, another number of sentence pairs than the text.
    """
    lines = [" ".join(line.split()) for line in read_lines(path)]
    if flip:
        lengths = [(target, source) for source, target in lengths]
    if not any(lines):
        raise InputError(f"{path}: contains no links")
    read = _read_naacl if any(map(_NAACL.fullmatch, lines)) else _read_pharaoh
    gold = read(str(path), lines, lengths)
    if flip:
        gold = [GoldLinks(*map(flipped, links)) for links in gold]
    return gold


def pharaoh(links: Links) -> str:
    """Return links as a line of Pharaoh's format, by target position and then source position."""
    order = sorted(links, key=lambda link: (link[1], link[0]))
    return " ".join(f"{source}-{target}" for source, target in order)


def _read_pharaoh(
    path: str, lines: Sequence[str], lengths: Sequence[tuple[int, int]]
) -> list[GoldLinks]:
    if len(lines) != len(lengths):
        raise InputError(f"{path}: {len(lines):,} lines for {len(lengths):,} sentence pairs")
    gold = []
    for number, (line, length) in enumerate(zip(lines, lengths, strict=True), 1):
        links: dict[str, Links] = {"-": set(), "p": set()}
        for word in line.split():
            match = _PHARAOH.fullmatch(word)
            if match is None:
                raise InputError(f"{path}: line {number:,}: {word!r} is neither i-j nor ipj")
            link = int(match[1]), int(match[3])
            _check_inside(link, length, word, f"{path}: line {number:,}")
            links[match[2]].add(link)
        gold.append(GoldLinks(links["-"], links["p"]))
    return gold


def _read_naacl(
    path: str, lines: Sequence[str], lengths: Sequence[tuple[int, int]]
) -> list[GoldLinks]:
    gold: list[tuple[Links, Links]] = [(set(), set()) for _ in lengths]
    last = 1
    for number, line in enumerate(lines, 1):
        where = f"{path}: line {number:,}"
        match = _NAACL.fullmatch(line)
        if match is None:
            if line:
                raise InputError(f"{where}: {line!r} is not: sentence source target [S|P]")
            continue
        sentence, *link = map(int, match.group(1, 2, 3))
        if sentence < last:
            raise InputError(f"{where}: sentence {sentence} after sentence {last}")
        if sentence > len(lengths):
            raise InputError(f"{where}: sentence {sentence}, but the text has {len(lengths):,}")
        last = sentence
        source, target = link[0] - 1, link[1] - 1
        if min(source, target) >= 0:
            _check_inside((source, target), lengths[sentence - 1], f"{link[0]} {link[1]}", where)
            gold[sentence - 1][(match[4] or "S").endswith("P")].add((source, target))
    if last != len(lengths):
        raise InputError(f"{path}: ends at sentence {last:,} of {len(lengths):,}")
    return [GoldLinks(*links) for links in gold]


def _check_inside(link: tuple[int, int], length: tuple[int, int], written: str, where: str) -> None:
    if link[0] >= length[0] or link[1] >= length[1]:
        raise InputError(
            f"{where}: {written} is outside a sentence pair of {length[0]} and {length[1]} words"
        )
