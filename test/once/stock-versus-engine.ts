import { jest } from '@jest/globals';
import type { Answer } from '../../lambdas/kernel/answer.ts';
import { invariant } from '../../lambdas/kernel/invariant.ts';
import type { StoreTables } from '../../lambdas/once/store/transact-items.ts';
import type { LocalAws } from '../../local/local-aws.ts';
import { PaymentWorld, type Seen } from '../payments/payment-story.ts';
import type { FaultPlan } from '../support/fault-plan.ts';
import { storesOn } from '../support/local-aws.ts';
import { StockPowertoolsWorld, type StockWorldOptions } from './stock-powertools-world.ts';

/** Calls of a first attempt without faults. Fault plans refer to these numbers. */
export const STOCK_CALLS = { claim: 1, charge: 2, post: 3, save: 4 } as const;
export const ENGINE_CALLS = { claim: 1, charge: 2, commit: 3 } as const;

/** `Date` must be faked, see `stock-date.ts`. */
export function stockWorld(
  tables: StoreTables,
  plan: FaultPlan,
  options: Pick<StockWorldOptions, 'processorKey' | 'remainingTimeMs'> = {},
): StockPowertoolsWorld {
  return new StockPowertoolsWorld({ plan, tables, setDate: (nowMs) => jest.setSystemTime(nowMs), ...options });
}

/** Faults occur in the engine's SDK calls. */
export function engineWorld(tables: LocalAws['tables'], plan: FaultPlan): PaymentWorld {
  return new PaymentWorld({ plan, ...storesOn(tables) });
}

export function answerOf(seen: Seen): Answer {
  invariant(seen.kind === 'answered', `the client got no response: ${JSON.stringify(seen)}`);
  return seen.answer;
}
