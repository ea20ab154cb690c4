"""A hundred hostile strings through TensorFlow's C runtime; `make fuzz` sends more.

tests/stand_ins/test_model_server.py sends some over gRPC.
"""

import pytest
from examples import for_each
from hostile_strings import LONG_LINES, Company, hostile_batches
from interfaces import through_c, through_python

pytestmark = [pytest.mark.serving, pytest.mark.slow]


def test_neighbors_of_hostile_strings_do_not_change(export_dir, c_session):
    company, reference = Company(through_c(c_session)), through_python(export_dir)
    for_each(hostile_batches(50), 2, lambda batch: company.check(batch, reference))
    company.check(LONG_LINES[:1], reference)
