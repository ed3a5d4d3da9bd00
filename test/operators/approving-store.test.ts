import { DeleteCommand } from '@aws-sdk/lib-dynamodb';
import { detailsKey } from '../../lambdas/once/store/details-rows.ts';
import { Stores } from '../world/stores.ts';
import { TABLES } from '../world/tables.ts';
import { describeApprovingStore } from './approving-store-suite.ts';

describeApprovingStore('in-memory', async () => {
  const stores = new Stores();
  return {
    payments: stores,
    activity: stores.activity,
    effects: stores,
    erase: async (paymentId) => {
      const { pk } = detailsKey(paymentId);
      for (const row of stores.database.items(TABLES.registry, String(pk))) {
        await stores.database.client.send(
          new DeleteCommand({ TableName: TABLES.registry, Key: { pk: row['pk'], sk: row['sk'] } }),
        );
      }
    },
  };
});
