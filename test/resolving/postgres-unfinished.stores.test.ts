import { expect, test } from '@jest/globals';
import { PostgresEffects } from '../../lambdas/payments/store/postgres-effects.ts';
import { PostgresStore } from '../../lambdas/payments/store/postgres-store.ts';
import { PostgresHolds } from '../../lambdas/resolving/store/postgres-holds.ts';
import { PostgresUnfinishedWork } from '../../lambdas/resolving/store/postgres-unfinished.ts';
import { effectWithHold } from '../payments/held-effect.ts';
import { completedRecord, openRecord, paymentIdFor } from '../payments/payment-fixtures.ts';
import { describeOnPostgres } from '../postgres/describe-on-postgres.ts';
import { sql } from '../postgres/postgres-fixture.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { describeHolds } from './due-queue-suite.ts';
import { describeUnfinishedWork } from './unfinished-work-suite.ts';

describeOnPostgres((toolsOf, database) => {
  describeUnfinishedWork('postgres', async () => {
    const payments = new PostgresStore(toolsOf());
    return {
      payments,
      effects: new PostgresEffects(toolsOf(), payments),
      work: new PostgresUnfinishedWork(toolsOf()),
    };
  });

  describeHolds('postgres', async () => {
    await database().run(sql(`DELETE FROM work WHERE kind = 'hold'`));
    const effects = new PostgresEffects(toolsOf(), new PostgresStore(toolsOf()));
    return {
      holds: new PostgresHolds(toolsOf()),
      write: async (hold) => {
        await effects.recordEffect(effectWithHold(hold));
      },
    };
  });

  test('a claim that was completed after the queue was read is not queued again', async () => {
    const id = paymentIdFor('postponed-late');
    const payments = new PostgresStore(toolsOf());
    const record = openRecord(id);
    await payments.claim({ record });
    await payments.commit({ record: completedRecord(id), expects: 'open' });
    await new PostgresUnfinishedWork(toolsOf()).postponeClaim(record, { dueAtMs: 1, undecidable: true });
    const rows = await database().run(
      sql('SELECT due_at, undecidable FROM idempotency WHERE operation_id = $1', record.operationId),
    );
    expect(rows).toEqual([{ due_at: null, undecidable: null }]);
  });

  test('an unreadable row is reported, hides no other row, and is reported again after five minutes', async () => {
    const clock = new SimulatedClock();
    const unreadable: unknown[] = [];
    const work = new PostgresUnfinishedWork(toolsOf(clock), (error) => void unreadable.push(error));
    const add = (id: string, reason: string | null) =>
      database().run(
        sql(
          `INSERT INTO work (kind, chain_id, subject, concerns, queue, due_at, since, reason)
            VALUES ('inquiry', $1, $1, $1, 'unknown_outcome', '1970-01-01Z', '1970-01-01Z', $2)`,
          id,
          reason,
        ),
      );
    await add('pay_a', 'of a later version');
    await add('pay_b', null);
    const row = { operationId: 'pay_b', paymentId: 'pay_b', claimedAtMs: 0 };
    for (const times of [1, 1, 2]) {
      expect(await work.unknownOutcomes({ untilMs: clock.nowMs(), limit: 1_000 })).toContainEqual(row);
      expect(unreadable).toHaveLength(times);
      clock.advance(3 * 60_000);
    }
    expect(unreadable[0]).toMatchObject({ code: 'row_unreadable', message: expect.stringContaining('pay_a pay_a') });
  });
});
