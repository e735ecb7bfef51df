"""events/: the metrics for TensorBoard."""

import math
import time
from collections.abc import Mapping
from pathlib import Path


class Events:
    """An event file. It is written at once: `SummaryWriter` writes in a thread, which cannot report a full disk."""

    def __init__(self, directory: Path):
        from tensorboardX.event_file_writer import EventsWriter  # slow to import

        directory.mkdir(exist_ok=True)
        self._writer = EventsWriter(str(directory / "events"))

    def add(self, metrics: Mapping[str, float], env_steps: int) -> None:
        """Writes the metrics that are finite."""
        from tensorboardX.proto.event_pb2 import Event  # pyright: ignore[reportAttributeAccessIssue] — generated
        from tensorboardX.summary import scalar

        for name, value in metrics.items():
            if math.isfinite(value):
                self._writer.write_event(Event(wall_time=time.time(), step=env_steps, summary=scalar(name, value)))
        self._writer.flush()

    def close(self) -> None:
        self._writer.close()
