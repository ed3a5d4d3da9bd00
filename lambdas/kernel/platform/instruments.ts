import { Logger } from '@aws-lambda-powertools/logger';
import { Metrics } from '@aws-lambda-powertools/metrics';
import type { MetricUnit } from '@aws-lambda-powertools/metrics/types';

export interface Instruments {
  readonly logger: (serviceName: string) => Pick<Logger, 'info' | 'warn' | 'error'>;
  readonly metrics: (serviceName: string) => Meter;
}

export interface Meter extends Gauge {
  publishStoredMetrics(): void;
  /** Creates a metric with separate dimensions. It is published immediately. */
  singleMetric(): Gauge & { addDimension(name: string, value: string): unknown };
}

interface Gauge {
  addMetric(name: string, unit: MetricUnit, value: number): unknown;
}

/** Writes JSON lines, and metrics in CloudWatch's embedded metric format, both to standard output. */
export const systemInstruments: Instruments = {
  logger: (serviceName) => new Logger({ serviceName }),
  metrics: (serviceName) => new Metrics({ serviceName }),
};
