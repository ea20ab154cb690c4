"""Which words of sentence pairs are links of one another, and what attention they ask for."""

import dataclasses

import numpy as np


@dataclasses.dataclass(frozen=True, eq=False)
class WordLinks:
    """The links of every pair of a corpus.

    All links stand in one row, pair by pair. Arrays may be memory-mapped files; only what is asked
    for is read.
    """

    ends: np.ndarray  # int32 [all links, 2]; places of source and target word, from 0
    starts: np.ndarray  # int64 [N + 1]; pair i has ends[starts[i] : starts[i + 1]]

    def __len__(self) -> int:
        """N, the number of pairs."""
        return len(self.starts) - 1

    def guide(self, rows: np.ndarray, source_steps: int, target_steps: int) -> np.ndarray:
        """A, the attention that links ask for: A_ij = 1/|links of i| where (j, i) is one, else 0.

        The row of a target word without a link is all 0, and so are those of `</s>` and padding:
        they are left to themselves.

        Args:
            rows: of which pairs, int [B].
            source_steps: Tx.
            target_steps: Ty.

        Returns:
            float32 [B, Ty, Tx].
        """
        counts = self.starts[rows + 1] - self.starts[rows]
        before = np.cumsum(counts) - counts
        places = np.arange(counts.sum()) + np.repeat(self.starts[rows] - before, counts)
        source, target = self.ends[places].T
        found: np.ndarray = np.zeros((len(rows), target_steps, source_steps), np.float32)
        found[np.repeat(np.arange(len(rows)), counts), target, source] = 1
        return found / np.maximum(found.sum(axis=2, keepdims=True), 1)
