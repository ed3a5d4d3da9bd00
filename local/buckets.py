"""S3 features of the archive that the emulator lacks.

Object Lock: CloudFormation's properties `ObjectLockEnabled` and `ObjectLockConfiguration` (AWS CloudFormation template
reference, "AWS::S3::Bucket").

The condition key `s3:if-none-match`, with the header's value (Amazon S3 user guide, "Enforce conditional writes on Amazon S3
buckets"). Without the key, a policy that requires the header denies every write.

TLS: the emulator does not support TLS, so bucket policies that deny plain HTTP would deny everything. Every request is treated as
a request over TLS.
"""

from ministack.core import iam_actions, iam_evaluator
from ministack.services import s3
from ministack.services.cloudformation import provisioners

# This file replaces and reads internals of the emulator.
USED = {
    iam_actions: ["s3_service_context"],
    iam_evaluator: ["pin_request_origin"],
    provisioners: ["_s3_apply_configurations"],
    s3: ["_bucket_object_lock"],
}

_context = iam_actions.s3_service_context
_pin = iam_evaluator.pin_request_origin
_apply = provisioners._s3_apply_configurations


def service_context(action, query_params, path="", headers=None):
    context = _context(action, query_params, path, headers)
    wanted = (headers or {}).get("if-none-match")
    return {**context, "s3:if-none-match": wanted} if action == "s3:PutObject" and wanted else context


def pin_request_origin(source_ip, _secure_transport):
    _pin(source_ip, True)


def apply_configurations(name, props, *others):
    _apply(name, props, *others)
    if str(props.get("ObjectLockEnabled")).lower() != "true":
        return
    retention = ((props.get("ObjectLockConfiguration") or {}).get("Rule") or {}).get("DefaultRetention")
    numbers = {unit: int(retention[unit]) for unit in ("Days", "Years") if unit in (retention or {})}
    default = {"Mode": retention["Mode"], **numbers} if retention else None
    s3._bucket_object_lock[name] = {"enabled": True, "default_retention": default}


def install():
    iam_actions.s3_service_context = service_context
    iam_evaluator.pin_request_origin = pin_request_origin
    provisioners._s3_apply_configurations = apply_configurations
