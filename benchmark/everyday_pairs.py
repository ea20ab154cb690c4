"""Everyday English-French sentence pairs: phrases, and sentences of the built-in grammar.

    python benchmark/everyday_pairs.py --output=everyday

Training text of one kind, such as debates of a parliament, lacks what people say first: greetings,
names, the weather. The phrases are those of phrases.txt: as they are, 25 times; filled in with
phrase_values.txt; and two in a row. The sentences of written_pairs.txt, for the words of other
subjects, come 4 times. Some pairs have no full stop. The same seed gives the same pairs.
"""

import argparse
import random
import re
from collections.abc import Iterator
from pathlib import Path

import one_line
from copied_pairs import Pair, amount, time_of_day, write_pairs

from rnnsearch_tf.synthetic.grammar import generate

_PHRASES = Path(__file__).with_name("phrases.txt")
_WRITTEN = Path(__file__).with_name("written_pairs.txt")
_VALUES = Path(__file__).with_name("phrase_values.txt")
# Names that the grammar translates, while names of real people stay as they are.
_TRANSLATED = ("Peter", "Henry", "Mary", "Julia")


def main() -> None:
    """Write OUTPUT.en and OUTPUT.fr."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--filled", type=int, default=30_000, help="phrases to fill in")
    parser.add_argument("--pairs", type=int, default=15_000, help="of the grammar")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    made = made_up(arguments.filled, arguments.pairs, arguments.seed)
    write_pairs(made, [arguments.output.with_suffix(suffix) for suffix in (".en", ".fr")])


def made_up(filled_count: int, count: int, seed: int) -> list[Pair]:
    """Make all pairs, `count` by the grammar before some are left out."""
    r = random.Random(seed)
    phrases, written = _read(_PHRASES), _read(_WRITTEN)
    fixed = [pair for pair in phrases if "{" not in pair[0]]
    patterns = [pair for pair in phrases if "{" in pair[0]]
    values = dict(_values())
    filled = [_filled(r.choice(patterns), values, r) for _ in range(filled_count)]
    pairs = fixed * 25 + written * 4 + filled + list(_grammatical(count, seed))
    seconds = [*fixed, *filled[:300], *written]
    for _ in range(3000):
        first, second = r.choice(fixed), r.choice(seconds)
        pairs.append((f"{first[0]} {second[0]}", f"{first[1]} {second[1]}"))
    pairs += [(source[:-1], target[:-1]) for source, target in r.sample(pairs, len(pairs) // 15)]
    r.shuffle(pairs)
    return pairs


def _read(path: Path) -> list[Pair]:
    lines = path.read_text("utf-8").splitlines()[1:]
    pairs = [line.split(" | ") for line in lines if line]
    return [(source, target) for source, target in pairs]


def _values() -> Iterator[tuple[str, list[Pair]]]:
    for line in _VALUES.read_text("utf-8").splitlines()[1:]:
        if line:
            kind, given = line.split(": ")
            both = (value.partition("=") for value in given.split(", "))
            yield kind, [(source, target or source) for source, _, target in both]


def _filled(pair: Pair, values: dict[str, list[Pair]], r: random.Random) -> Pair:
    """Replace what stands in braces by a value of its kind, the same on both sides."""
    chosen = {kind: r.choice(given) for kind, given in values.items()}
    people = r.sample([chosen["man"], chosen["woman"]], 2)
    chosen.update(name=people[0], other=people[1], number=(str(r.randint(2, 90)),) * 2)
    chosen.update(amount=amount(r), time=time_of_day(r))
    source, target = (
        side.format(**{kind: value[i] for kind, value in chosen.items()})
        for i, side in enumerate(pair)
    )
    source = re.sub(r"\ba (?=[aeio])", "an ", source).replace("m..", "m.")
    return _capital(source), _capital(_contracted(target))


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]


def _contracted(text: str) -> str:
    text = text.replace(" de le ", " du ").replace(" de les ", " des ")
    return re.sub(r"\bde (?=[AEIO])", "d'", text)


def _grammatical(count: int, seed: int) -> Iterator[Pair]:
    """Generate sentences, a third of them of up to 25 tokens, the others of up to 9."""
    for share, max_length in ((count // 3, 25), (count - count // 3, 9)):
        for pair in generate(share, seed, 1, max_length):
            if not any(name in pair.source for name in _TRANSLATED):
                yield pair.source, pair.target.replace(" ?", "?").replace(" ;", ";")


if __name__ == "__main__":
    one_line.run(main)
