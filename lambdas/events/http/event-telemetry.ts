import { MetricUnit } from '@aws-lambda-powertools/metrics';
import { EventMetric } from '../../kernel/contract/events.ts';
import type { Instruments, Meter } from '../../kernel/platform/instruments.ts';
import { standardTelemetry, type Telemetry } from '../../kernel/platform/telemetry.ts';
import type { Clock } from '../../kernel/world.ts';

interface Instrumented {
  readonly instruments: Instruments;
  readonly clock: Pick<Clock, 'nowMs'>;
}

export interface ConsumedMessage {
  readonly result: 'done' | 'done_before' | 'parked' | 'busy' | 'failed';
  /** Time of the event's transition, in Unix milliseconds. Absent when unknown. */
  readonly occurredAtMs?: number;
}

export interface ConsumerTelemetry extends Pick<Telemetry, 'fault'> {
  batch(messages: readonly ConsumedMessage[]): void;
}

export function consumerTelemetry(serviceName: string, { instruments, clock }: Instrumented): ConsumerTelemetry {
  const logger = instruments.logger(serviceName);
  const metrics = instruments.metrics(serviceName);
  const standard = standardTelemetry(serviceName, instruments);
  return {
    fault: (requestId, error) => standard.fault(requestId, error),
    batch: (messages) => {
      const times = (...kinds: readonly ConsumedMessage['result'][]): number =>
        messages.filter(({ result }) => kinds.includes(result)).length;
      const counts = {
        [EventMetric.consumed]: times('done'),
        [EventMetric.consumedBefore]: times('done_before'),
        [EventMetric.consumeFailed]: times('busy', 'failed'),
        [EventMetric.parked]: times('parked'),
      };
      logger.info('events', { ...counts, messages: messages.length });
      const occurred = messages.flatMap(({ occurredAtMs }) => (occurredAtMs === undefined ? [] : [occurredAtMs]));
      publish(metrics, counts, occurred.length === 0 ? undefined : clock.nowMs() - Math.min(...occurred));
    },
  };
}

/**
 * Returns a function that logs a payment e-mail that failed and is not retried automatically. It does not log the
 * recipient.
 */
export function reportUnsentReceipt(
  serviceName: string,
  instruments: Instruments,
): (payment: string, why: string) => void {
  const logger = instruments.logger(serviceName);
  return (payment, why) => logger.warn('unsent', { payment, why });
}

interface RelayedBatch {
  readonly published: number;
  readonly parked: number;
  readonly tampered: number;
  readonly redeliverFrom?: string;
  /** Number of events that are deferred to the job `republish-events`. */
  readonly deferred: number;
  readonly oldestMs?: number;
}

export interface RelayTelemetry extends Pick<Telemetry, 'fault' | 'run'> {
  batch(batch: RelayedBatch): void;
}

/** Service name of the relay's metrics, which its alarms watch. */
export const RELAY = 'outbox-relay';

/**
 * Returns a function that emits the relay's age metric for an event that another function published. Without it, the
 * alarm for late events would have no data while the relay is stopped.
 */
export function lateEvents({ instruments }: Pick<Instrumented, 'instruments'>): (ageMs: number) => void {
  return (ageMs) =>
    void instruments.metrics(RELAY).singleMetric().addMetric(EventMetric.age, MetricUnit.Milliseconds, ageMs);
}

export function relayTelemetry(serviceName: string, { instruments, clock }: Instrumented): RelayTelemetry {
  const logger = instruments.logger(serviceName);
  const metrics = instruments.metrics(serviceName);
  const standard = standardTelemetry(serviceName, instruments);
  return {
    ...standard,
    batch: ({ published, parked, tampered, redeliverFrom, deferred, oldestMs }) => {
      const counts = {
        [EventMetric.published]: published,
        [EventMetric.parked]: parked,
        [EventMetric.tampered]: tampered,
        [EventMetric.publishFailed]: redeliverFrom === undefined ? 0 : 1,
      };
      logger.info('relayed', { ...counts, deferred });
      publish(metrics, counts, oldestMs === undefined ? undefined : clock.nowMs() - oldestMs);
    },
  };
}

function publish(metrics: Meter, counts: Readonly<Record<string, number>>, ageMs: number | undefined): void {
  for (const [name, count] of Object.entries(counts)) {
    if (count > 0) metrics.addMetric(name, MetricUnit.Count, count);
  }
  // A difference between clocks can make the age negative.
  if (ageMs !== undefined) metrics.addMetric(EventMetric.age, MetricUnit.Milliseconds, Math.max(0, ageMs));
  if (ageMs !== undefined || Object.values(counts).some((count) => count > 0)) metrics.publishStoredMetrics();
}
