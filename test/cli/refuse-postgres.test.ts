/** Commands that change rows of money in DynamoDB, in a deployment whose authority is PostgreSQL. */
import { expect, test } from '@jest/globals';
import { refusePostgres } from '../../cli/refuse-postgres.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { Stores } from '../world/stores.ts';
import { TABLES } from '../world/tables.ts';

test.each([
  ['runs', {}, undefined],
  ['runs', { authority: 'dynamodb' }, undefined],
  ['is refused', { authority: 'postgres' }, 'payonce erase does not run: the setting payonce:authority is postgres'],
])('a command %s with the recorded settings %j', async (_, settings, message) => {
  const clock = new SimulatedClock();
  const stores = new Stores(clock);
  await stores.activity.recordSettings({ sandbox: 'true', ...settings });
  const opened = { client: stores.database.client, tables: TABLES, pacing: { clock, entropy: countingEntropy() } };

  const refused = await refusePostgres(opened, 'payonce erase').then(
    () => undefined,
    (error: unknown) => (error as Error).message,
  );
  if (message === undefined) expect(refused).toBeUndefined();
  else expect(refused).toContain(message);
});
