import { beforeAll, describe, expect, test } from '@jest/globals';
import type { ChangeCommand } from '../../lambdas/payments/domain/change.ts';
import { surveyFaults } from '../support/fault-histories.ts';
import { createTables, storesOn } from '../support/local-aws.ts';
import { whole } from '../support/slice.ts';
import { CHANGE_RACES, type ChangeSubject, changeStory } from './change-story.ts';
import { change, paymentIdFor, paymentRequest } from './payment-fixtures.ts';

/** Number of concurrent simulations, which share no items. */
const AT_ONCE = 8;

let tables: Awaited<ReturnType<typeof createTables>>;
let made = 0;
beforeAll(async () => {
  tables = await createTables('changes');
});

function subject(command: ChangeCommand, rival?: ChangeCommand): () => ChangeSubject {
  const stores = storesOn(tables);
  return () => {
    made += 1;
    const key = `changed-${made}`;
    const capture = command.kind === 'refund' ? 'automatic' : 'manual';
    const payment = paymentRequest(key, { paymentId: paymentIdFor(key), capture });
    return {
      payment,
      change: change(payment, 'mine', command),
      ...(rival === undefined ? {} : { rival: change(payment, 'rival', rival) }),
      stores,
    };
  };
}

describe('the guarantees of a change, its retry and a rival on DynamoDB', () => {
  test.each<[string, ChangeCommand, ChangeCommand | undefined]>([
    ['two refunds of 70 out of 100', { kind: 'refund', amountMinor: 700 }, { kind: 'refund', amountMinor: 700 }],
    ['a capture and a cancellation', { kind: 'capture' }, { kind: 'cancel' }],
  ])(
    'hold for %s under every single fault at every call of the SDK and of the processor',
    async (_what, command, rival) => {
      const oneOf = 29;
      const found = await surveyFaults(changeStory(subject(command, rival)), {
        faults: 1,
        races: CHANGE_RACES,
        atOnce: AT_ONCE,
        oneOf,
      });
      expect(found.findings.slice(0, 3)).toEqual([]);
      expect(found.histories).toBeGreaterThan(whole(200, { slice: 200 / oneOf }));
    },
  );
});
