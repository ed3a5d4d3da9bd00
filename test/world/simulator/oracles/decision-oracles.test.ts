import { beforeEach, expect, test } from '@jest/globals';
import { RetryableError } from '../../../../lambdas/kernel/faults.ts';
import { fingerprintOf } from '../../../../lambdas/kernel/fingerprint.ts';
import { storedOperationId } from '../../../../lambdas/kernel/ids.ts';
import { decidePayment } from '../../../../lambdas/operators/use/decide-payment.ts';
import { callback, paymentRequest } from '../../../payments/payment-fixtures.ts';
import { BY_OPERATOR, OPERATOR } from '../../../support/causes.ts';
import { World } from '../../world.ts';
import { watched } from './watched.ts';

const request = paymentRequest('decided', { source: 'tok_async' });
let harness: World;
let world: ReturnType<typeof watched>;

beforeEach(async () => {
  harness = new World();
  world = watched(harness);
  await harness.pay(request);
  const charge = harness.chargeOf(request);
  await harness.processor.inside.correct(charge, { status: 'succeeded', amount_captured: 999 });
  await harness.deliver(callback('review', charge));
  harness.clock.advance(3_600_000);
});

/** The books that production code reads confirm the decision, but the processor's real books may differ. */
async function decide(said: { readonly chargeId?: string; readonly takenMinor: number }, override?: true) {
  const asked = { kind: 'decision', outcome: 'succeeded', ...said, ...(override ? { override } : {}) } as const;
  const { tools } = harness;
  const readCharge = override
    ? () => Promise.reject(new RetryableError('processor_unreachable', 'no'))
    : async (chargeId: string) => ({
        ...(await harness.processor.readCharge(harness.chargeOf(request), { timeoutMs: 5_000 })),
        chargeId,
        capturedMinor: said.takenMinor,
      });
  const books = [{ ...harness.processor, readCharge }] as typeof tools.books;
  const outcome = await decidePayment(
    { ...tools, books },
    {
      cause: BY_OPERATOR,
      by: OPERATOR,
      operationId: storedOperationId('dec_a'),
      fingerprint: fingerprintOf(tools.digest, { body: {}, query: {} }),
      payment: request.paymentId,
      reason: 'Seen on the statement',
      asked,
    },
  );
  expect(outcome).toMatchObject({ kind: 'first' });
}

const wrong = () => world.all().flatMap(({ oracle, what }) => (oracle.startsWith('a decision says') ? [what] : []));

test.each([
  ['the amount that the processor captured', { takenMinor: 999 }, []],
  [
    'a different amount',
    { takenMinor: 6 },
    [expect.stringMatching(/^payment.completed: ch_\w+ is succeeded with 999 EUR/)],
  ],
  [
    'a charge that does not exist',
    { takenMinor: 999, chargeId: 'ch_nowhere' },
    ['payment.completed: the processor has no charge ch_nowhere'],
  ],
])('a decision that names %s is compared with the books', async (_what, said, found) => {
  await decide(said);
  expect(wrong()).toEqual(found);
});

test('a decision may name any amount if the books cannot be read', async () => {
  await decide({ takenMinor: 6 }, true);
  expect(wrong()).toEqual([]);
});
