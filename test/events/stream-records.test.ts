import { marshall } from '@aws-sdk/util-dynamodb';
import { describe, expect, test } from '@jest/globals';
import { readStreamRecord } from '../../lambdas/events/store/stream-records.ts';
import type { Transition } from '../../lambdas/payments/domain/transition.ts';
import { transitionRow } from '../../lambdas/payments/store/items.ts';
import { outcomeTransition, paymentIdFor, pendingTransition } from '../payments/payment-fixtures.ts';

const pending = pendingTransition(paymentIdFor('stream'));
const paid = outcomeTransition(pending, { kind: 'succeeded', chargeId: 'ch_1' });

/** Returns a record as Lambda delivers it, with binary values as base64 text. */
function recordOf(transition: Transition, changes: Record<string, unknown> = {}, image: Record<string, unknown> = {}) {
  const NewImage = { ...marshall(transitionRow(transition), { convertClassInstanceToMap: false }), ...image };
  const record = {
    eventID: '1',
    eventName: 'INSERT',
    eventSource: 'aws:dynamodb',
    dynamodb: { SequenceNumber: '4421584500000000017450439091', NewImage },
    ...changes,
  };
  return JSON.parse(
    JSON.stringify(record, (_key, value: unknown) =>
      value instanceof Uint8Array ? Buffer.from(value).toString('base64') : value,
    ),
  ) as unknown;
}

describe('a record of the Ledger Stream', () => {
  test('equals the written transition, byte for byte', () => {
    expect(readStreamRecord(recordOf(paid))).toMatchObject({
      position: '4421584500000000017450439091',
      content: { kind: 'transition', transition: paid },
    });
  });

  test('has no event if its transition is pending', () => {
    expect(readStreamRecord(recordOf(pending)).content).toEqual({ kind: 'no_event' });
  });

  test('has no event if it is an entry of the activity log', () => {
    const dynamodb = {
      SequenceNumber: '1',
      Keys: { pk: { S: 'ACT#deployment' }, sk: { S: 'A#000000001' } },
      NewImage: {},
    };
    expect(readStreamRecord({ eventName: 'INSERT', dynamodb }).content).toEqual({ kind: 'no_event' });
  });

  test.each(['MODIFY', 'REMOVE'])('names the row and is preserved completely if it is a %s', (eventName) => {
    const dynamodb = { SequenceNumber: '1', Keys: { pk: { S: 'PAY#pay_1' }, sk: { S: 'T#000002' } }, OldImage: {} };
    const record = { eventName, dynamodb };
    expect(readStreamRecord(record)).toEqual({
      position: '1',
      whole: JSON.stringify(record),
      content: { kind: 'tampered', how: eventName, row: 'PAY#pay_1 T#000002' },
    });
  });

  test.each([
    ['an image in an unknown format', recordOf(paid, {}, { type: { S: 'payment.settled' } })],
    ['an insert without its image', { eventName: 'INSERT', dynamodb: { SequenceNumber: '1' } }],
    ['an image that lacks its payment', recordOf(paid, {}, { payment: { NULL: true } })],
    ['a value that is not a Stream record', { eventName: 'INSERT' }],
    ['nothing', null],
  ])('is unreadable and preserved completely, without an error, if it is %s', (_what, record) => {
    expect(readStreamRecord(record)).toMatchObject({
      content: { kind: 'unreadable' },
      whole: JSON.stringify(record),
    });
  });
});
