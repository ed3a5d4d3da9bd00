import { PostgresActivity } from '../../lambdas/activity/store/postgres-activity.ts';
import { PostgresApprovals } from '../../lambdas/operators/store/postgres-approvals.ts';
import { PostgresStore } from '../../lambdas/payments/store/postgres-store.ts';
import { describeOnPostgres } from '../postgres/describe-on-postgres.ts';
import { sql } from '../postgres/postgres-fixture.ts';
import { describeApprovingStore } from './approving-store-suite.ts';

describeOnPostgres((toolsOf, database) => {
  describeApprovingStore('postgres', async () => {
    await database().owner.run(sql('DELETE FROM approval'));
    const payments = new PostgresStore(toolsOf());
    return {
      payments,
      activity: new PostgresActivity(toolsOf()),
      effects: new PostgresApprovals(toolsOf(), payments),
      erase: async (paymentId) => {
        await database().run(sql('DELETE FROM details WHERE chain_id = $1', paymentId));
      },
    };
  });
});
