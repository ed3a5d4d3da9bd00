import { chargeOperation } from '../../lambdas/payments/ids.ts';
import { PostgresEffects } from '../../lambdas/payments/store/postgres-effects.ts';
import { PostgresStore } from '../../lambdas/payments/store/postgres-store.ts';
import { sql } from '../postgres/postgres-fixture.ts';
import { describeOnPostgres } from '../postgres/store-database.ts';
import { describeEffectStore } from './effect-store-suite.ts';
import { describePaymentStore } from './payment-store-suite.ts';

describeOnPostgres((toolsOf, database) => {
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
