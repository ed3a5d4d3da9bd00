/** Payments that are in progress when an import begins. Tests the guarantee "moved payments". */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { IMPORT_WAITS_MS, STATE_VALID_MS } from '../../lambdas/authority/contract.ts';
import type { Imported } from '../../lambdas/authority/import-authority.ts';
import { RetryableError } from '../../lambdas/kernel/faults.ts';
import type { Clock } from '../../lambdas/kernel/world.ts';
import type { CreatePaymentOutcome } from '../../lambdas/payments/use/create-payment.ts';
import { paymentRequest } from '../payments/payment-fixtures.ts';
import { createDatabase, openTestDatabase, type StoreDatabase } from '../postgres/store-database.ts';
import { MovingDeployment } from './moving-deployment.ts';

let database: StoreDatabase;
beforeAll(async () => {
  database = openTestDatabase(await createDatabase());
});
afterAll(() => database.close());

/**
 * The time at which the payment continues, after the import has stopped writes and before its wait ends.
 *
 * `at_once`: the payment's process has not read the new state yet, and may still write. `after_a_minute`: the payment's
 * process reads the new state at its next call.
 */
type Continues = 'at_once' | 'after_a_minute';

const request = paymentRequest('raced', { reference: 'r' });
const MORE_THAN_A_LEASE_MS = 60_000;

interface Raced {
  readonly violations: readonly string[];
  /** Number of calls that the payment sends to DynamoDB. */
  readonly calls: number;
  readonly outcome: CreatePaymentOutcome | RetryableError;
}

/** Begins the import after the payment if the payment has no call with this number. */
async function race(before: number, continues: Continues): Promise<Raced> {
  const moving = await new MovingDeployment(database).begin();
  const { world } = moving;
  let calls = 0;
  let importing: Promise<Imported> | undefined;
  const paying = Promise.withResolvers<void>();
  const process = await moving.start('dynamodb', async (_command, apply) => {
    calls += 1;
    if (calls !== before) return apply();
    const stopped = Promise.withResolvers<void>();
    const clock: Clock = {
      nowMs: () => world.clock.nowMs(),
      sleep: async (ms) => {
        if (ms !== IMPORT_WAITS_MS) return world.clock.sleep(ms);
        if (continues === 'after_a_minute') world.clock.advance(STATE_VALID_MS);
        stopped.resolve();
        await paying.promise;
        world.clock.advance(IMPORT_WAITS_MS - STATE_VALID_MS);
      },
    };
    importing = moving.finish(moving.tools({}, clock));
    await stopped.promise;
    return apply();
  });
  const outcome = await world.pay(request, process).catch((error: unknown) => {
    if (error instanceof RetryableError) return error;
    throw error;
  });
  paying.resolve();
  const finished = await (importing ?? moving.finish());
  world.clock.advance(MORE_THAN_A_LEASE_MS);
  const retried = await world.pay(request, await moving.start('postgres'));
  const charges = world.processor.charges(request.paymentId).length;
  const answers = [outcome, retried].flatMap((each) => ('answer' in each ? [each.answer] : []));
  const history = await moving.postgres().store.readPayment(request.paymentId);
  const status = history?.newest.payment.status;
  return {
    calls,
    outcome,
    violations: [
      ...(finished.kind === 'finished' ? [] : [`the import: ${finished.kind}`]),
      ...(charges === 1 ? [] : [`${charges} charges`]),
      ...(status === 'succeeded' ? [] : [`the payment: ${status}`]),
      ...('answer' in outcome || outcome instanceof RetryableError ? [] : [`the request: ${outcome.kind}`]),
      ...('answer' in retried ? [] : [`the retry: ${retried.kind}`]),
      ...('answer' in outcome && retried.kind !== 'replay' ? ['an answered request was executed again'] : []),
      ...(new Set(answers.map(({ body }) => body)).size === 1 ? [] : ['two answers']),
    ],
  };
}

describe.each<Continues>(['at_once', 'after_a_minute'])(
  'a payment that begins before an import stops all writes, and continues afterwards (%s),',
  (continues) => {
    test('is imported or refused, no matter before which call the import begins, and a retry on PostgreSQL charges once', async () => {
      const { calls } = await race(0, continues);
      expect(calls).toBeGreaterThan(3);
      const outcomes: string[] = [];
      for (let point = 1; point <= calls; point += 1) {
        const { violations, outcome } = await race(point, continues);
        expect({ point, violations }).toEqual({ point, violations: [] });
        outcomes.push(outcome instanceof RetryableError ? outcome.code : outcome.kind);
      }
      expect(outcomes).toEqual(expect.arrayContaining(['authority_importing', 'first']));
    });
  },
);
