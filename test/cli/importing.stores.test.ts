/** Tests `payonce db import` on in-memory tables and a real PostgreSQL server. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { requireAuthority } from '../../cli/authority.ts';
import type { AwsTarget } from '../../cli/deployment.ts';
import { ExitCode, endingOf } from '../../cli/failure.ts';
import { importPayments } from '../../cli/importing.ts';
import { defined } from '../../lambdas/kernel/defined.ts';
import { tenantId } from '../../lambdas/kernel/ids.ts';
import { databaseOfNewTenant, TenantAdministration } from '../../lambdas/tenants/store/tenant-administration.ts';
import { MovingDeployment } from '../authority/moving-deployment.ts';
import { paymentRequest } from '../payments/payment-fixtures.ts';
import { sql } from '../postgres/postgres-fixture.ts';
import { createDatabase, openTestDatabase, type StoreDatabase } from '../postgres/store-database.ts';
import { TABLES } from '../world/tables.ts';
import { DatabaseSecrets } from './database-secrets.ts';

let url: string;
let database: StoreDatabase;
beforeAll(async () => {
  url = await createDatabase();
  database = openTestDatabase(url);
});
afterAll(() => database.close());

type Chosen = Partial<Parameters<typeof importPayments>[2]>;

/** @param target the AWS that has the secrets of the databases @default none: any use of AWS fails */
async function runImport(opened: Parameters<typeof importPayments>[1], chosen: Chosen, target?: AwsTarget) {
  const lines: string[] = [];
  const session = {
    aws: async () => target ?? Promise.reject(new Error('unexpected use of AWS')),
    operator: 'ada',
    during: <T>(_: string, work: (report: (text: string) => void) => Promise<T>) => work(() => undefined),
    show: (_: object, shown: readonly string[]) => void lines.push(...shown),
  };
  const error: unknown = await importPayments(session, opened, { segments: 2, ...chosen }).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  return { lines, exitCode: error === undefined ? ExitCode.done : endingOf(error).exitCode };
}

test('payonce db import copies payments, reports a difference, can be canceled and repeated, and finishes once', async () => {
  const moving = await new MovingDeployment(database).begin();
  const { paymentId } = paymentRequest('cli');
  await moving.world.pay(paymentRequest('cli'));
  const { client, tables, pacing } = moving.tools();
  const opened = { client, tables: { ...tables, views: 'Views' }, pacing };
  const run = (chosen: Chosen = {}) => runImport(opened, { url, ...chosen });
  /** Each command that changes payments makes this check. */
  const use = () => requireAuthority(opened, 'dynamodb');

  // The database cannot store the payments.
  await database.owner.run(sql('ALTER TABLE work RENAME TO other'));
  expect((await run({ finish: true })).exitCode).not.toBe(ExitCode.done);
  await use();
  await database.owner.run(sql('ALTER TABLE other RENAME TO work'));

  expect(await run({ finish: true, cancel: true })).toEqual({ lines: [], exitCode: ExitCode.usage });
  expect(await run({ cancel: true })).toEqual({ lines: [], exitCode: ExitCode.refused });
  expect(await run()).toEqual({
    lines: ['1 payments and orders read. Copied: 2 transitions.'],
    exitCode: ExitCode.done,
  });
  await use();

  await database.owner.run(sql(`UPDATE transition SET body = '{}' WHERE chain_id = $1`, paymentId));
  expect(await run({ finish: true })).toEqual({
    lines: ['1 payments and orders read. Copied: 0 transitions.', `differs     ${paymentId}`],
    exitCode: ExitCode.incomplete,
  });
  await expect(use()).rejects.toThrow('An import has stopped all writes');
  expect(await run({ cancel: true })).toMatchObject({ exitCode: ExitCode.done });
  await use();

  await database.owner.run(sql('TRUNCATE transition, posting, details'));
  expect(await run({ finish: true })).toEqual({
    lines: [
      '1 payments and orders read. Copied: 2 transitions.',
      'Other rows: 1 idempotency, 0 work, 0 orphan, 0 reference, 0 approval, 0 approval_end.',
      'Deploy with payonce:authority=postgres.',
    ],
    exitCode: ExitCode.done,
  });
  await expect(use()).rejects.toThrow('The payments are in postgres: deploy with payonce:authority=postgres');
  for (const chosen of [{}, { finish: true }, { cancel: true }])
    expect(await run(chosen)).toEqual({ lines: [], exitCode: ExitCode.refused });
});

test('payonce db import --shards copies into several databases, and names the database of a payment that differs', async () => {
  const urls = new Map<string, string>();
  for (const name of ['payonce/first', 'payonce/b']) urls.set(name, await createDatabase());
  const secrets = await DatabaseSecrets.start(urls);
  const moving = await new MovingDeployment(database).begin();
  const { client, tables, pacing } = moving.tools();
  const opened = { client, tables: { ...tables, views: 'Views' }, pacing };
  const shards = [{ name: 'b', secretId: 'payonce/b' }];
  const run = (chosen: Chosen) => runImport(opened, { shards, ...chosen }, secrets.target);
  const names = ['first', 'b'];
  const id = ['ten_0', 'ten_1', 'ten_2', 'ten_3', 'ten_4']
    .map(tenantId)
    .find((each) => databaseOfNewTenant(each, names) === 'b');
  await new TenantAdministration(client, TABLES, 'ada', pacing).createTenant('Ten', defined({ id }));
  const request = paymentRequest('cli', defined({ tenantId: id }));
  await moving.world.pay(request);

  expect(await run({ url })).toEqual({ lines: [], exitCode: ExitCode.usage });
  const secret = 'payonce/first';
  expect(await run({ secret })).toEqual({
    lines: ['1 payments and orders read. Copied: 2 transitions.'],
    exitCode: ExitCode.done,
  });
  const b = openTestDatabase(urls.get('payonce/b') ?? '');
  await b.owner.run(sql(`UPDATE transition SET body = '{}'`));
  expect(await run({ secret, finish: true })).toEqual({
    lines: ['1 payments and orders read. Copied: 0 transitions.', `differs     ${request.paymentId} in b`],
    exitCode: ExitCode.incomplete,
  });
  await b.owner.run(sql('TRUNCATE transition, posting, details'));
  await b.close();
  expect(await run({ secret, finish: true })).toEqual({
    lines: [
      '1 payments and orders read. Copied: 2 transitions.',
      'Other rows: 1 idempotency, 0 work, 0 orphan, 0 reference, 0 approval, 0 approval_end.',
      'Deploy with payonce:authority=postgres and these payonce:postgresShards.',
    ],
    exitCode: ExitCode.done,
  });
  await secrets.stop();
});
