import { beforeAll, expect, test } from '@jest/globals';
import { PostgresSendingClaims } from '../../lambdas/outbound/store/postgres-sending-claims.ts';
import { privilegesFor, readMigrations } from '../../lambdas/postgres/migrations.ts';
import { describeOnPostgres } from '../postgres/describe-on-postgres.ts';
import { sql } from '../postgres/postgres-fixture.ts';
import { describeSendingClaims } from './sending-claims-suite.ts';

describeOnPostgres((toolsOf, plain) => {
  beforeAll(async () => {
    const grant = `GRANT ${privilegesFor('sending').join(', ')} ON sending TO PUBLIC`;
    const statements = readMigrations('service').flatMap((migration) => migration.statements);
    for (const text of [...statements, grant]) await plain().owner.run(sql(text));
  });

  const claimsOf = (tools: ReturnType<typeof toolsOf>, vendor = 'postmark') =>
    new PostgresSendingClaims(tools, 'payonce.sending', vendor);

  describeSendingClaims('PostgreSQL', async (clock) => claimsOf(toolsOf(clock)));

  test('the sending claims of two vendors are separate', async () => {
    await claimsOf(toolsOf()).sent('letter', 'vendor-1');
    expect(await claimsOf(toolsOf(), 'bigcommerce').begin('letter', 25_000)).toMatchObject({ kind: 'ours' });
  });
});
