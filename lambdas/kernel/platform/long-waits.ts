import { MetricUnit } from '@aws-lambda-powertools/metrics';
import { ALARM_SERVICE, type AlarmMetric } from '../contract/metrics.ts';
import { LONGEST_WAIT_MS } from '../contract/timing.ts';
import type { Clock } from '../world.ts';
import type { Instruments } from './instruments.ts';

const METRIC: AlarmMetric = 'messages_wait';

/**
 * Counts the messages of a batch that have waited too long in their queue. Call this before the messages are processed,
 * because one of them may crash the process. CloudWatch does not report these messages: its metric for the age of the
 * oldest message excludes messages that were received three times or more, as happens during an outage (Amazon SQS
 * developer guide, "Available CloudWatch metrics for Amazon SQS").
 *
 * @param event an event of any kind
 */
export function countLongWaits(
  { clock, instruments }: { readonly clock: Pick<Clock, 'nowMs'>; readonly instruments: Instruments },
  event: unknown,
): void {
  const sentBeforeMs = clock.nowMs() - LONGEST_WAIT_MS;
  const waited = sentTimesOf(event).filter((sentAtMs) => sentAtMs <= sentBeforeMs).length;
  if (waited > 0) countWaiting(instruments, waited);
}

/**
 * Counts work that has waited too long, even if it never reached a function.
 * @param waiting number of waiting items, at least 1
 */
export function countWaiting(instruments: Instruments, waiting: number): void {
  instruments.metrics(ALARM_SERVICE).singleMetric().addMetric(METRIC, MetricUnit.Count, waiting);
}

/** Empty if the event is not an SQS batch. */
function sentTimesOf(event: unknown): readonly number[] {
  if (typeof event !== 'object' || event === null || !('Records' in event) || !Array.isArray(event.Records)) return [];
  return (event.Records as readonly { readonly attributes?: { readonly SentTimestamp?: string } }[]).flatMap(
    (record) => {
      const sent = Number(record.attributes?.SentTimestamp);
      return sent > 0 ? [sent] : [];
    },
  );
}
