"""Configuration files in text protobuf form whose messages no package brings."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, text_format
from google.protobuf import wrappers_pb2 as wrappers

_Field = descriptor_pb2.FieldDescriptorProto
_FILE = "serving/configuration.proto"


def read_message(path: str | Path, fields: Mapping[str, str]) -> Any:
    """Parse a file as strictly as protobuf does.

    Args:
        path: the file.
        fields: a type for each field's name: "string", or the full name of a wrapper
            message, such as "google.protobuf.Int64Value".

    Returns:
        A message with these fields.

    Raises:
        ValueError: it is not such a message; the text has file, line and column.
    """
    message = _message_class(fields)()
    try:
        return text_format.Parse(Path(path).read_text("utf-8"), message)
    except text_format.ParseError as error:
        raise ValueError(f"{path}: {error}") from error


def _message_class(fields: Mapping[str, str]) -> type:
    file = descriptor_pb2.FileDescriptorProto(
        name=_FILE, syntax="proto3", dependency=[wrappers.DESCRIPTOR.name]
    )
    message = file.message_type.add(name="Configuration")
    for number, (name, field_type) in enumerate(fields.items(), start=1):
        field = message.field.add(name=name, number=number, label=_Field.LABEL_OPTIONAL)
        if "." in field_type:
            field.type, field.type_name = _Field.TYPE_MESSAGE, "." + field_type
        else:
            field.type = _Field.Type.Value(f"TYPE_{field_type.upper()}")
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(wrappers.DESCRIPTOR.serialized_pb)
    pool.AddSerializedFile(file.SerializeToString())
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(message.name))
