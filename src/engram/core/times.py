"""Moments as RFC 3339 text in UTC with milliseconds: text order is time order."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

_LOOSE = re.compile(r"^\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}(:\d{2}(\.\d+)?)?\s*(Z|[+-]\d{2}:?\d{2})?$")


def stamp(moment: datetime) -> str:
    """`2026-03-01T09:30:00.125Z`."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def read(text: str) -> datetime:
    """What `stamp` made. Raises ValueError on anything else."""
    return datetime.fromisoformat(text)


def for_file_names(at: str) -> str:
    """`20260301T093000Z` for what `stamp` made."""
    return read(at).astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")


def earlier(at: str, *, minutes: int) -> str:
    return stamp(read(at) - timedelta(minutes=minutes))


def normalise(text: str) -> str | None:
    """Times of other programs (`2026-03-01 09:30:00`, any offset; none means UTC) as ours, or None."""
    text = text.strip()
    if not _LOOSE.match(text):
        return None
    try:
        moment = datetime.fromisoformat(text)
        return stamp(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
    except (ValueError, OverflowError):
        return None


def age(at: str, now: str) -> str:
    """How long ago, in one unit: `just now`, `5 min ago`, `3 h ago`, `2 days ago`, `4 months ago`."""
    seconds = (read(now) - read(at)).total_seconds()
    for size, name in ((31_557_600, "year"), (2_629_800, "month"), (86_400, "day")):
        if seconds >= size:
            count = int(seconds // size)
            return f"{count} {name}{'s' if count > 1 else ''} ago"
    if seconds >= 3600:
        return f"{int(seconds // 3600)} h ago"
    return f"{int(seconds // 60)} min ago" if seconds >= 60 else "just now"


def seconds_between(one: str, other: str) -> float:
    return abs((read(other) - read(one)).total_seconds())
