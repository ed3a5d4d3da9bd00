import { describe, expect, test } from '@jest/globals';
import type { ChangeCommand } from '../../lambdas/payments/domain/change.ts';
import type { CreatePayment } from '../../lambdas/payments/use/create-payment.ts';
import { surveyFaults } from '../support/fault-histories.ts';
import { whole } from '../support/slice.ts';
import type { WorldOptions } from '../world/world.ts';
import { CHANGE_RACES, changeStory } from './change-story.ts';
import { change, paymentRequest } from './payment-fixtures.ts';
import { everyRace, PaymentWorld, paymentStory } from './payment-story.ts';

type GivenStores = Pick<WorldOptions, 'store' | 'storeFor'>;

interface GivenDatabase {
  readonly name: string;
  /** Used in the test titles. */
  readonly call: string;
  readonly stores: () => GivenStores;
}

/** Histories with faults at two calls. */
interface Pairs {
  /** Used in the test titles. */
  readonly calls: string;
  readonly stores: () => GivenStores;
  readonly oneOf: readonly number[];
  readonly atLeast: number;
}

/** The simulations share no rows. */
const AT_ONCE = 8;
/** Two connections for each simulation, because a process with a fault can hold one while its rival runs. */
export const MAX_CONNECTIONS = 2 * AT_ONCE;

/** The duplicate of a change takes over between the claim and the commit of the first attempt. */
const TAKEOVER = { rivalAt: 5, leaseEnded: true };

let made = 0;
function newRequest(changes: Partial<CreatePayment> = {}): CreatePayment {
  made += 1;
  return paymentRequest(`history-${made}`, changes);
}

export function describePaymentsOn({ name, call, stores }: GivenDatabase, pairs: Pairs): void {
  describe(`the guarantees of a payment, its retry and a rival on ${name}`, () => {
    const story = (of: () => GivenStores) =>
      paymentStory((plan) => ({ world: new PaymentWorld({ plan, ...of() }), request: newRequest() }));

    test(`hold under every single fault at every ${call}`, async () => {
      const races = everyRace(3);
      const found = await surveyFaults(story(stores), { faults: 1, races, atOnce: AT_ONCE, oneOf: [3, 7] });
      expect(found.findings.slice(0, 3)).toEqual([]);
      expect(found.histories).toBeGreaterThan(whole(150, { slice: 5 }));
    });

    test(`hold under pairs of faults at any two ${pairs.calls}, without a rival and with a takeover`, async () => {
      const races = [{}, { rivalAt: 2, leaseEnded: true }, { rivalAt: 3, leaseEnded: true }];
      const { oneOf } = pairs;
      const found = await surveyFaults(story(pairs.stores), { faults: 2, races, atOnce: AT_ONCE, oneOf });
      expect(found.findings.slice(0, 3)).toEqual([]);
      expect(found.histories).toBeGreaterThan(whole(pairs.atLeast, { slice: 8 }));
    });
  });
}

/** @param pairs if set, also tests histories of single changes with faults at two calls */
export function describeChangesOn({ name, call, stores }: GivenDatabase, pairs?: Pairs): void {
  describe(`the guarantees of a change with a concurrent retry or a competing change on ${name}`, () => {
    const storyOf = (of: () => GivenStores, command: ChangeCommand, rival?: ChangeCommand) =>
      changeStory(() => {
        const payment = newRequest({ capture: command.kind === 'refund' ? 'automatic' : 'manual' });
        return {
          payment,
          change: change(payment, 'mine', command),
          stores: of(),
          ...(rival === undefined ? {} : { rival: change(payment, 'rival', rival) }),
        };
      });

    test.each<[string, ChangeCommand, ChangeCommand]>([
      ['two refunds of 70 out of 100', { kind: 'refund', amountMinor: 700 }, { kind: 'refund', amountMinor: 700 }],
      ['a capture and a cancellation', { kind: 'capture' }, { kind: 'cancel' }],
    ])(
      `hold for %s under every single fault at every ${call} and every call to the processor`,
      async (_what, command, rival) => {
        const found = await surveyFaults(storyOf(stores, command, rival), {
          faults: 1,
          races: CHANGE_RACES,
          atOnce: AT_ONCE,
          oneOf: [3, 23],
        });
        expect(found.findings.slice(0, 3)).toEqual([]);
        expect(found.histories).toBeGreaterThan(whole(200, { slice: 6 }));
      },
    );

    if (pairs === undefined) return;
    test.each<[string, ChangeCommand]>([
      ['a refund', { kind: 'refund', amountMinor: 700 }],
      ['a capture', { kind: 'capture', amountMinor: 900 }],
      ['a cancellation', { kind: 'cancel' }],
    ])(
      `hold for %s under pairs of faults at any two ${pairs.calls}, without a rival and with a takeover`,
      async (_what, command) => {
        const found = await surveyFaults(storyOf(pairs.stores, command), {
          faults: 2,
          races: [{}, TAKEOVER],
          atOnce: AT_ONCE,
          oneOf: pairs.oneOf,
        });
        expect(found.findings.slice(0, 3)).toEqual([]);
        expect(found.histories).toBeGreaterThan(whole(pairs.atLeast, { slice: 4 }));
      },
    );
  });
}
