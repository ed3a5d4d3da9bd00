import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { AmbiguousError, RetryableError } from '../../lambdas/kernel/faults.ts';
import type { ChangeOrder, ChargeChange, ChargeOrder, Processor } from '../../lambdas/payments/use/processor.ts';
import { freshChange, freshOrder } from '../orders/sandbox-orders.ts';
import { testsOf } from './declared-tests.ts';

export interface ChangeableProcessor extends AsyncDisposable {
  readonly processor: Processor;
  /** Amounts are in minor units, and refunds are oldest first. */
  stateOf(chargeId: string): Promise<ChargeState>;
  /** Makes the next `count` changes behave like the first request of a charge with the test token `source`. */
  failNextChange(count: number, source: string): Promise<void>;
}

interface ChargeState {
  readonly status: string;
  readonly captured: number;
  readonly refunds: readonly number[];
}

const LIMIT = { timeoutMs: 600_000 };
const AMOUNT = 1_999;

/** @param declared the abilities that the processor's contract declares; tests of other abilities are skipped */
export function describeChanges(
  name: string,
  declared: Processor['abilities'],
  open: () => Promise<ChangeableProcessor>,
): void {
  const hasHolds = declared.holdValidityMs > 0;
  const capturedMinor = declared.partialCapture ? 500 : AMOUNT;
  const refundedMinor = declared.partialRefund ? 700 : AMOUNT;
  const holds = testsOf(hasHolds, 'the processor declares no holds');
  const partialCaptures = hasHolds
    ? testsOf(declared.partialCapture, 'the processor declares no partial captures')
    : holds;
  const noPartialCaptures = testsOf(!declared.partialCapture, 'the processor declares partial captures');
  const refunds = testsOf(declared.refund, 'the processor declares no refunds');
  const noRefunds = testsOf(!declared.refund, 'the processor declares refunds');
  const partialRefunds = testsOf(declared.partialRefund, 'the processor declares no partial refunds');
  const noPartialRefunds = testsOf(!declared.partialRefund, 'the processor declares partial refunds');

  describe(`the ${name}`, () => {
    let subject: ChangeableProcessor;
    beforeEach(async () => {
      subject = await open();
    });
    afterEach(async () => {
      await subject[Symbol.asyncDispose]();
    });

    const change = (order: ChangeOrder) => subject.processor.change(order, LIMIT);
    const find = (order: ChangeOrder) => subject.processor.findChange(order, LIMIT);
    const fault = (order: ChangeOrder): Promise<unknown> =>
      change(order).then(
        (outcome) => `the call returned ${outcome.kind} instead of failing`,
        (error: unknown) => error,
      );
    const charged = async (changes: Partial<ChargeOrder> = {}) => {
      const order = freshOrder({ amountMinor: AMOUNT, ...changes });
      const { chargeId } = await subject.processor.charge(order, LIMIT);
      if (chargeId === undefined) throw new Error('the processor returned no charge id');
      const toChange = (wanted: ChargeChange) => freshChange(order, chargeId, wanted);
      return { order, chargeId, toChange, state: () => subject.stateOf(chargeId) };
    };
    const authorized = () => charged({ capture: 'manual' });
    const refundOf = (amountMinor: number) => ({ kind: 'refund', amountMinor }) as const;
    const captureOf = (amountMinor: number) => ({ kind: 'capture', amountMinor }) as const;
    const VOID = { kind: 'void' } as const;

    test('has the declared abilities', () => {
      expect(subject.processor.abilities).toMatchObject({ ...declared });
    });

    holds.describe('a capture', () => {
      test.each([...new Set([AMOUNT, capturedMinor])])(
        `captures %i of ${AMOUNT}, and the look-up returns the same outcome`,
        async (amountMinor) => {
          const { chargeId, toChange, state } = await authorized();
          const order = toChange(captureOf(amountMinor));
          expect(await find(order)).toEqual({ kind: 'absent' });
          const outcome = await change(order);
          expect(outcome).toEqual({
            kind: 'applied',
            facts: [{ kind: 'succeeded', chargeId, capturedMinor: amountMinor }],
          });
          expect(await find(order)).toEqual(outcome);
          expect(await state()).toEqual({ status: 'succeeded', captured: amountMinor, refunds: [] });
        },
      );

      test('has the same outcome if it is sent again, and captures once', async () => {
        const { toChange, state } = await authorized();
        const order = toChange(captureOf(capturedMinor));
        const outcome = await change(order);
        expect(await change(order)).toEqual(outcome);
        expect((await state()).captured).toBe(capturedMinor);
      });

      test('is refused above the authorized amount, and captures nothing', async () => {
        const { toChange, state } = await authorized();
        const order = toChange(captureOf(AMOUNT + 1));
        expect(await change(order)).toMatchObject({ kind: 'refused', failure: { code: 'amount_too_large' } });
        expect(await find(order)).toEqual({ kind: 'absent' });
        expect(await state()).toEqual({ status: 'authorized', captured: 0, refunds: [] });
      });

      noPartialCaptures.test(
        'is refused below the authorized amount if partial captures are not supported, and captures nothing',
        async () => {
          const { toChange, state } = await authorized();
          expect((await change(toChange(captureOf(500)))).kind).toBe('refused');
          expect(await state()).toEqual({ status: 'authorized', captured: 0, refunds: [] });
        },
      );

      test('is refused for a voided charge', async () => {
        const { toChange } = await authorized();
        await change(toChange(VOID));
        const order = toChange(captureOf(AMOUNT));
        expect(await change(order)).toMatchObject({ kind: 'refused', failure: { code: 'charge_not_capturable' } });
        expect(await find(order)).toEqual({ kind: 'absent' });
      });
    });

    describe('a void', () => {
      holds.test('releases the hold once, and the look-up returns the same outcome', async () => {
        const { chargeId, toChange, state } = await authorized();
        const order = toChange(VOID);
        expect(await find(order)).toEqual({ kind: 'absent' });
        const outcome = await change(order);
        expect(outcome).toEqual({ kind: 'applied', facts: [{ kind: 'voided', chargeId, reason: 'requested' }] });
        expect(await change(order)).toEqual(outcome);
        expect(await find(order)).toEqual(outcome);
        expect(await state()).toEqual({ status: 'voided', captured: 0, refunds: [] });
      });

      for (const capture of ['automatic', 'manual'] as const)
        holds.test(`withdraws a charge that waits for the payer (${capture} capture)`, async () => {
          const { chargeId, toChange, state } = await charged({ source: 'tok_action', capture });
          expect(await change(toChange(VOID))).toEqual({
            kind: 'applied',
            facts: [{ kind: 'voided', chargeId, reason: 'requested' }],
          });
          expect((await state()).status).toBe('voided');
        });

      test('is applied to a charge that waits for the payer, or refused without an effect', async () => {
        const { toChange, state } = await charged({ source: 'tok_action' });
        const before = await state();
        const { kind } = await change(toChange(VOID));
        expect(await state()).toEqual(kind === 'applied' ? { ...before, status: 'voided' } : before);
      });

      holds.test(
        'of a charge that the payer has not approved does not make the charge’s look-up report a hold',
        async () => {
          const { order, chargeId, toChange } = await charged({ source: 'tok_action' });
          await change(toChange(VOID));
          expect(await subject.processor.findCharge(order, LIMIT)).toEqual({ kind: 'pending', chargeId });
        },
      );

      test('is refused for a captured charge', async () => {
        const { toChange, state } = await charged();
        const order = toChange(VOID);
        expect(await change(order)).toMatchObject({ kind: 'refused', failure: { code: 'charge_not_voidable' } });
        expect(await find(order)).toEqual({ kind: 'absent' });
        expect((await state()).status).toBe('succeeded');
      });
    });

    holds.test('applies exactly one of a concurrent capture and void', async () => {
      const { toChange } = await authorized();
      const outcomes = await Promise.all([change(toChange(captureOf(AMOUNT))), change(toChange(VOID))]);
      expect(outcomes.map(({ kind }) => kind).toSorted()).toEqual(['applied', 'refused']);
    });

    noRefunds.test('refuses a refund if refunds are not supported, and refunds nothing', async () => {
      const { toChange, state } = await charged();
      expect((await change(toChange(refundOf(AMOUNT)))).kind).toBe('refused');
      expect((await state()).refunds).toEqual([]);
    });

    refunds.describe('a refund', () => {
      test('is identified by its operation, and the look-up returns the same outcome', async () => {
        const { chargeId, toChange, state } = await charged();
        const order = toChange(refundOf(refundedMinor));
        expect(await find(order)).toEqual({ kind: 'absent' });
        const outcome = await change(order);
        expect(outcome).toEqual({
          kind: 'applied',
          facts: [
            { kind: 'refund', refundId: order.operationId, chargeId, amountMinor: refundedMinor, status: 'succeeded' },
          ],
        });
        expect(await find(order)).toEqual(outcome);
        expect(await state()).toEqual({ status: 'succeeded', captured: AMOUNT, refunds: [refundedMinor] });
      });

      test('takes effect once per key if it is sent several times concurrently', async () => {
        const { toChange, state } = await charged();
        const order = toChange(refundOf(refundedMinor));
        const outcomes = await Promise.all(Array.from({ length: 5 }, () => change(order)));
        expect(new Set(outcomes.map((outcome) => JSON.stringify(outcome))).size).toBe(1);
        expect((await state()).refunds).toEqual([refundedMinor]);
      });

      partialRefunds.test('is a separate refund if its key is different, even with the same amount', async () => {
        const { toChange, state } = await charged();
        const [one, other] = [toChange(refundOf(700)), toChange(refundOf(700))];
        await change(one);
        expect(await find(other)).toEqual({ kind: 'absent' });
        await change(other);
        expect((await state()).refunds).toEqual([700, 700]);
        expect(await find(one)).toMatchObject({ facts: [{ refundId: one.operationId }] });
        expect(await find(other)).toMatchObject({ facts: [{ refundId: other.operationId }] });
      });

      partialRefunds.test(
        'is refused above the remaining amount, and the same key then succeeds with a smaller amount',
        async () => {
          const { toChange, state } = await charged();
          await change(toChange(refundOf(1_400)));
          const order = toChange(refundOf(600));
          expect(await change(order)).toMatchObject({ kind: 'refused', failure: { code: 'amount_too_large' } });
          expect(await find(order)).toEqual({ kind: 'absent' });
          expect((await change({ ...order, change: refundOf(599) })).kind).toBe('applied');
          expect(await change(toChange(refundOf(1)))).toMatchObject({
            kind: 'refused',
            failure: { code: 'charge_already_refunded' },
          });
          expect((await state()).refunds).toEqual([1_400, 599]);
        },
      );

      noPartialRefunds.test(
        'is refused below the captured amount if partial refunds are not supported, and refunds nothing',
        async () => {
          const { toChange, state } = await charged();
          expect((await change(toChange(refundOf(700)))).kind).toBe('refused');
          expect((await state()).refunds).toEqual([]);
        },
      );

      partialCaptures.test('is limited to the amount that a partial capture has captured', async () => {
        const { toChange, state } = await authorized();
        await change(toChange(captureOf(500)));
        expect((await change(toChange(refundOf(501)))).kind).toBe('refused');
        expect((await change(toChange(refundOf(500)))).kind).toBe('applied');
        expect((await state()).refunds).toEqual([500]);
      });

      test('is refused if a concurrent refund takes effect and both together exceed the charge', async () => {
        const mostMinor = declared.partialRefund ? 1_400 : AMOUNT;
        const { toChange, state } = await charged();
        const outcomes = await Promise.all([
          change(toChange(refundOf(mostMinor))),
          change(toChange(refundOf(mostMinor))),
        ]);
        expect(outcomes.map(({ kind }) => kind).toSorted()).toEqual(['applied', 'refused']);
        expect((await state()).refunds).toEqual([mostMinor]);
      });

      holds.test('is refused for a charge without captured money', async () => {
        const { toChange } = await authorized();
        expect(await change(toChange(refundOf(refundedMinor)))).toMatchObject({
          kind: 'refused',
          failure: { code: 'charge_not_refundable' },
        });
      });

      partialRefunds.test(
        'has an unknown outcome, never a refusal, and refunds nothing if its key was used with a different amount',
        async () => {
          const { toChange, state } = await charged();
          const order = toChange(refundOf(700));
          await change(order);
          expect(await fault({ ...order, change: refundOf(1) })).toMatchObject({
            name: 'AmbiguousError',
            code: 'processor_answer_mismatch',
          });
          expect((await state()).refunds).toEqual([700]);
        },
      );
    });

    refunds.test(
      'reports a refund of an unknown charge as retryable, and the refund’s look-up as ambiguous: the API key may be wrong',
      async () => {
        const order = freshChange(freshOrder(), 'ch_none', refundOf(refundedMinor));
        expect(await fault(order)).toMatchObject({ name: 'RetryableError', code: 'processor_charge_unknown' });
        await expect(find(order)).rejects.toBeInstanceOf(AmbiguousError);
      },
    );

    refunds.test(
      'does not open the circuit breaker for other payments after repeated requests for an unknown charge',
      async () => {
        const { toChange } = await charged();
        const order = freshChange(freshOrder(), 'ch_none', refundOf(refundedMinor));
        for (let time = 0; time < 6; time += 1)
          expect(await fault(order)).toMatchObject({ code: 'processor_charge_unknown' });
        expect(await change(toChange(refundOf(refundedMinor)))).toMatchObject({ kind: 'applied' });
      },
    );

    describe('with a fault:', () => {
      const kinds = [
        ['capture', captureOf(capturedMinor), 'manual', { status: 'succeeded', captured: capturedMinor, refunds: [] }],
        ['void', VOID, 'manual', { status: 'voided', captured: 0, refunds: [] }],
        [
          'refund',
          refundOf(refundedMinor),
          'automatic',
          { status: 'succeeded', captured: AMOUNT, refunds: [refundedMinor] },
        ],
      ] as const;

      for (const [kind, wanted, capture, after] of kinds) {
        const part = kind === 'refund' ? refunds : holds;
        part.test(
          `a ${kind} that took effect without a response is found by the look-up, and has no second effect if it is resent`,
          async () => {
            for (const source of ['tok_timeout_charged', 'tok_malformed']) {
              const { toChange, state } = await charged({ capture });
              const order = toChange(wanted);
              await subject.failNextChange(1, source);
              expect(await fault(order)).toBeInstanceOf(AmbiguousError);
              expect(await state()).toEqual(after);
              const outcome = await find(order);
              expect(outcome.kind).toBe('applied');
              expect(await change(order)).toEqual(outcome);
              expect(await state()).toEqual(after);
            }
          },
        );

        part.test(
          `a ${kind} that never arrived is reported as unknown, the look-up finds nothing, and a resend takes effect`,
          async () => {
            for (const source of ['tok_timeout_not_charged', 'tok_flaky']) {
              const { toChange, state } = await charged({ capture });
              const order = toChange(wanted);
              await subject.failNextChange(1, source);
              expect(await fault(order)).toBeInstanceOf(AmbiguousError);
              expect(await find(order)).toEqual({ kind: 'absent' });
              expect((await change(order)).kind).toBe('applied');
              expect(await state()).toEqual(after);
            }
          },
        );
      }

      refunds.describe('a refund', () => {
        test.each([
          ['tok_unauthorized', { code: 'processor_unauthorized' }],
          ['tok_rate_limited', { code: 'processor_rate_limited', retryAfterSeconds: 1 }],
        ])('is retryable, because nothing was applied: %s', async (source, expected) => {
          const { toChange } = await charged();
          const order = toChange(refundOf(refundedMinor));
          await subject.failNextChange(2, source);
          for (let send = 1; send <= 2; send += 1) {
            const error = await fault(order);
            expect(error).toBeInstanceOf(RetryableError);
            expect(error).toMatchObject(expected);
          }
          expect(await find(order)).toEqual({ kind: 'absent' });
          expect((await change(order)).kind).toBe('applied');
        });
      });
    });
  });
}
