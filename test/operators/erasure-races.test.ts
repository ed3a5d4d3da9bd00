/** Tests the guarantee "erased data". */
import { eraseDetails } from '../../lambdas/activity/store/dynamodb-activity.ts';
import { tenantId } from '../../lambdas/kernel/ids.ts';
import { BY_OPERATOR } from '../support/causes.ts';
import { TABLES } from '../world/tables.ts';
import { World } from '../world/world.ts';
import { describeErasureRaces } from './erasure-races-suite.ts';

describeErasureRaces('DynamoDB', async () => {
  const world = new World();
  const { store, clock, entropy } = world;
  const tools = { client: store.database.client, registry: TABLES.registry, pacing: { clock, entropy } };
  return {
    world,
    erase: async (paymentId) => {
      await eraseDetails(tools, store.activity, {
        chain: { tenantId: tenantId('ten_fixture'), mode: 'test' },
        action: 'payment.erased',
        actor: BY_OPERATOR,
        about: [paymentId],
        occurredAtMs: clock.nowMs(),
      });
    },
    everything: async () => JSON.stringify(Object.values(TABLES).map((table) => store.database.items(table))),
  };
});
