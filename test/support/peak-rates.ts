import { Environment } from '../../lambdas/kernel/contract/environment.ts';
import type { PeakRates } from '../../lambdas/kernel/contract/shards.ts';

/** Rates of the guarantee: 20,000 payments per second, 5,000 of them from one tenant. */
export const PEAK = { payments: 20_000, tenantPayments: 5_000 } as const;

export function setPeakRates(...rates: readonly PeakRates[]): void {
  if (rates.length === 0) delete process.env[Environment.peakRates];
  else process.env[Environment.peakRates] = JSON.stringify(rates);
}
