"""Reads the event file of a run directory with TensorBoard itself and compares it with metrics.jsonl.

Usage: python3 read_events.py RUN    (needs the package `tensorboard`)
"""

import json
import struct
import sys
from pathlib import Path

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

run = Path(sys.argv[1])
lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
events = EventAccumulator(str(run), size_guidance={"scalars": 0})
events.Reload()


def single(number):
    """As 32 bits hold it."""
    return struct.unpack("f", struct.pack("f", number))[0]


tags = sorted({tag for line in lines for tag in line if tag != "step"})
assert tags and tags == sorted(events.Tags()["scalars"]), (tags, events.Tags())
for tag in tags:
    expected = [(line["step"], single(line[tag])) for line in lines if tag in line]
    found = [(event.step, event.value) for event in events.Scalars(tag)]
    assert found == expected, (tag, found, expected)
print(f"TensorBoard reads {len(lines)} steps of {len(tags)} curves: {', '.join(tags)}")
