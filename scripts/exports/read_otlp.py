"""Reads spans in the JSON encoding of OTLP with OpenTelemetry's own messages. Arguments: the files."""

import base64
import json
import sys

from google.protobuf import json_format
from opentelemetry.proto.trace.v1.trace_pb2 import Span, TracesData

IDS = ("traceId", "spanId", "parentSpanId")


def with_base64_ids(value):
    """Ids are hexadecimal in OTLP, where the JSON of protobuf has base64; enums are numbers, never names."""
    if isinstance(value, list):
        return [with_base64_ids(one) for one in value]
    if not isinstance(value, dict):
        return value
    for key in ("kind", "code"):
        assert isinstance(value.get(key, 0), int), value
    return {
        key: base64.b64encode(bytes.fromhex(one)).decode() if key in IDS else with_base64_ids(one)
        for key, one in value.items()
    }


def read(path):
    spans = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            # A field that the messages do not have is an error.
            data = json_format.ParseDict(with_base64_ids(json.loads(line)), TracesData())
            for resource in data.resource_spans:
                assert [one.key for one in resource.resource.attributes].count("service.name") <= 1
                for scope in resource.scope_spans:
                    assert scope.spans, "an empty envelope"
                    for span in scope.spans:
                        assert len(span.trace_id) == 16 and len(span.span_id) == 8, span
                        assert any(span.trace_id) and any(span.span_id) and span.name, span
                        assert 0 < span.start_time_unix_nano <= span.end_time_unix_nano, span
                        keys = [attribute.key for attribute in span.attributes]
                        assert len(set(keys)) == len(keys), keys
                        assert span.kind == Span.SPAN_KIND_INTERNAL, span
                        id = (span.trace_id, span.span_id)
                        assert id not in spans, span
                        spans[id] = span
    threads, handed, links = set(), 0, 0
    for (trace, _), span in spans.items():
        thread = thread_of(span)
        threads.add(thread)
        for link in span.links:
            links += 1
            assert (link.trace_id, link.span_id) in spans and link.trace_id != trace, span
        if span.parent_span_id:
            parent = spans[trace, span.parent_span_id]
            assert parent.start_time_unix_nano <= span.start_time_unix_nano, (parent, span)
            if thread_of(parent) == thread:
                assert span.end_time_unix_nano <= parent.end_time_unix_nano, (parent, span)
            else:
                handed += 1
    traces = len({trace for trace, _ in spans})
    print(
        f"{path}: {len(spans)} spans in {traces} traces, {len(threads)} threads, "
        f"{handed} with a parent in another thread, {links} links"
    )


def thread_of(span):
    return next(one.value.int_value for one in span.attributes if one.key == "thread.id")


for path in sys.argv[1:]:
    read(path)
