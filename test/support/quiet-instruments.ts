import type { Instruments } from '../../lambdas/kernel/platform/instruments.ts';

const METER = { addMetric: () => {}, publishStoredMetrics: () => {} };

export const QUIET_INSTRUMENTS: Instruments = {
  logger: () => ({ info: () => {}, warn: () => {}, error: () => {} }),
  metrics: () => ({ ...METER, singleMetric: () => ({ ...METER, addDimension: () => {} }) }),
};
