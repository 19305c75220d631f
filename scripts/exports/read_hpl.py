"""Reads a log of samples by the records that Honest Profiler's agent and parser define: prints threads and methods.

Usage: read_hpl.py FILE. Needs nothing else. Honest Profiler itself is not in any registry.
"""

import struct
import sys
from collections import Counter


class Log:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, form):
        values = struct.unpack_from(">" + form, self.data, self.at)
        self.at += struct.calcsize(">" + form)
        return values if len(values) > 1 else values[0]

    def text(self):
        length = self.take("i")
        assert 0 <= length <= len(self.data) - self.at, f"a string of {length} bytes at {self.at}"
        self.at += length
        return self.data[self.at - length : self.at].decode("utf-8")


def main():
    with open(sys.argv[1], "rb") as file:
        log = Log(file.read())
    threads, methods, samples, innermost, used = {}, {}, Counter(), Counter(), set()
    left, is_innermost, last = 0, False, {}
    while log.at < len(log.data):
        kind = log.take("B")
        if kind == 11:
            assert left == 0, f"{left} frames are missing at {log.at}"
            left, thread, seconds, nanoseconds = log.take("iqqq")
            assert 0 <= nanoseconds < 1_000_000_000, nanoseconds
            time = (seconds, nanoseconds)
            assert time >= last.get(thread, time), f"{thread} goes back at {log.at}"
            last[thread] = time
            samples[thread] += 1
            left, is_innermost = max(left, 0), True
        elif kind in (2, 21):
            # 2 has no line.
            bci, method = log.take("iq") if kind == 2 else log.take("iiq")[::2]
            assert left > 0, f"a frame outside of a sample at {log.at}"
            left -= 1
            used.add(method)
            innermost[method] += is_innermost
            is_innermost = False
        elif kind == 31:
            method = log.take("q")
            file, type, generic, name, descriptor, of_generic = [log.text() for _ in range(6)]
            methods[method] = f"{type}.{name}{descriptor}"
        elif kind == 4:
            thread = log.take("q")
            threads[thread] = log.text() or threads.get(thread, "")
        else:
            assert kind == 0, f"record {kind} at {log.at - 1}"
            break
    assert left == 0, f"{left} frames are missing at the end"
    assert used <= methods.keys(), f"methods without a name: {used - methods.keys()}"
    assert samples.keys() <= threads.keys(), "threads without a name"
    print(f"{sys.argv[1]}: {samples.total()} samples, {len(methods)} methods")
    for thread, count in samples.most_common(5):
        print(f"  {count:>9}  thread {thread} {threads[thread]}")
    for method, count in innermost.most_common(3):
        print(f"  {count:>9}  {methods[method]}")


main()
