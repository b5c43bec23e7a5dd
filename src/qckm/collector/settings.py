"""What can be set of a collector, and what it is where nobody says anything."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, Literal

from qckm.errors import CollectorError

HOUR, DAY = 3600, 86400


def _setting(default: Any, words: str, least: float | None = None, most: float | None = None) -> Any:
    return field(default=default, metadata={"help": words, "range": None if most is None else (least, most)})


@dataclass(frozen=True)
class Settings:
    """How a collector divides what comes in, how long it keeps what, and how much it takes. Each is a flag, too."""

    group_depth: int = _setting(1, "Words of a name that make its group: 1 is berlin of berlin/press-3.", 1, 8)
    window: Literal["hour", "day"] = _setting("hour", "The windows that messages of devices are added up in.")
    keep_hours: int = _setting(14, "After so many days, the hours of a day are added up to the day.", 1, 36_500)
    keep_parts: int = _setting(90, "After so many days, a part cannot be withdrawn or replaced any more.", 1, 36_500)
    keep_days: int = _setting(0, "After so many days, windows are forgotten; 0: never.", 0, 36_500)
    late: int = _setting(
        7, "Days that the time in a message may lie back: beyond, the time of arrival counts.", 0, 36_500
    )
    replay_window: int = _setting(1024, "Sequence numbers of a boot that are remembered one by one.", 64, 1 << 20)
    most_body: int = _setting(16 << 20, "Bytes of a request of messages.", 1 << 10, 1 << 30)
    most_part: int = _setting(4 << 20, "Bytes of a sketch.", 1 << 10, 1 << 30)
    most_waiting: int = _setting(
        20_000, "Messages that may wait for the disk: beyond, senders come again later.", 1, 1 << 24
    )
    messages_per_second: float = _setting(
        20_000.0, "What a token may send, in the long run; a kB of parts is one.", 1e-3, 1e9
    )
    failures_per_second: float = _setting(
        5.0, "How often one address may show a wrong token, in the long run.", 1e-3, 1e9
    )
    clusters: int = _setting(5, "Centroids on the page, and by which drift is explained; 0: none.", 0, 1000)
    drift_every: Literal["hour", "day"] = _setting("day", "Windows that are compared with the one before.")
    drift_level: float = _setting(0.01, "The share of false alarms of such a comparison.", 1e-12, 0.5)
    drift_effect: float = _setting(0.01, "A change of a smaller share of the rows than this is no drift.", 0, 1)
    webhook: str = _setting("", "A URL that news of drift is posted to.")
    rho: float = _setting(0.0, "What private releases may spend in all, as ρ of zCDP; 0: no releases.", 0, 1e9)

    def __post_init__(self) -> None:
        if self.replay_window < 64 or self.replay_window % 64:
            raise CollectorError(f"Expected a replay window of a multiple of 64, got {self.replay_window}.")
        for each in fields(self):
            value, limits = getattr(self, each.name), each.metadata["range"]
            if limits and not limits[0] <= value <= limits[1]:
                name = each.name.replace("_", "-")
                raise CollectorError(f"Expected {name} from {limits[0]:,} to {limits[1]:,}, got {value:,}.")
        if self.keep_hours < self.late:
            raise CollectorError(
                f"Expected hours to be kept while late messages are taken, {self.late} days, got {self.keep_hours}."
            )
        if self.keep_days and self.keep_days < max(self.keep_parts, self.keep_hours):
            raise CollectorError("Expected windows to be kept at least as long as hours and parts within them.")

    @property
    def span(self) -> int:
        """The length of a window of messages, in seconds."""
        return HOUR if self.window == "hour" else DAY
