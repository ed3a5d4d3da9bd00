"""SQS message move tasks, which the emulator lacks: they move dead letters back to their queue.

From the SQS API reference: the source must be a dead-letter queue; a source has one active task at a time; a task moves the
messages that exist at its start, each as a new message, and reports its progress.
"""

import asyncio
import base64
import json
import time

from ministack.services import sqs

# This file calls internals of the emulator.
USED = {sqs: ["_HANDLERS", "_Err", "_queues", "_queue_by_arn", "_act_send_message", "_ensure_msg_fields"]}
BATCH = 10
MOST_RESULTS = 10

# Source ARN -> its tasks, the latest first. Not persisted: after a restart no task runs.
_tasks = {}


def _start(data, _url):
    source_arn = data.get("SourceArn", "")
    source = _existing(source_arn)
    if not any(_dead_letters_of(queue) == source_arn for queue in list(sqs._queues.values())):
        raise sqs._Err("InvalidParameterValue", "Source queue must be configured as a Dead Letter Queue.")
    destination_arn = data.get("DestinationArn")
    if destination_arn is not None:
        _existing(destination_arn)
    tasks = _tasks.setdefault(source_arn, [])
    if any(task["Status"] in ("RUNNING", "CANCELLING") for task in tasks):
        raise sqs._Err(
            "InvalidParameterValue",
            "There is already a task running. Only one active task is allowed for a source queue arn at a given time.",
        )
    now = time.time()
    waiting = [message["id"] for message in source["messages"] if message["visible_at"] <= now]
    task = {
        "SourceArn": source_arn,
        "Status": "RUNNING",
        "StartedTimestamp": int(now * 1000),
        "ApproximateNumberOfMessagesToMove": len(waiting),
        "ApproximateNumberOfMessagesMoved": 0,
    }
    if destination_arn is not None:
        task["DestinationArn"] = destination_arn
    if "MaxNumberOfMessagesPerSecond" in data:
        task["MaxNumberOfMessagesPerSecond"] = int(data["MaxNumberOfMessagesPerSecond"])
    handle = {"taskId": sqs.new_uuid(), "sourceArn": source_arn}
    task["TaskHandle"] = base64.b64encode(json.dumps(handle).encode()).decode()
    tasks.insert(0, task)
    del tasks[MOST_RESULTS:]
    task["_running"] = asyncio.get_running_loop().create_task(_run(task, source, waiting))
    return {"TaskHandle": task["TaskHandle"]}


async def _run(task, source, waiting):
    rate = task.get("MaxNumberOfMessagesPerSecond")
    try:
        for begin in range(0, len(waiting), rate or BATCH):
            if task["Status"] == "CANCELLING":
                task["Status"] = "CANCELLED"
                return
            for message_id in waiting[begin : begin + (rate or BATCH)]:
                _move(task, source, message_id)
            await asyncio.sleep(0 if rate is None else 1)
        task["Status"] = "COMPLETED"
    except sqs._Err as error:
        task["Status"] = "FAILED"
        task["FailureReason"] = error.code


def _move(task, source, message_id):
    now = time.time()
    message = next((found for found in source["messages"] if found["id"] == message_id), None)
    # The message was received or deleted in the meantime.
    if message is None or message["visible_at"] > now:
        return
    sqs._ensure_msg_fields(message)
    destination_arn = task.get("DestinationArn") or message["sys"].get("DeadLetterQueueSourceArn")
    if destination_arn is None:
        raise sqs._Err("CouldNotDetermineMessageSource", "The message was not moved here by SQS.")
    destination = _existing(destination_arn)
    sqs._act_send_message(
        {
            "QueueUrl": destination["url"],
            "MessageBody": message["body"],
            "MessageAttributes": message["message_attributes"],
            "MessageGroupId": message["group_id"],
            "MessageDeduplicationId": message["dedup_id"],
        },
        destination["url"],
    )
    source["messages"] = [kept for kept in source["messages"] if kept is not message]
    task["ApproximateNumberOfMessagesMoved"] += 1


def _list(data, _url):
    source_arn = data.get("SourceArn", "")
    _existing(source_arn)
    most = int(data.get("MaxResults") or 1)
    if not 1 <= most <= MOST_RESULTS:
        raise sqs._Err("InvalidParameterValue", f"Value {most} for parameter MaxResults is invalid.")
    return {"Results": [_shown(task) for task in _tasks.get(source_arn, [])[:most]]}


def _cancel(data, _url):
    handle = data.get("TaskHandle", "")
    task = next((task for tasks in _tasks.values() for task in tasks if task["TaskHandle"] == handle), None)
    if task is None:
        raise sqs._Err("ResourceNotFoundException", "Task does not exist.", 404)
    if task["Status"] != "RUNNING":
        raise sqs._Err("InvalidParameterValue", "Only active tasks can be cancelled.")
    task["Status"] = "CANCELLING"
    return {"ApproximateNumberOfMessagesMoved": task["ApproximateNumberOfMessagesMoved"]}


def _shown(task):
    # Responses contain the handle only of a running task.
    hidden = {"_running"} if task["Status"] == "RUNNING" else {"_running", "TaskHandle"}
    return {name: value for name, value in task.items() if name not in hidden}


def _existing(arn):
    queue = sqs._queue_by_arn(arn)
    if queue is None:
        raise sqs._Err("ResourceNotFoundException", "The resource that you specified for the SourceArn parameter doesn't exist.", 404)
    return queue


def _dead_letters_of(queue):
    policy = queue["attributes"].get("RedrivePolicy")
    return None if policy is None else json.loads(policy).get("deadLetterTargetArn")


def install():
    sqs._HANDLERS.update({"StartMessageMoveTask": _start, "ListMessageMoveTasks": _list, "CancelMessageMoveTask": _cancel})
