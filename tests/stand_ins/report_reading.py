"""A report of a reproduction, read back from its JSON."""

import dataclasses
import json

from rnnsearch_tf.json_files import record
from rnnsearch_tf.reproduction.report import Report


def read_report(text: str) -> Report:
    """Read what `Report.to_json` wrote; the claims are tested again."""
    values = json.loads(text)
    return record(Report, {field.name: values[field.name] for field in dataclasses.fields(Report)})
