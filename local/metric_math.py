"""Alarms on metric math.

The emulator's CloudFormation refuses AWS::CloudWatch::Alarm with `Metrics`. Here, such an alarm is created, but on a metric that
is never published, so it never fires.
"""

from ministack.services.cloudformation import provisioners

# This file wraps internals of the emulator.
USED = {provisioners: ["_cw_metric_alarm_record"]}

_record = provisioners._cw_metric_alarm_record


def record(name, props):
    if props.get("Metrics"):
        others = {key: value for key, value in props.items() if key != "Metrics"}
        props = {**others, "Namespace": "MetricMath", "MetricName": name}
    return _record(name, props)


def install():
    provisioners._cw_metric_alarm_record = record
