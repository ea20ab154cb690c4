"""First lines of errors, as commands tell them."""

import pytest

from rnnsearch_tf.errors import first_line


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("\n  a line\nanother", "a line"),
        ("these:\n\n  a\n  b", "these: a"),
        ("", "ValueError"),
        (" \n", "ValueError"),
        (
            "{{function_node __wrapped__SaveV2_device_/job:localhost/replica:0}} x.tmp; No space "
            "left on device [Op:SaveV2]",
            "x.tmp; No space left on device",
        ),
        (
            "Matrix size-incompatible: [2,3], [1,3] [Op:MatMul] name: ",
            "Matrix size-incompatible: [2,3], [1,3]",
        ),
        ("a" * 10_000, "a" * 500 + "…"),
    ],
)
def test_the_first_line_is_for_people(text, told):
    assert first_line(ValueError(text)) == told
