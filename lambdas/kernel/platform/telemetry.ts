import { MetricUnit } from '@aws-lambda-powertools/metrics';
import type { EventMetric } from '../contract/events.ts';
import {
  ALARM_RUN,
  ALARM_SERVICE,
  type AlarmMetric,
  type ArchiveMetric,
  LIMITS_SERVICE,
  TENANT_DIMENSION,
  TENANT_LIMITED,
} from '../contract/metrics.ts';
import { redactSensitive } from '../sensitive.ts';
import type { Instruments } from './instruments.ts';
import { withSourcePositions } from './source-places.ts';

export type RequestCount =
  | 'first'
  | 'replay'
  | 'replay_warm'
  | 'replay_missed'
  | 'in_progress'
  | 'mismatch'
  | 'unknown'
  | 'takeover'
  | 'fenced'
  | 'unavailable'
  | 'failure'
  | 'rate_limited'
  | 'callback_recorded'
  | 'callback_redelivered'
  | 'callback_orphaned'
  | 'callback_refused'
  | 'orphan_adopted'
  | 'orphan_given_up'
  | 'resolved'
  | 'webhook_delivered'
  | 'webhook_attempt_failed'
  | 'webhook_dropped'
  | 'webhook_swept'
  | 'webhook_endpoint_disabled'
  | ArchiveMetric
  | typeof EventMetric.beyondReach
  | typeof EventMetric.toReview
  | AlarmMetric;

/** Must never contain a body, an idempotency key in clear text, an API key or a payment source. */
export interface RequestReport {
  readonly requestId: string;
  readonly method: string;
  /** The pattern of the route, never the requested path, which contains text from the client. */
  readonly route: string;
  readonly status: number;
  /** The outcome of the request, or the code of the problem. */
  readonly outcome: string;
  readonly durationMs: number;
  readonly tenantId?: string;
  readonly operationId?: string;
  readonly paymentId?: string;
  /** Why a callback was orphaned, or how it contradicts the payment. */
  readonly because?: readonly string[];
}

export interface Telemetry {
  request(report: RequestReport, counts: readonly RequestCount[]): void;
  /** Work other than a request, for example a run, an event or an alarm. */
  run(
    name: string,
    counts: Readonly<Partial<Record<RequestCount, number>>>,
    details: Readonly<Record<string, number | string>>,
  ): void;
  fault(requestId: string, error: unknown): void;
}

export function standardTelemetry(serviceName: string, instruments: Instruments): Telemetry {
  const logger = instruments.logger(serviceName);
  const metrics = instruments.metrics(serviceName);
  const shared = (service: string, name: string, times: number, tenant?: string) => {
    const one = instruments.metrics(service).singleMetric();
    if (tenant) one.addDimension(TENANT_DIMENSION, tenant);
    one.addMetric(name, MetricUnit.Count, times);
  };
  return {
    request: (report, counts) => {
      logger.info('request', { ...report });
      for (const name of counts) metrics.addMetric(name, MetricUnit.Count, 1);
      if (counts.length > 0) metrics.publishStoredMetrics();
      // Count the request twice: once for the alarm, and once for the tenant.
      if (counts.includes('rate_limited') && report.tenantId)
        for (const tenant of [undefined, report.tenantId]) shared(LIMITS_SERVICE, TENANT_LIMITED, 1, tenant);
    },
    run: (name, counts, details) => {
      logger.info('run', { run: name, ...details });
      const counted = Object.entries(counts).filter(([, times]) => times > 0);
      for (const [count, times] of counted) {
        metrics.addMetric(count, MetricUnit.Count, times);
        if (name === ALARM_RUN) shared(ALARM_SERVICE, count, times);
      }
      if (counted.length > 0) metrics.publishStoredMetrics();
    },
    fault: (requestId, error) => {
      logger.error('fault', { requestId, fault: describe(error, 0) });
    },
  };
}

/** Deeper causes add no information. */
const DEEPEST_CAUSE = 4;

/** Omits all other properties, because they may contain client data. */
function describe(error: unknown, depth: number): Record<string, unknown> {
  if (!(error instanceof Error)) return { name: typeof error };
  const { name, message, stack = message, cause } = error;
  const code = 'code' in error && typeof error.code === 'string' ? { code: error.code } : {};
  const inner = cause === undefined || depth >= DEEPEST_CAUSE ? {} : { cause: describe(cause, depth + 1) };
  return { name, ...code, stack: redactSensitive(withSourcePositions(stack)), ...inner };
}
