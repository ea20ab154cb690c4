"""A few hundred hostile strings through TensorFlow's C runtime; `make fuzz` tries more."""

import hostile_strings
import pytest
from hostile_strings import Company
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from interfaces import through_c, through_python
from tfserving.c_session import CSession

pytestmark = [pytest.mark.serving, pytest.mark.slow]


def test_neighbors_of_hostile_strings_do_not_change(export_dir):
    with CSession(export_dir / "1") as session:
        company, reference = Company(through_c(session)), through_python(export_dir)

        @settings(
            max_examples=20,
            deadline=None,
            derandomize=True,
            database=None,
            suppress_health_check=list(HealthCheck),
        )
        @given(st.lists(hostile_strings.hostile_strings(), min_size=20, max_size=20))
        def nobody_notices(hostile):
            company.check(hostile, reference)

        nobody_notices()
        company.check(hostile_strings.LONG_LINES[:2], reference)
