"""First lines of errors, as commands tell them, and the kinds of these errors."""

import errno
import os

import pytest

from rnnsearch_tf.errors import InputError, TemporaryError, first_line, input_errors


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
        (
            "Graph execution error:\n\n"
            "Detected at node a/B defined at (most recent call last):\n"
            '  File "a.py", line 1, in f\n\n  File "b.py", line 2, in g\n\n'
            "Detected at node C defined at (most recent call last):\n<stack traces unavailable>\n"
            "2 root error(s) found.\n  (0) UNAVAILABLE: Connection reset by peer\n"
            "\t [[{{node a/B}}]]\n  (1) CANCELLED: another [Op:__inference__global_update_1]",
            "UNAVAILABLE: Connection reset by peer",
        ),
        ("a" * 10_000, "a" * 500 + "…"),
    ],
)
def test_the_first_line_is_for_people(text, told):
    assert first_line(ValueError(text)) == told


@pytest.mark.parametrize(
    ("code", "kind"), [(errno.EIO, TemporaryError), (errno.ENOENT, InputError)]
)
def test_a_disk_that_may_come_back_is_told_by_the_status(code, kind):
    with pytest.raises(InputError, match=r"^disk: ") as caught, input_errors("disk"):
        raise OSError(code, os.strerror(code))
    assert type(caught.value) is kind
