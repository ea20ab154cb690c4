"""Make typing errors in a text: exchange two neighboring letters in a share of its words.

    python benchmark/exchange_letters.py --share=0.1 < test.en > test.noisy.en

Only words of at least four letters change, and only in the order of two inner letters, so a reader
still understands them. The same text, share and seed give the same errors.
"""

import argparse
import random
import sys

import one_line

from rnnsearch_tf.text.letter_noise import exchange_letters


def main() -> None:
    """Read standard input, write standard output."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--share", type=float, default=0.1, help="of the words, 0 to 1")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    if not 0 <= arguments.share <= 1:
        parser.error(f"--share {arguments.share:g} is not between 0 and 1")
    random_numbers = random.Random(arguments.seed)
    sys.stdout.write(exchange_letters(sys.stdin.read(), arguments.share, random_numbers))


if __name__ == "__main__":
    one_line.run(main)
