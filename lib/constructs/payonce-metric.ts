import { type Duration, Lazy } from 'aws-cdk-lib';
import { Metric } from 'aws-cdk-lib/aws-cloudwatch';
import type { Node } from 'constructs';
import { METRIC_NAMESPACE, OUTBOUND_SERVICE, VENDOR_DIMENSION } from '../../lambdas/kernel/contract/metrics.ts';
import { environmentOf } from '../settings.ts';

export interface PayonceMetricProps {
  /** The service name under which functions write the metric. */
  readonly service: string;
  readonly name: string;
  /** @default Sum */
  readonly statistic?: 'Sum' | 'Maximum';
  readonly period: Duration;
  /** Dimensions in addition to the service. @default none */
  readonly of?: Readonly<Record<string, string>>;
}

export function metricNamespace(node: Node): string {
  const environment = environmentOf(node);
  return environment === undefined ? METRIC_NAMESPACE : `${METRIC_NAMESPACE}/${environment}`;
}

/**
 * Namespace of the metrics, resolved where a metric is used. A `Metric` object belongs to no stack, so the alarm or
 * dashboard in which it is used determines the environment.
 */
const NAMESPACE = Lazy.uncachedString({ produce: ({ scope }) => metricNamespace(scope.node) });

export function payonceMetric({ service, name, statistic = 'Sum', period, of = {} }: PayonceMetricProps): Metric {
  return new Metric({
    namespace: NAMESPACE,
    metricName: name,
    dimensionsMap: { service, ...of },
    statistic,
    period,
  });
}

/** Derived from the logs of the environment's functions, without dimensions. */
export function environmentMetric(name: string, period: Duration): Metric {
  return new Metric({ namespace: NAMESPACE, metricName: name, statistic: 'Sum', period });
}

export function vendorMetric(vendor: string, name: string, period: Duration): Metric {
  return payonceMetric({ service: OUTBOUND_SERVICE, name, period, of: { [VENDOR_DIMENSION]: vendor } });
}
