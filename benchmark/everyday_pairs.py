"""Everyday English-French sentence pairs: phrases, and sentences of the built-in grammar.

    python benchmark/everyday_pairs.py --output=everyday

Training text of one kind, such as debates of a parliament, lacks what people say first: greetings,
names, the weather. The phrases are those of phrases.txt, 25 times, filled in, and two in a row;
some pairs have no full stop, and some are in capitals. The same seed gives the same pairs.
"""

import argparse
import random
from collections.abc import Iterator
from pathlib import Path

from copied_pairs import Pair, write_pairs

from rnnsearch_tf.synthetic.grammar import generate

_PHRASES = Path(__file__).with_name("phrases.txt")
# English, or English=French.
_VALUES = {
    "man": "John, Peter, Thomas, David, Paul, Michael, Daniel, Robert, Martin, James, George, Max",
    "woman": "Mary, Anna, Sarah, Emma, Julia, Claire, Laura, Alice, Sophie, Charlotte, Nina, Lucy",
    "city": "London=Londres, Paris, Berlin, Rome, New York, Brussels=Bruxelles, Geneva=Genève, "
    "Madrid, Lisbon=Lisbonne, Vienna=Vienne, Lyon, Boston, Montreal=Montréal, Tokyo",
    "land": "France=en France, Germany=en Allemagne, Italy=en Italie, Spain=en Espagne, "
    "Canada=au Canada, Japan=au Japon, China=en Chine, Portugal=au Portugal, "
    "England=en Angleterre, the United States=aux États-Unis, Belgium=en Belgique",
    "language": "French=français, German=allemand, Italian=italien, Spanish=espagnol, "
    "English=anglais, Chinese=chinois, Arabic=arabe, Portuguese=portugais, Russian=russe",
}
# Names that the grammar translates, while names of real people stay as they are.
_TRANSLATED = ("Peter", "Henry", "Mary", "Julia")


def main() -> None:
    """Write OUTPUT.en and OUTPUT.fr."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--pairs", type=int, default=30_000, help="of the grammar")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    made = made_up(arguments.pairs, arguments.seed)
    write_pairs(made, [arguments.output.with_suffix(suffix) for suffix in (".en", ".fr")])


def made_up(count: int, seed: int) -> list[Pair]:
    """Make all pairs, `count` by the grammar before some are left out."""
    r = random.Random(seed)
    phrases = _phrases()
    fixed = [pair for pair in phrases if "{" not in pair[0]]
    patterns = [pair for pair in phrases if "{" in pair[0]]
    filled = [_filled(r.choice(patterns), r) for _ in range(6000)]
    pairs = fixed * 25 + filled + list(_grammatical(count, seed))
    seconds = [*fixed, *filled[:300]]
    for _ in range(3000):
        first, second = r.choice(fixed), r.choice(seconds)
        pairs.append((f"{first[0]} {second[0]}", f"{first[1]} {second[1]}"))
    pairs += [(source[:-1], target[:-1]) for source, target in r.sample(pairs, len(pairs) // 15)]
    pairs += [(source.upper(), target.upper()) for source, target in r.sample(pairs, 5000)]
    r.shuffle(pairs)
    return pairs


def _phrases() -> list[Pair]:
    lines = _PHRASES.read_text("utf-8").splitlines()[1:]
    pairs = [line.split(" | ") for line in lines if line]
    return [(source, target) for source, target in pairs]


def _filled(pair: Pair, r: random.Random) -> Pair:
    """Replace what stands in braces by a value of its kind, the same on both sides."""
    number = str(r.randint(2, 90))
    values = {kind: r.choice(given.split(", ")).split("=") for kind, given in _VALUES.items()}
    people = r.sample([values["man"], values["woman"]], 2)
    values.update(name=people[0], other=people[1], number=[number])
    source, target = (
        side.format(**{kind: value[end] for kind, value in values.items()})
        for side, end in zip(pair, (0, -1), strict=True)
    )
    return source, target


def _grammatical(count: int, seed: int) -> Iterator[Pair]:
    """Generate sentences, a third of them of up to 25 tokens, the others of up to 9."""
    for share, max_length in ((count // 3, 25), (count - count // 3, 9)):
        for pair in generate(share, seed, 1, max_length):
            if not any(name in pair.source for name in _TRANSLATED):
                yield pair.source, pair.target.replace(" ?", "?").replace(" ;", ";")


if __name__ == "__main__":
    main()
