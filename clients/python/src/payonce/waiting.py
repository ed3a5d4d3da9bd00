"""Pauses between attempts."""

from __future__ import annotations

import math
import re
from datetime import datetime, timezone
from email.utils import parsedate

_FIRST_CEILING_SECONDS = 0.5
"""Upper limit of the random part of the first pause. The limit doubles with each attempt."""
_HIGHEST_CEILING_SECONDS = 8.0
_LONGEST_SECONDS = 3_600

_MONTHS = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_TIME = r"[0-9]{2}:[0-9]{2}:[0-9]{2}"
# The three forms of an HTTP date (RFC 9110, section 5.6.7). `parsedate` alone accepts far more.
_DATE = re.compile(
    rf"(?:[A-Z][a-z]{{2}}, [0-9]{{2}} {_MONTHS} [0-9]{{4}}|[A-Z][a-z]{{5,8}}, [0-9]{{2}}-{_MONTHS}-[0-9]{{2}}) {_TIME} GMT"
    rf"|[A-Z][a-z]{{2}} {_MONTHS} [ 0-9][0-9] {_TIME} [0-9]{{4}}"
)


def pause_seconds(attempt: int, fraction: float, asked: float = 0.0) -> float:
    """Return the seconds before the next attempt: ``asked`` (the API's ``Retry-After``), plus a random time.

    ``attempt`` counts from 0. ``fraction`` is a random number from 0 to 1. The random time (full jitter) spreads the
    retries of callers that failed together.
    """
    ceiling = min(_HIGHEST_CEILING_SECONDS, _FIRST_CEILING_SECONDS * 2.0 ** min(attempt, 10))
    return asked + fraction * ceiling


def parse_retry_after(header: str | None, now: float) -> int | None:
    """Return the seconds to wait for a ``Retry-After`` (RFC 9110, section 10.2.3), from 0 to 3,600.

    ``None`` if the header is absent or invalid. ``now`` is the Unix time in seconds.
    """
    text = (header or "").strip()
    if re.fullmatch("[0-9]+", text):
        return min(int(text[:10]), _LONGEST_SECONDS)
    date = parsedate(text) if _DATE.fullmatch(text) else None
    if date is None:
        return None
    try:
        seconds = datetime(*date[:6], tzinfo=timezone.utc).timestamp() - now
    except ValueError:
        return None
    return min(max(0, math.ceil(seconds)), _LONGEST_SECONDS)
