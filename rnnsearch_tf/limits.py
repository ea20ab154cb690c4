"""Ranges of numbers, for settings and flags."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Limits:
    """A range of finite numbers, by default with its ends."""

    low: float = 0
    high: float = 2**31 - 1  # int32
    without_low: bool = False
    without_high: bool = False

    def __str__(self) -> str:
        """Return the range for a message: "at least 1 and at most 1,000"."""
        least = "above" if self.without_low else "at least"
        most = "below" if self.without_high else "at most"
        return f"{least} {_text(self.low)} and {most} {_text(self.high)}"

    def check(self, name: str, value: float, error: type[Exception] = ValueError) -> None:
        """Raise an error for a number outside the range."""
        is_high_enough = value > self.low if self.without_low else value >= self.low
        is_low_enough = value < self.high if self.without_high else value <= self.high
        if not (is_high_enough and is_low_enough):
            raise error(f"{name} {value}: must be {self}")


COUNT = Limits(1)
COUNT_OR_NONE = Limits(0)  # 0 stands for none, or for no limit
SEED = Limits(0, 2**32 - 1)
INT64 = 2**63 - 1


def _text(number: float) -> str:
    return f"{number:,}" if isinstance(number, int) else f"{number:g}"
