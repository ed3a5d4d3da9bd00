"""The condition key `dynamodb:LeadingKeys`, which the emulator lacks: without it, a policy that is limited to some kinds of rows
permits every row.

From the Amazon DynamoDB developer guide, "Using IAM policy conditions for fine-grained access control": the condition key
holds the partition-key values in a request. A Scan has none. In a transaction, each item is authorized separately.
"""

import json
import re

from ministack.core import iam_actions, iam_evaluator
from ministack.services import dynamodb

# This file replaces and reads internals of the emulator.
USED = {
    iam_actions: ["dynamodb_service_context", "dynamodb_transaction_checks", "_DYNAMODB_TRANSACT_ITEM_ACTIONS"],
    iam_evaluator: ["enforce"],
    dynamodb: ["_tables"],
}
NAME = "dynamodb:LeadingKeys"
EQUALS = re.compile(r"([#\w]+)\s*=\s*(:\w+)")

_context = iam_actions.dynamodb_service_context
_checks = iam_actions.dynamodb_transaction_checks
_enforce = iam_evaluator.enforce


class ItemArn(str):
    """The table ARN of a transaction item. `leading_keys` contains the item's partition key."""

    leading_keys = None


def _hash_key(schema):
    return next((part["AttributeName"] for part in schema if part["KeyType"] == "HASH"), None)


def _table_key(name):
    return _hash_key((dynamodb._tables.get(name.split("/")[-1]) or {}).get("KeySchema", []))


def _text(value):
    """Policies compare attribute values such as {"S": "PAY#1"} as this text."""
    return next((str(part) for part in value.values()), None) if isinstance(value, dict) else None


def _of_item(table, item):
    value = _text((item or {}).get(_table_key(table)))
    return [] if value is None else [value]


def _of_query(request):
    table = dynamodb._tables.get(request.get("TableName", "").split("/")[-1]) or {}
    schema = table.get("KeySchema", [])
    for index in table.get("GlobalSecondaryIndexes") or []:
        if index.get("IndexName") == request.get("IndexName"):
            schema = index.get("KeySchema", [])
    names, values = request.get("ExpressionAttributeNames") or {}, request.get("ExpressionAttributeValues") or {}
    for name, placeholder in EQUALS.findall(request.get("KeyConditionExpression") or ""):
        if names.get(name, name) == _hash_key(schema):
            value = _text(values.get(placeholder))
            return [] if value is None else [value]
    return []


def _leading_keys(request):
    table = request.get("TableName", "")
    if "KeyConditionExpression" in request:
        return _of_query(request)
    if "Key" in request or "Item" in request:
        return _of_item(table, request.get("Key") or request.get("Item"))
    found = []
    for name, asked in (request.get("RequestItems") or {}).items():
        for key in asked.get("Keys", []) if isinstance(asked, dict) else []:
            found += _of_item(name, key)
        for write in asked if isinstance(asked, list) else []:
            found += _of_item(name, (write.get("PutRequest") or {}).get("Item") or (write.get("DeleteRequest") or {}).get("Key"))
    return found


def service_context(body):
    context = _context(body)
    try:
        request = json.loads(body or b"{}")
    except (json.JSONDecodeError, TypeError, UnicodeDecodeError):
        return context
    keys = _leading_keys(request) if isinstance(request, dict) else []
    return {**context, NAME: keys} if keys else context


def transaction_checks(iam_action, body, region, account_id):
    checks = _checks(iam_action, body, region, account_id)
    if not checks:
        return checks
    members = [
        detail
        for item in json.loads(body).get("TransactItems", [])
        if isinstance(item, dict)
        for member in iam_actions._DYNAMODB_TRANSACT_ITEM_ACTIONS
        if isinstance(detail := item.get(member), dict) and isinstance(detail.get("TableName"), str) and detail["TableName"]
    ]
    marked = []
    for (action, arn), detail in zip(checks, members, strict=True):
        arn = ItemArn(arn)
        arn.leading_keys = _of_item(detail["TableName"], detail.get("Key") or detail.get("Item"))
        marked.append((action, arn))
    return marked


def enforce(access_key_id, iam_action, service, region, resource_arn="*", service_context=None):
    if isinstance(resource_arn, ItemArn) and resource_arn.leading_keys:
        service_context = {**(service_context or {}), NAME: resource_arn.leading_keys}
    return _enforce(access_key_id, iam_action, service, region, resource_arn=resource_arn, service_context=service_context)


def install():
    iam_actions.dynamodb_service_context = service_context
    iam_actions.dynamodb_transaction_checks = transaction_checks
    iam_evaluator.enforce = enforce
