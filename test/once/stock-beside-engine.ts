import { jest } from '@jest/globals';
import type { Answer } from '../../lambdas/kernel/answer.ts';
import { invariant } from '../../lambdas/kernel/invariant.ts';
import { documentClient } from '../../lambdas/kernel/platform/document-client.ts';
import type { StoreTables } from '../../lambdas/once/store/transact-items.ts';
import { DynamoDbStore } from '../../lambdas/payments/store/dynamodb-store.ts';
import { PaymentWorld } from '../payments/payment-world.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import type { FaultPlan } from '../support/fault-plan.ts';
import { dynamoDbClient } from '../support/local-aws.ts';
import type { Seen } from '../support/world.ts';
import { StockPowertoolsWorld, type StockWorldOptions, sdkClientOf } from './stock-powertools-world.ts';

/** The calls of an undisturbed first attempt, by number: what a plan of faults names. */
export const STOCK_CALLS = { claim: 1, charge: 2, post: 3, save: 4 } as const;
export const ENGINE_CALLS = { claim: 1, charge: 2, commit: 3 } as const;

/** The stock layer's world; `Date` must be faked, see `stock-date.ts`. */
export function stockWorld(
  tables: StoreTables,
  plan: FaultPlan,
  options: Pick<StockWorldOptions, 'processorKey' | 'remainingTimeMs'> = {},
): StockPowertoolsWorld {
  return new StockPowertoolsWorld({ plan, tables, setDate: (nowMs) => jest.setSystemTime(nowMs), ...options });
}

/** The engine in the same treatment: faults strike the calls of its SDK. */
export function engineWorld(tables: StoreTables, plan: FaultPlan): PaymentWorld {
  const storeOn = (client: ReturnType<typeof dynamoDbClient>) =>
    new DynamoDbStore(documentClient(client), tables, {
      clock: { nowMs: () => world.clock.nowMs(), sleep: (ms) => world.clock.sleep(ms) },
      entropy: countingEntropy(),
    });
  const world: PaymentWorld = new PaymentWorld({
    plan,
    truth: storeOn(dynamoDbClient()),
    storeFor: (actor) => storeOn(sdkClientOf(actor)),
  });
  return world;
}

/** The answer that the client was given; there must be one. */
export function answerOf(seen: Seen): Answer {
  invariant(seen.kind === 'answered', `the client was not answered: ${JSON.stringify(seen)}`);
  return seen.answer;
}
