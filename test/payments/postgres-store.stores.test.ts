import { expect, test } from '@jest/globals';
import { chargeOperation } from '../../lambdas/payments/ids.ts';
import { PostgresEffects } from '../../lambdas/payments/store/postgres-effects.ts';
import { PostgresStore } from '../../lambdas/payments/store/postgres-store.ts';
import { describeOnPostgres } from '../postgres/describe-on-postgres.ts';
import { sql } from '../postgres/postgres-fixture.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { describeEffectStore } from './effect-store-suite.ts';
import { describePaymentStore } from './payment-store-suite.ts';

describeOnPostgres((toolsOf, database) => {
  test('an unreadable orphan is reported, hides no other orphan, and is reported again after five minutes', async () => {
    const clock = new SimulatedClock();
    const unreadable: unknown[] = [];
    const effects = new PostgresEffects(
      toolsOf(clock),
      new PostgresStore(toolsOf(clock)),
      (error) => void unreadable.push(error),
    );
    const event = {
      processorName: 'memory',
      mode: 'test',
      eventId: 'evt_1',
      type: 'charge.succeeded',
      chargeId: 'ch_1',
    };
    for (const [id, reason] of [
      ['cb_a', 'of a later version'],
      ['cb_b', 'payment_unknown'],
    ]) {
      await database().run(
        sql(
          `INSERT INTO orphan (operation_id, received_at, reason, due_at, event)
            VALUES ($1, '1970-01-01Z', $2, '1970-01-01Z', $3)`,
          id,
          reason,
          JSON.stringify(event),
        ),
      );
    }
    for (const times of [1, 1, 2]) {
      const waiting = await effects.waiting('own', { untilMs: clock.nowMs(), limit: 1_000 });
      expect(waiting).toEqual([expect.objectContaining({ operationId: 'cb_b', event })]);
      expect(unreadable).toHaveLength(times);
      clock.advance(3 * 60_000);
    }
    expect(unreadable[0]).toMatchObject({ code: 'row_unreadable', message: expect.stringContaining('cb_a') });
    await database().run(sql('DELETE FROM orphan'));
  });

  describePaymentStore('postgres', async () => ({
    store: new PostgresStore(toolsOf()),
    deleteRecord: async (paymentId) => {
      await database().run(sql('DELETE FROM idempotency WHERE operation_id = $1', chargeOperation(paymentId)));
    },
  }));

  describeEffectStore('postgres', async () => {
    const payments = new PostgresStore(toolsOf());
    return { payments, effects: new PostgresEffects(toolsOf(), payments) };
  });
});
