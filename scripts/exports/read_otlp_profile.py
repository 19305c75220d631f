"""Reads profiles with OpenTelemetry's own messages. Arguments: the files."""

import sys

from google.protobuf.unknown_fields import UnknownFieldSet
from opentelemetry.proto.profiles.v1development.profiles_pb2 import Link, ProfilesData


def expect_known(message):
    """A field that the messages do not have is an error."""
    assert not UnknownFieldSet(message), message
    for field, value in message.ListFields():
        if field.message_type:
            # A repeated field has the method `add`.
            for one in value if hasattr(value, "add") else [value]:
                expect_known(one)


def read(path):
    with open(path, "rb") as file:
        data = ProfilesData.FromString(file.read())
    expect_known(data)
    tables = data.dictionary
    for table in (
        tables.mapping_table,
        tables.location_table,
        tables.function_table,
        tables.attribute_table,
        tables.stack_table,
    ):
        assert table[0] == type(table[0])(), table[0]
    assert tables.link_table[0] == Link(trace_id=bytes(16), span_id=bytes(8))
    assert tables.string_table[0] == "" and len(set(tables.string_table)) == len(tables.string_table)
    [resource] = data.resource_profiles
    [scope] = resource.scope_profiles
    [profile] = scope.profiles
    stacks, total = set(), 0
    for sample in profile.samples:
        [value] = sample.values
        stack = tuple(tables.stack_table[sample.stack_index].location_indices)
        assert value > 0 and stack and stack not in stacks, sample
        stacks.add(stack)
        total += value
        for location in stack:
            [line] = tables.location_table[location].lines
            assert tables.string_table[tables.function_table[line.function_index].name_strindex]
    unit = tables.string_table[profile.sample_type.unit_strindex]
    print(f"{path}: {len(stacks)} stacks, {len(tables.function_table) - 1} methods, {total:,} {unit}")


for path in sys.argv[1:]:
    read(path)
