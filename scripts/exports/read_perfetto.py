"""Reads a trace with Perfetto's own descriptors: prints the threads with their slices.

Usage: perfetto.py FILE. Needs the packages perfetto and protobuf.
"""

import sys

from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent


def unknown(message):
    """Fields that the descriptors do not have, here or below."""
    from google.protobuf.unknown_fields import UnknownFieldSet

    found = len(UnknownFieldSet(message))
    for field, value in message.ListFields():
        if field.message_type:
            values = value if getattr(field, "is_repeated", False) else [value]
            found += sum(unknown(inner) for inner in values)
    return found


def main():
    trace = Trace()
    with open(sys.argv[1], "rb") as file:
        trace.ParseFromString(file.read())
    names, tracks, titles, open_slices, counts = {}, {}, {}, {}, {}
    last, instants = {}, {}
    for packet in trace.packet:
        assert unknown(packet) == 0, packet
        sequence = packet.trusted_packet_sequence_id
        if packet.sequence_flags & packet.SEQ_INCREMENTAL_STATE_CLEARED:
            names[sequence] = {}
        if packet.HasField("trace_packet_defaults"):
            tracks[sequence] = packet.trace_packet_defaults.track_event_defaults.track_uuid
        for name in packet.interned_data.event_names:
            names[sequence][name.iid] = name.name
        if packet.HasField("track_descriptor"):
            track = packet.track_descriptor
            thread = track.thread.thread_name or track.name
            titles[track.uuid] = thread or track.process.process_name
        if packet.HasField("track_event"):
            track = tracks[sequence]
            assert packet.HasField("timestamp") and track in titles
            assert last.get(track, 0) <= packet.timestamp, "time does not go back"
            last[track] = packet.timestamp
            stack = open_slices.setdefault(track, [])
            if packet.track_event.type == TrackEvent.TYPE_SLICE_BEGIN:
                stack.append(names[sequence][packet.track_event.name_iid])
                counts[track] = counts.get(track, 0) + 1
            elif packet.track_event.type == TrackEvent.TYPE_SLICE_END:
                stack.pop()
            else:
                assert packet.track_event.type == TrackEvent.TYPE_INSTANT
                assert packet.track_event.name and packet.track_event.categories
                instants[track] = instants.get(track, 0) + 1
    for track, title in titles.items():
        print(f"  {title}: {counts.get(track, 0)} slices, {len(open_slices.get(track, []))} open, "
              f"{instants.get(track, 0)} instants, up to {last.get(track, 0)} ns")


main()
