import type { Charge } from '../../lambdas/processors/sandbox/sandbox-api.ts';

/** By currency, in minor units; undefined before a fee is booked. Shares no code with production code. */
export function feesAtSandbox(charge: Charge | undefined): Readonly<Record<string, number>> | undefined {
  const fees = [charge?.fee, ...(charge?.disputes ?? []).map(({ fee }) => fee)].filter(
    (fee) => typeof fee === 'number',
  );
  if (charge === undefined || fees.length === 0) return undefined;
  return { [charge.fee_currency ?? charge.currency]: fees.reduce((sum, fee) => sum + fee, 0) };
}
