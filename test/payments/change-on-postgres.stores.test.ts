import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { ChangeCommand } from '../../lambdas/payments/domain/change.ts';
import type { OpenDatabase } from '../../lambdas/postgres/connection.ts';
import { createDatabase, openTestDatabase } from '../postgres/store-database.ts';
import { surveyFaults } from '../support/fault-histories.ts';
import { whole } from '../support/slice.ts';
import { storesOnPostgres } from '../world/postgres-stores.ts';
import { CHANGE_RACES, type ChangeSubject, changeStory } from './change-story.ts';
import { change, paymentIdFor, paymentRequest } from './payment-fixtures.ts';

/** Number of concurrent simulations, which share no rows. */
const AT_ONCE = 8;

let database: OpenDatabase;
let made = 0;
beforeAll(async () => {
  database = openTestDatabase(await createDatabase(), { connections: 2 * AT_ONCE });
});
afterAll(() => database.close());

function subject(command: ChangeCommand, rival?: ChangeCommand): () => ChangeSubject {
  return () => {
    made += 1;
    const key = `changed-${made}`;
    const capture = command.kind === 'refund' ? 'automatic' : 'manual';
    const payment = paymentRequest(key, { paymentId: paymentIdFor(key), capture });
    return {
      payment,
      change: change(payment, 'mine', command),
      ...(rival === undefined ? {} : { rival: change(payment, 'rival', rival) }),
      stores: storesOnPostgres(database),
    };
  };
}

describe('the guarantees of a change, its retry and a rival on PostgreSQL', () => {
  test.each<[string, ChangeCommand, ChangeCommand | undefined]>([
    ['two refunds of 70 out of 100', { kind: 'refund', amountMinor: 700 }, { kind: 'refund', amountMinor: 700 }],
    ['a capture and a cancellation', { kind: 'capture' }, { kind: 'cancel' }],
  ])(
    'hold for %s under every single fault at every statement and at every call of the processor',
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
