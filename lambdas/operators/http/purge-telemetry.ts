import { MetricUnit } from '@aws-lambda-powertools/metrics';
import type { Instruments } from '../../kernel/platform/instruments.ts';
import { standardTelemetry } from '../../kernel/platform/telemetry.ts';
import { BOOKS_SERVICE } from '../../reconciliation/contract.ts';
import { PurgeMetric } from '../contract.ts';

/** Gauges are published even when they are zero. */
export function purgeTelemetry(instruments: Instruments) {
  const logger = instruments.logger(BOOKS_SERVICE);
  const metrics = instruments.metrics(BOOKS_SERVICE);
  const standard = standardTelemetry(BOOKS_SERVICE, instruments);
  return {
    failed: (error: unknown): void => standard.fault('purge-expired', error),
    purged: (expiredLeft: number, notWorking: readonly string[]): void => {
      logger.info('purged', { expiredLeft, notWorking });
      metrics.addMetric(PurgeMetric.expiredLeft, MetricUnit.Count, expiredLeft);
      metrics.addMetric(PurgeMetric.ttlNotWorking, MetricUnit.Count, notWorking.length);
      metrics.publishStoredMetrics();
    },
  };
}
