"""Starts the emulator, with SQS message move tasks and a scheduler that passes the scheduled time to its target.

EventBridge Scheduler replaces context attributes such as <aws.scheduler.scheduled-time> in a target's input (EventBridge
Scheduler user guide, "Adding context attributes"), evaluates `cron` in the schedule's time zone, and invokes a function
asynchronously, so that a failed invocation is retried. The emulator does none of this, so this file replaces its check of due
schedules. The other files add:

- message_move.py: SQS message move tasks;
- leading_keys.py: a condition key for DynamoDB policies;
- compression.py: compressed responses of REST APIs;
- buckets.py: Object Lock, and conditions in bucket policies;
- generated_secrets.py: secrets without punctuation, and with known ARNs;
- metric_math.py: alarms on metric math;
- streams.py: stream positions after a restart;
- saved_addresses.py: addresses after a restart on another port;
- saved_state.py: saving on request;
- clock.py: a clock that can be advanced;
- guard.py: a check that refuses requests from outside the run.

Everything else is unchanged.
"""

import importlib.metadata
import json
import logging
import os
import time
import uuid
from datetime import datetime, timezone
from zoneinfo import ZoneInfo

import buckets
import compression
import generated_secrets
import leading_keys
import message_move
import metric_math
import streams
from hypercorn.config import Config
from ministack.services import eventbridge, lambda_svc, scheduler

# This file replaces and calls internals of the emulator. Compare services/scheduler.py and services/sqs.py before an upgrade.
MADE_FOR = "1.5.33"
LOOK_EVERY_SECONDS = 1
# Maximum number of schedules that fire in one check. Each invocation starts a process, and nearly all schedules are due
# at the same time after the clock has been advanced.
MOST_AT_ONCE = 2
# AWS keeps an idle connection open for longer than its clients do. If a server closes an idle connection first, a
# request in transit can be lost.
IDLE_CONNECTION_SECONDS = 3600

logger = logging.getLogger("scheduler")
# The newest scheduled time that has fired, in epoch seconds, for each schedule, identified by the emulator's key. Not
# persisted: after a restart, an `at` schedule that was not deleted fires again.
_fired_for = {}
_started = time.time()


def look(now=None):
    """Skips recurring times before the start of this process."""
    now = time.time() if now is None else now
    account, region = scheduler.get_account_id(), scheduler.get_region()
    schedules = dict(scheduler._schedules._data)
    for key in _fired_for.keys() - schedules.keys():
        del _fired_for[key]
    fired = 0
    try:
        for key, schedule in schedules.items():
            try:
                fired += _look_at(key, schedule, now)
            except Exception:
                logger.exception("schedule %s", key)
            if fired == MOST_AT_ONCE:
                break
    finally:
        scheduler.set_request_account_id(account)
        scheduler.set_request_region(region)


def _look_at(key, schedule, now):
    start, end = scheduler._to_epoch(schedule.get("StartDate")), scheduler._to_epoch(schedule.get("EndDate"))
    if schedule.get("State") != "ENABLED" or (start is not None and now < start) or (end is not None and now > end):
        return False
    due = _newest_due(schedule, now, _fired_for.get(key))
    if due is None:
        return False
    _fired_for[key] = due
    scheduler.set_request_account_id(key[0])
    scheduler.set_request_region(key[1])
    _invoke(schedule, due)
    if schedule["ScheduleExpression"].startswith("at(") and schedule.get("ActionAfterCompletion") == "DELETE":
        scheduler._schedules._data.pop(key, None)
    return True


def _newest_due(schedule, now, fired_for):
    """Returns epoch seconds; None when no scheduled time is due after `fired_for`."""
    expression = schedule["ScheduleExpression"].strip()
    name = schedule.get("ScheduleExpressionTimezone") or "UTC"
    # Windows has no time zone database; schedules in UTC do not need one.
    zone = timezone.utc if name == "UTC" else ZoneInfo(name)
    if expression.startswith("at("):
        wall = datetime.fromisoformat(expression[3:-1].strip()).replace(tzinfo=zone)
        return wall.timestamp() if fired_for is None and wall.timestamp() <= now else None
    interval = eventbridge._parse_rate_seconds(expression)
    if interval is not None:
        # Intervals are counted from a fixed time, so that a late check does not shift later scheduled times.
        anchor = scheduler._to_epoch(schedule.get("StartDate")) or schedule["CreationDate"]
        due = anchor + (now - anchor) // interval * interval
        return due if due > (max(_started, anchor) if fired_for is None else fired_for) else None
    fields = eventbridge._parse_cron_fields(expression)
    if fields is None:
        raise ValueError(f"cannot read {expression}")
    since = max(_started, schedule["CreationDate"]) if fired_for is None else fired_for
    return _newest_of_cron(fields, zone, since, now)


def _newest_of_cron(fields, zone, since, now):
    newest = None
    wall = datetime.fromtimestamp(since, tz=zone)
    while True:
        wall = eventbridge._cron_next_fire(fields, wall)
        if wall is None or wall.timestamp() > now:
            return newest
        # A local time that daylight saving skips does not exist; a repeated one counts once, at its first occurrence.
        exists = datetime.fromtimestamp(wall.timestamp(), tz=zone).replace(fold=0) == wall
        if exists and wall.timestamp() > since:
            newest = wall.timestamp()


def _invoke(schedule, due):
    target = with_context_attributes(schedule, due)
    if ":lambda:" not in target["Arn"]:
        event = {"Source": "aws.scheduler", "DetailType": "Scheduled Event", "Detail": "{}", "Time": due}
        eventbridge._invoke_target(target, {**event, "Resources": [schedule["Arn"]]}, schedule)
        return
    function, config, name = lambda_svc._get_func_record_for_ref(target["Arn"])
    if not function or not config:
        logger.warning("schedule %s: there is no function %s", schedule["Name"], name)
        return
    record = lambda_svc._execution_record_for_config(function, config)
    lambda_svc.invoke_async_with_retry(record, json.loads(target.get("Input") or "{}"))


def with_context_attributes(schedule, due):
    target = schedule["Target"]
    text = target.get("Input")
    if text is None:
        return target
    attributes = {
        "schedule-arn": schedule["Arn"],
        "scheduled-time": datetime.fromtimestamp(due, tz=timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "execution-id": uuid.uuid4().hex[:16],
        "attempt-number": "1",
    }
    for name, value in attributes.items():
        text = text.replace(f"<aws.scheduler.{name}>", value)
    return {**target, "Input": text}


def _require(used):
    missing = [f"{module.__name__}.{name}" for module, names in used.items() for name in names if not hasattr(module, name)]
    if missing:
        raise SystemExit(f"local/emulator.py does not find {', '.join(missing)}")


def _extend():
    found = importlib.metadata.version("ministack")
    if found != MADE_FOR:
        raise SystemExit(f"local/emulator.py is made for ministack {MADE_FOR}, and this is {found}: compare the replaced internals")
    used = {
        scheduler: ["_tick_schedules", "_ticker_loop", "_SCHEDULE_TICK_INTERVAL", "_schedules", "_to_epoch"],
        eventbridge: ["_parse_rate_seconds", "_parse_cron_fields", "_cron_next_fire", "_invoke_target"],
        **buckets.USED,
        **compression.USED,
        **generated_secrets.USED,
        **leading_keys.USED,
        **message_move.USED,
        **streams.USED,
        lambda_svc: ["_get_func_record_for_ref", "_execution_record_for_config", "invoke_async_with_retry"],
    }
    _require(used)
    _require(metric_math.USED)
    scheduler._tick_schedules = look
    scheduler._SCHEDULE_TICK_INTERVAL = LOOK_EVERY_SECONDS
    # A property that ignores assignments, because the emulator would set a shorter time when it starts its server.
    Config.keep_alive_timeout = property(lambda _config: IDLE_CONNECTION_SECONDS, lambda _config, _seconds: None)
    buckets.install()
    compression.install()
    generated_secrets.install()
    leading_keys.install()
    message_move.install()
    metric_math.install()
    streams.install()
    # These modules are imported last, because they import the application, which binds functions that the modules above
    # replace.
    import clock
    import guard
    import saved_addresses
    import saved_state

    for part in (saved_addresses, saved_state, clock, guard):
        _require(part.USED)
        part.install()
    global _started
    _started = time.time()


if __name__ == "__main__":
    # The state contains secrets and data of payers and receivers, so only the current user may read its files.
    os.umask(0o077)
    _extend()
    from ministack.app import main

    main()
