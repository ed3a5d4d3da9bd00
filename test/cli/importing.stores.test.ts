/** Tests `payonce db import` on in-memory tables and a real PostgreSQL server. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { requireAuthority } from '../../cli/authority.ts';
import { ExitCode, endingOf } from '../../cli/failure.ts';
import { importPayments } from '../../cli/importing.ts';
import type { OpenDatabase } from '../../lambdas/postgres/connection.ts';
import { MovingDeployment } from '../authority/moving-deployment.ts';
import { paymentRequest } from '../payments/payment-fixtures.ts';
import { sql } from '../postgres/postgres-fixture.ts';
import { createDatabase, openTestDatabase } from '../postgres/store-database.ts';

let url: string;
let database: OpenDatabase;
beforeAll(async () => {
  url = await createDatabase();
  database = openTestDatabase(url);
});
afterAll(() => database.close());

test('payonce db import copies payments, reports a difference, can be canceled and repeated, and finishes once', async () => {
  const moving = await new MovingDeployment(database).begin();
  const { paymentId } = paymentRequest('cli');
  await moving.world.pay(paymentRequest('cli'));
  const { client, tables, pacing } = moving.tools();
  const opened = { client, tables: { ...tables, views: 'Views' }, pacing };
  const run = async (chosen: { readonly finish?: boolean; readonly cancel?: boolean } = {}) => {
    const lines: string[] = [];
    const session = {
      aws: () => Promise.reject(new Error('unexpected use of AWS')),
      operator: 'ada',
      during: <T>(_: string, work: (report: (text: string) => void) => Promise<T>) => work(() => undefined),
      show: (_: object, shown: readonly string[]) => void lines.push(...shown),
    };
    const error: unknown = await importPayments(session, opened, { url, segments: 2, ...chosen }).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    return { lines, exitCode: error === undefined ? ExitCode.done : endingOf(error).exitCode };
  };
  /** Starts a command that changes payments. */
  const use = () => requireAuthority(opened, 'dynamodb');

  // The import does not stop writes if the database cannot store the payments.
  await database.run(sql('ALTER TABLE work RENAME TO other'));
  expect((await run({ finish: true })).exitCode).not.toBe(ExitCode.done);
  await use();
  await database.run(sql('ALTER TABLE other RENAME TO work'));

  expect(await run({ finish: true, cancel: true })).toEqual({ lines: [], exitCode: ExitCode.usage });
  expect(await run({ cancel: true })).toEqual({ lines: [], exitCode: ExitCode.refused });
  expect(await run()).toEqual({
    lines: ['1 payments and orders read. Copied: 2 transitions.'],
    exitCode: ExitCode.done,
  });
  await use();

  await database.run(sql(`UPDATE transition SET body = '{}' WHERE chain_id = $1`, paymentId));
  expect(await run({ finish: true })).toEqual({
    lines: ['1 payments and orders read. Copied: 0 transitions.', `differs     ${paymentId}`],
    exitCode: ExitCode.incomplete,
  });
  await expect(use()).rejects.toThrow('An import has stopped all writes');
  expect(await run({ cancel: true })).toMatchObject({ exitCode: ExitCode.done });
  await use();

  await database.run(sql('TRUNCATE transition, posting, details'));
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
