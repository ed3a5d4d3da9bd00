import { describe, expect, test } from '@jest/globals';
import { ALL_EVENTS, type LedgerEventName } from '../../lambdas/events/contract.ts';
import { eventOf, nameOfEvent, typeOfEvent } from '../../lambdas/events/domain/event.ts';
import { EventSchemas, readEvent } from '../../lambdas/events/http/event-schemas.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import type { Subject } from '../../lambdas/payments/domain/payment.ts';
import { detailsOf, nextTransition } from '../../lambdas/payments/domain/transition.ts';
import { chainOf } from '../../lambdas/payments/use/payment-chain.ts';
import { outcomeTransition, paymentIdFor, pendingTransition } from '../payments/payment-fixtures.ts';
import { requestedAt } from '../support/causes.ts';
import { fc } from '../support/properties.ts';
import { chainFor, paymentPlans } from '../views/view-histories.ts';
import { eventsOf } from './event-fixtures.ts';

const first = pendingTransition(paymentIdFor('schemas'));
const paid = outcomeTransition(first, { kind: 'succeeded', chargeId: 'ch_1' });

function subjectOf(type: string): { readonly subject?: Subject } {
  const charge = { chargeId: 'ch_1', amountMinor: 300, createdAtMs: 1_772_366_400_000 };
  if (type.startsWith('refund.'))
    return { subject: { kind: 'refund', refundId: 're_1', status: 'succeeded', ...charge } };
  if (type.startsWith('dispute.'))
    return { subject: { kind: 'dispute', disputeId: 'dp_1', status: 'open', ...charge } };
  return {};
}

const isOfPayment = (name: LedgerEventName): name is Exclude<LedgerEventName, `order.${string}`> =>
  !name.startsWith('order.');

describe('an event of every type', () => {
  test.each(ALL_EVENTS.filter(isOfPayment))('is read from the bus unchanged: %s', (name) => {
    const type = typeOfEvent(name);
    const draft = { type, payment: paid.payment, postings: [], ...subjectOf(type) };
    const transition = nextTransition(
      systemDigest,
      chainOf([first, paid]),
      draft,
      requestedAt(Date.UTC(2026, 2, 1, 13)),
    );
    const event = eventOf(systemDigest, transition, detailsOf(first));
    const onTheBus: unknown = JSON.parse(JSON.stringify(event));
    expect(nameOfEvent(event.event)).toBe(name);
    expect(readEvent(name, onTheBus)).toEqual({ kind: 'event', event });
    expect(EventSchemas[name].parse(onTheBus)).toEqual(event);
  });
});

test('an event can be parsed even if the processor has paid back more fees than it deducted', () => {
  const fees = { feeMinor: -91, otherFees: [{ amountMinor: -5, currency: 'USD' }] };
  const changed = outcomeTransition(paid, { kind: 'fee', chargeId: 'ch_1', ...fees });
  const events = eventsOf(systemDigest, [first, paid, changed]);
  expect(events.map((event) => readEvent(nameOfEvent(event.event), event).kind)).toEqual(['event', 'event']);
});

test('every event of a payment can be parsed, for any sequence of facts', () => {
  fc.assert(
    fc.property(paymentPlans, (plans) => {
      const events = eventsOf(systemDigest, plans.flatMap(chainFor));
      expect(events.map((event) => readEvent(nameOfEvent(event.event), event))).toEqual(
        events.map((event) => ({ kind: 'event', event })),
      );
    }),
    { numRuns: 40 },
  );
});

describe('the detail of an event on the bus', () => {
  const NAME = 'payment.completed.v1';
  const event = JSON.parse(JSON.stringify(eventOf(systemDigest, paid, detailsOf(first)))) as Record<string, object>;

  test('may have unknown fields, which are passed through', () => {
    const grown = { ...event, payment: { ...event['payment'], risk: 'low' } };
    expect(readEvent(NAME, grown)).toMatchObject({ kind: 'event', event: { payment: { risk: 'low' } } });
  });

  test.each([null, 'text', 7, [], {}, { ...event, event: { ...event['event'], version: 2 } }])(
    'is reported as malformed, without throwing, if it is %j',
    (detail) => {
      expect(readEvent(NAME, detail)).toMatchObject({ kind: 'malformed' });
    },
  );
});
