import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { tenantId } from '../../lambdas/kernel/ids.ts';
import { PostgresStore } from '../../lambdas/payments/store/postgres-store.ts';
import type { OpenDatabase } from '../../lambdas/postgres/connection.ts';
import { firstWithNotes, refundAfter } from '../payments/carried-chain.ts';
import { Copies } from '../payments/copies.ts';
import {
  completedRecord,
  openRecord,
  outcomeTransition,
  paymentIdFor,
  pendingTransition,
} from '../payments/payment-fixtures.ts';
import { Administrator, sql } from '../postgres/postgres-fixture.ts';
import { createDatabase, openTestDatabase, toolsOn } from '../postgres/store-database.ts';

const PAGE = readFileSync(join(import.meta.dirname, '../../docs/reference/sql.md'), 'utf8');

let database: OpenDatabase;
let person: Administrator;
beforeAll(async () => {
  const url = await createDatabase();
  database = openTestDatabase(url);
  person = await Administrator.connect(url);
});
afterAll(async () => {
  await person.end();
  await database.close();
});

/** An administrator of the database runs the query for the tenant and mode of the fixtures. */
async function query(section: string, change = (text: string) => text) {
  const text = new RegExp(`## ${section}\n[^]*?\`\`\`sql\n([^]+?);\n\`\`\``).exec(PAGE)?.[1] ?? '';
  return person.query(change(text).replaceAll("'ten_example'", "'ten_fixture'").replaceAll("'live'", "'test'"));
}

test('the queries of docs/reference/sql.md sum balances, list open claims and find a reference', async () => {
  const store = new PostgresStore(toolsOn(database));
  const [paid, open] = [paymentIdFor('sql-paid'), paymentIdFor('sql-open')];
  const name = { tenantId: tenantId('ten_fixture'), mode: 'test' as const, reference: 'order-6735' };
  const pending = pendingTransition(paid, 'order-6735');
  await store.claim({ record: openRecord(paid), pending, reference: { name } });
  const transition = outcomeTransition(pending, { kind: 'succeeded', chargeId: 'ch_1' });
  await store.commit({ record: completedRecord(paid), expects: 'open', transition });
  await store.claim({ record: openRecord(open), pending: pendingTransition(open) });

  expect(await query('Try it')).toEqual([
    { account: 'merchant_payable', currency: 'EUR', balance_minor: '1000' },
    { account: 'processor_clearing', currency: 'EUR', balance_minor: '-1000' },
  ]);
  expect(await query('Open claims')).toEqual([
    {
      operation_id: open,
      tenant_id: 'ten_fixture',
      payment_id: open,
      claimed_at: new Date(openRecord(open).claimedAtMs),
      lease_expires_at: new Date(openRecord(open).leaseExpiresAtMs),
    },
  ]);
  expect(await query('A reference')).toEqual([
    { chain_id: paid, status: 'succeeded', amount_minor: '1000', currency: 'EUR' },
  ]);
});

test('the statement in docs/reference/sql.md erases personal data and its copies, and can be repeated for data that was written later', async () => {
  const id = paymentIdFor('sql-erased');
  const copies = new Copies(database);
  const first = firstWithNotes(id);
  for (const transition of [first, refundAfter(first)]) {
    await copies.write(transition);
    await copies.poll();
    expect(copies.details(id)).not.toEqual([]);
    await query('Erase personal data', (text) => text.replace(/'pay_\w+'/, `'${id}'`));
    await copies.poll();
    expect(await database.run(sql('SELECT part FROM details WHERE chain_id = $1', id))).toEqual([]);
    expect(copies.details(id)).toEqual([]);
    expect(await copies.outbox(id)).toEqual([]);
  }
});
