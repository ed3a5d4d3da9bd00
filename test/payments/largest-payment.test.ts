import { marshall } from '@aws-sdk/util-dynamodb';
import { describe, expect, test } from '@jest/globals';
import { eventOf } from '../../lambdas/events/domain/event.ts';
import { MAX_BYTES } from '../../lambdas/events/use/event-publisher.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { paymentObject } from '../../lambdas/payments/domain/payment.ts';
import type { ProcessorCharge } from '../../lambdas/payments/domain/processor-charge.ts';
import { detailsOf, type Transition } from '../../lambdas/payments/domain/transition.ts';
import { chargeOperation } from '../../lambdas/payments/ids.ts';
import { transitionRow } from '../../lambdas/payments/store/items.ts';
import { decideAll } from '../../lambdas/payments/use/decide-all.ts';
import { chainOf, type PaymentChain } from '../../lambdas/payments/use/payment-chain.ts';
import { nextPart } from '../../lambdas/payments/use/record-charge.ts';
import { BY_RUN } from '../support/causes.ts';
import { itemSize, storedItem } from '../world/dynamodb-values.ts';
import { paymentIdFor, pendingTransition } from './payment-fixtures.ts';

const id = paymentIdFor('largest');
const KILOBYTE = 1_024;
/** DynamoDB's maximum sizes of an item and of a transaction, in bytes (Amazon DynamoDB developer guide, "Quotas"). */
const [ITEM_BYTES, TRANSACTION_BYTES] = [400 * KILOBYTE, 4 * KILOBYTE * KILOBYTE];
/** Maximum size of an SQS message before 2025, in bytes. Older queues keep this limit. */
const MESSAGE_BYTES = 256 * KILOBYTE;
/** Maximum size of a function's response, in bytes (AWS Lambda developer guide, "Lambda quotas"). */
const ANSWER_BYTES = 6 * KILOBYTE * KILOBYTE;
/** The maximum page size of a list. */
const PAGE = 100;
/** The maximum length of a processor's object id. */
const long = (text: string) => text.padEnd(255, '_');

/** A charge with more disputes than a payment can hold, with the longest ids and with fees in 180 currencies. */
const charge: ProcessorCharge = {
  chargeId: long('ch'),
  paymentId: id,
  operationId: chargeOperation(id),
  status: 'succeeded',
  amountMinor: 1_000,
  capturedMinor: 1_000,
  currency: 'EUR',
  otherFees: Array.from({ length: 180 }, (_, at) => ({ amountMinor: 999_999_999_999, currency: `X${at}` })),
  refunds: [],
  disputes: Array.from({ length: 200 }, (_, at) => ({
    kind: 'dispute' as const,
    disputeId: long(`dp_${at}_`),
    chargeId: long('ch'),
    amountMinor: 999_999_999_999,
    status: 'open' as const,
  })),
  createdAtSeconds: 1,
};

describe('the largest payment', () => {
  const rowBytes = (transition: Transition) => itemSize(storedItem(transitionRow(transition)));
  const decided = (before: PaymentChain) => {
    const occasion = { occurredAtMs: 1_772_366_400_000, cause: BY_RUN };
    return decideAll(systemDigest, charge, before, occasion);
  };

  test('fits into DynamoDB rows and transactions, a bus event, an SQS message and a list page', () => {
    let chain = chainOf([pendingTransition(id)]);
    const parts: Transition[][] = [];
    for (let isMore = true; isMore; ) {
      const next = nextPart(chain, { ...decided(chain), charge }, 0);
      parts.push([...next.part]);
      chain = chainOf([...chain.transitions, ...next.part]);
      isMore = next.isMore;
    }
    const all = parts.flat();
    expect(Math.max(...all.map(rowBytes))).toBeLessThan(ITEM_BYTES / 2);
    const together = parts.map((part) => part.reduce((sum, each) => sum + rowBytes(each), 0));
    expect(Math.max(...together)).toBeLessThan(TRANSACTION_BYTES - ITEM_BYTES);
    // The relay parks the Stream record of a row, which contains at most the old and the new image.
    const records = all.map((each) => 2 * JSON.stringify(marshall(storedItem(transitionRow(each)))).length);
    expect(Math.max(...records)).toBeLessThan(MESSAGE_BYTES);
    const events = all.map((each) => JSON.stringify(eventOf(systemDigest, each, detailsOf(chain.first))).length);
    expect(Math.max(...events)).toBeLessThan(MAX_BYTES - 50 * KILOBYTE);
    const shown = all.map(({ payment }) => JSON.stringify(paymentObject(payment, {})).length);
    expect(PAGE * Math.max(...shown)).toBeLessThan(ANSWER_BYTES - KILOBYTE * KILOBYTE);
  });

  test('refuses further disputes as a contradiction', () => {
    const first = chainOf([pendingTransition(id)]);
    const { transitions } = decided(first);
    const { payment } = transitions.at(-1) ?? first.newest;
    expect(payment.disputes).toHaveLength(50);
    const again = decided(chainOf([...first.transitions, ...transitions]));
    expect([again.transitions, new Set(again.contradictions)]).toEqual([
      [],
      new Set(['the payment already has the maximum number of disputes']),
    ]);
  });
});
