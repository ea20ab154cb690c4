"""Text with typing errors: two neighboring letters exchanged in a share of its words.

    python benchmark/exchange_letters.py --share=0.1 < test.en > test.noisy.en

Words of at least four letters lose nothing but the order of two letters within, so a reader still
understands them. The same text, share and seed give the same errors.
"""

import argparse
import random
import re
import sys

_WORD = re.compile(r"[^\W\d_]{4,}")


def exchanged(text: str, share: float, seed: int = 1) -> str:
    """Exchange two inner neighbors in about `share` of all words of the text, 0 to 1.

    Short words are left alone, and so the longer ones bear their part.
    """
    random_numbers = random.Random(seed)
    words = len(text.split())
    places = [match.span() for match in _WORD.finditer(text)]
    chosen = random_numbers.sample(places, min(round(share * words), len(places)))
    letters = list(text)
    for start, end in chosen:
        i = random_numbers.randrange(start + 1, end - 2)
        letters[i], letters[i + 1] = letters[i + 1], letters[i]
    return "".join(letters)


def main() -> None:
    """Read standard input, write standard output."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--share", type=float, default=0.1, help="of the words, 0 to 1")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    sys.stdout.write(exchanged(sys.stdin.read(), arguments.share, arguments.seed))


if __name__ == "__main__":
    main()
