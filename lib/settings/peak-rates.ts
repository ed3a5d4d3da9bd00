import * as z from 'zod';
import { MAX_PAYMENTS, MAX_TENANT_PAYMENTS, type PeakRates } from '../../lambdas/kernel/contract/shards.ts';
import { parsedJson, type Rule } from './rules.ts';

export interface PeakRatesSettings {
  /**
   * Expected peak rates, which determine over how many partitions hot rows are spread: a JSON list of objects with
   * `from`, `payments` and `tenantPayments`. `payments` is the rate per second of all tenants, and `tenantPayments` is
   * the rate of the largest tenant. The rates apply to payments and orders from the UTC day `from` on; earlier payments
   * and orders keep their partitions. To change the rates, append an entry whose day is later than the day of the
   * deployment. Never change or remove an entry whose day has begun: unfinished work of that time would no longer be
   * found. `payonce doctor` reports such a change.
   * @default 1,000 payments per second, also of a single tenant
   */
  readonly peakRates?: readonly PeakRates[];
}

const rates = z
  .array(
    z.strictObject({
      from: z.iso.date(),
      payments: z.int().min(1).max(MAX_PAYMENTS),
      tenantPayments: z.int().min(1).max(MAX_TENANT_PAYMENTS),
    }),
  )
  .min(1)
  .max(10)
  .refine((list) =>
    list.every(
      ({ from, payments, tenantPayments }, index) =>
        tenantPayments <= payments && (index === 0 || from > (list[index - 1]?.from ?? '')),
    ),
  );

export const PEAK_RATES_RULES = {
  peakRates: {
    allowed: `a JSON list of 1 to 10 objects with from (a UTC day, yyyy-mm-dd, later than in the previous entry), payments (1 to ${MAX_PAYMENTS}) and tenantPayments (1 to ${MAX_TENANT_PAYMENTS}, at most payments)`,
    read: (given: unknown) => rates.safeParse(typeof given === 'string' ? parsedJson(given) : given).data,
  },
} satisfies Readonly<Record<string, Rule<readonly PeakRates[]>>>;

/**
 * Returns the text of the rates in the activity log. The command `payonce doctor` compares the entries, so the text
 * contains the rates themselves, not a digest.
 */
export function recordedPeakRates(given: readonly PeakRates[]): string {
  return given.map(({ from, payments, tenantPayments }) => `${from} ${payments}/${tenantPayments}`).join(', ');
}
