import { beforeAll, expect, test } from '@jest/globals';
import { PostgresSendingClaims } from '../../lambdas/outbound/store/postgres-sending-claims.ts';
import { readMigrations } from '../../lambdas/postgres/migrations.ts';
import { describeOnPostgres } from '../postgres/describe-on-postgres.ts';
import { describeSendingClaims } from './sending-claims-suite.ts';

describeOnPostgres((toolsOf, plain) => {
  beforeAll(async () => {
    for (const { statements } of readMigrations('service'))
      for (const text of statements) await plain().run({ name: '', text, values: [] });
  });

  const claimsOf = (tools: ReturnType<typeof toolsOf>, vendor = 'postmark') =>
    new PostgresSendingClaims(tools, 'payonce.sending', vendor);

  describeSendingClaims('PostgreSQL', async (clock) => claimsOf(toolsOf(clock)));

  test('the sending claims of two vendors are separate', async () => {
    await claimsOf(toolsOf()).sent('letter', 'vendor-1');
    expect(await claimsOf(toolsOf(), 'bigcommerce').begin('letter', 25_000)).toMatchObject({ kind: 'ours' });
  });
});
