"""Made-up sentence pairs in which a translation copies: names, numbers, addresses, signs, scripts.

    python benchmark/copied_pairs.py --source=train.en --target=train.fr --output=copied

A model of subwords can write any word, but learns to copy only what its training text copies. Each
pair is a given one with the same change on both sides: a new name or number replaces one that both
sides have; an address, signs, a word in another script, an amount of money or a time is added in
brackets (the last two in each language's notation); or the full stop is left out. The same text and
seed give the same pairs.
"""

import argparse
import random
import re
import string
from collections.abc import Callable, Sequence
from pathlib import Path

import one_line

from rnnsearch_tf.data.parallel_corpus import ParallelFiles, each_pair

Pair = tuple[str, str]
_NUMBER = re.compile(r"(?<![\w.,/-])\d+(?![\w.,/-])")
_NAME = re.compile(r"(?<=[^.!?] )[A-Z][a-zà-ÿ]{3,}\b")
_SCRIPTS = ("αω", "ая", "את", "بي", "कह", "กฮ", "あん", "アン", "一龠", "가힣", "😀🙏")
_DOMAINS = ("com", "org", "eu", "fr", "net", "de")
_CURRENCIES = (("$", "dollars"), ("£", "livres"), ("€", "euros"), ("¥", "yens"))


def main() -> None:
    """Read text, write OUTPUT.en and OUTPUT.fr, by the suffixes of the given files."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("--source", "--target", "--output"):
        parser.add_argument(name, type=Path, required=True)
    parser.add_argument("--pairs", type=int, default=5000, help="of each of the eight kinds")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    paths = arguments.source, arguments.target
    pairs = list(each_pair(ParallelFiles(*paths)))
    made = made_up(pairs, arguments.pairs, random.Random(arguments.seed))
    write_pairs(made, [arguments.output.with_suffix(path.suffix) for path in paths])


def write_pairs(pairs: Sequence[Pair], paths: Sequence[Path]) -> None:
    """Write the source and the target sides of pairs to a file each."""
    for path, lines in zip(paths, zip(*pairs, strict=True), strict=True):
        path.write_text("".join(f"{line}\n" for line in lines), "utf-8")


def made_up(pairs: list[Pair], count: int, r: random.Random) -> list[Pair]:
    """Make up to `count` pairs of each kind."""
    names = sorted({name for source, _ in pairs for name in _NAME.findall(source)}) or ["Martin"]

    def new_name() -> str:
        first, last = r.choice(names), r.choice(names)
        return first[: len(first) // 2 + 1] + last[len(last) // 2 :]

    changes: list[Callable[[Pair], Pair | None]] = [
        lambda pair: _replaced(pair, _NAME, new_name()),
        lambda pair: _replaced(pair, _NUMBER, str(r.randrange(10 ** r.randint(1, 8)))),
        lambda pair: _with_addition(pair, _copy(_address(r, names))),
        lambda pair: _with_addition(pair, _copy(_signs(r, names))),
        lambda pair: _with_addition(pair, _copy(_other_script(r))),
        lambda pair: _with_addition(pair, amount(r)),
        lambda pair: _with_addition(pair, time_of_day(r)),
        _without_full_stop,
    ]
    made = []
    for change in changes:
        found = map(change, r.sample(pairs, len(pairs)))
        made += [pair for pair, _ in zip(filter(None, found), range(count), strict=False)]
    r.shuffle(made)
    return made


def _replaced(pair: Pair, pattern: re.Pattern[str], new: str) -> Pair | None:
    """Replace a word of the pattern that each side has once; None without one."""
    for word in pattern.findall(pair[0]):
        source, target = (re.subn(rf"\b{word}\b", new, side) for side in pair)
        if source[1] == target[1] == 1:
            return source[0], target[0]
    return None


def _with_addition(pair: Pair, addition: Pair) -> Pair | None:
    """Put an addition in brackets before the full stop, or alone in place of long sentences."""
    if len(pair[0]) > 150:
        return addition
    if not all(side.endswith(".") for side in pair):
        return None
    source, target = (f"{side[:-1]} ({added})." for side, added in zip(pair, addition, strict=True))
    return source, target


def _copy(text: str) -> Pair:
    return text, text


def _address(r: random.Random, names: list[str]) -> str:
    host = f"{r.choice(names).lower()}.{r.choice(_DOMAINS)}"
    name = r.choice(names).lower()
    page = f"https://{host}/{name}{r.choice(('', '.html', '/', '-2', '_1'))}"
    query = f"{page}?{r.choice(string.ascii_lowercase)}={r.randrange(100)}"
    other = f"&{r.choice(('page', 'lang', 'id', 'q'))}={r.choice(names).lower()}"
    return r.choice(
        (f"https://www.{host}/{name}", f"www.{host}", f"{name}@{host}", page, query, query + other)
    )


def _signs(r: random.Random, names: list[str]) -> str:
    """Make text with signs: a tag, a file, a sum, a product's number, or any signs."""
    name, other, number = r.choice(names), r.choice(names), r.randrange(1, 1000)
    return r.choice(
        (
            f"#{name.lower()}",
            f"@{name.lower()}{number}",
            f"{name.lower()}_{other.lower()}.{r.choice(('txt', 'pdf', 'jpg', 'py'))}",
            f"{name} & {other}",
            f"{number} {r.choice('+-*/')} {r.randrange(100)} = {r.randrange(100)}",
            f"{r.choice(string.ascii_uppercase)}{number}-{r.choice(string.ascii_uppercase)}",
            f"{r.randrange(10)}.{r.randrange(10)}.{r.randrange(10)}",
            "".join(r.choices(string.punctuation, k=r.randint(1, 5))),
        )
    )


def amount(r: random.Random) -> Pair:
    """Make an amount of money: $1,200 is 1 200 dollars, £3.50 is 3,50 livres."""
    sign, name = r.choice(_CURRENCIES)
    number = f"{r.randrange(2, 10 ** r.randint(1, 6)):,}"
    cents = f".{r.randrange(100):02}" if r.random() < 0.3 else ""
    french = number.replace(",", " ") + cents.replace(".", ",")
    return f"{sign}{number}{cents}", f"{french} {name}"


def time_of_day(r: random.Random) -> Pair:
    """Make a time of day: 5:30 p.m. is 17 h 30, 5 p.m. is 17 h."""
    hour, minutes, is_late = r.randint(1, 12), r.randrange(0, 60, 5), r.random() < 0.7
    half = r.choice(("p.m.", "pm") if is_late else ("a.m.", "am"))
    of_24 = f"{hour % 12 + 12 * is_late} h"
    if minutes:
        return f"{hour}:{minutes:02} {half}", f"{of_24} {minutes:02}"
    return f"{hour} {half}", of_24


def _other_script(r: random.Random) -> str:
    first, last = map(ord, r.choice(_SCRIPTS))
    return "".join(chr(r.randint(first, last)) for _ in range(r.randint(1, 6)))


def _without_full_stop(pair: Pair) -> Pair | None:
    """Drop what may be missing in a query: the full stop and the first capital."""
    if not all(side.endswith(".") and side[1:2].islower() for side in pair):
        return None
    source, target = (side[0].lower() + side[1:-1] for side in pair)
    return source, target


if __name__ == "__main__":
    one_line.run(main)
