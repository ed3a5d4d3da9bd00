import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { eventOf } from '../../lambdas/events/domain/event.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { isOutcome } from '../../lambdas/payments/domain/payment.ts';
import { detailsOf, type Transition } from '../../lambdas/payments/domain/transition.ts';
import { renderedOrder } from '../../lambdas/views/domain/object-order.ts';
import { chainFor, paymentPlans } from './view-histories.ts';

type Fields = Readonly<Record<string, unknown>>;

/** The same object with its fields in another order at every depth. */
function disordered(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toReversed()
      .map(([name, inner]) => [name, disordered(inner)]),
  );
}

describe('the order of an object’s fields', () => {
  test('is restored to the rendered order after a bus or a parser changed it', () => {
    const histories = paymentPlans.map((plans) => plans.map(chainFor));
    fc.assert(
      fc.property(histories, (chains) => {
        for (const chain of chains) {
          const [first] = chain;
          const details = detailsOf(first as Transition);
          const withMore = { ...details, metadata: { z: '1', 10: '2', a: '3' } };
          for (const transition of chain.filter(({ type }) => isOutcome(type))) {
            const { event, payment } = eventOf(systemDigest, transition, withMore);
            for (const object of [event, payment] as unknown as readonly Fields[]) {
              expect(JSON.stringify(renderedOrder(disordered(object) as Fields))).toBe(JSON.stringify(object));
            }
          }
        }
      }),
    );
  });

  test('keeps unknown fields after the known ones', () => {
    const payment = { later: { b: 1, a: 2 }, id: 'pay_1', object: 'payment' };

    expect(JSON.stringify(renderedOrder(payment))).toBe('{"id":"pay_1","object":"payment","later":{"b":1,"a":2}}');
    expect(renderedOrder({ b: 1, a: 2 })).toEqual({ b: 1, a: 2 });
  });
});
