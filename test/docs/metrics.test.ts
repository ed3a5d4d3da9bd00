import { expect, test } from '@jest/globals';
import { metricsPage } from '../../docs/generate/metrics.ts';
import { ReplayCacheMetric } from '../../lambdas/authority/contract.ts';
import { JobMetric } from '../../lambdas/jobs/contract/runs.ts';
import { EventMetric } from '../../lambdas/kernel/contract/events.ts';
import { ALARMS } from '../../lambdas/kernel/contract/metrics.ts';
import { PurgeMetric } from '../../lambdas/operators/contract.ts';
import { CarryMetric } from '../../lambdas/postgres/contract.ts';
import { BooksMetric } from '../../lambdas/reconciliation/contract.ts';
import { BacklogMetric } from '../../lambdas/resolving/contract.ts';

const listed = [...metricsPage().matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name);

test('the page of metrics lists every metric once', () => {
  const contract = [
    JobMetric,
    EventMetric,
    BooksMetric,
    PurgeMetric,
    BacklogMetric,
    CarryMetric,
    ReplayCacheMetric,
  ].flatMap((names) => Object.values<string>(names));
  expect(listed).toEqual(expect.arrayContaining([...contract, ...Object.keys(ALARMS)]));
  expect(new Set(listed).size).toBe(listed.length);
});
