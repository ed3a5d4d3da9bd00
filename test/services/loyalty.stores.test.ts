import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { SQSEvent } from 'aws-lambda';
import type { Pool } from 'pg';
import { loyalty, TABLES } from '../../examples/loyalty/loyalty.ts';
import { signJobCredential } from '../../lambdas/jobs/job-credential.ts';
import { ServiceDatabase } from './service-database.ts';
import { paymentCompleted } from './service-events.ts';

let database: ServiceDatabase;
let pool: Pool;
let service: ReturnType<typeof loyalty>;

beforeAll(async () => {
  database = await ServiceDatabase.create();
  pool = database.pool();
  await pool.query(TABLES);
  service = loyalty({ pool, jobSecrets: async () => ['secret'] });
});
afterAll(() => database.close());

const pointsOf = async (member: string): Promise<unknown> =>
  (await database.administrator.query('SELECT points FROM member WHERE id = $1', [member]))[0]?.['points'];

test('each payment adds points once, each redemption spends them once, and the expiry job removes the rest once', async () => {
  const detail = paymentCompleted('loyalty') as { readonly payment: object };
  const paid = { ...detail, payment: { ...detail.payment, amount: 4_250, metadata: { member: 'ada' } } };
  const event = { Records: [{ messageId: 'm1', body: JSON.stringify({ detail: paid }) }] } as SQSEvent;
  expect(await service.collect(event)).toEqual({ batchItemFailures: [] });
  expect(await service.collect(event)).toEqual({ batchItemFailures: [] });
  expect(await pointsOf('ada')).toBe(42);

  const redeem = async (key: string) => {
    const headers = { 'content-type': 'application/json', 'idempotency-key': key };
    const answer = await service.app.request('/v1/redemptions', {
      method: 'POST',
      headers,
      body: '{"member":"ada","points":30}',
    });
    return [answer.status, await answer.json()];
  };
  const spent = { object: 'redemption', member: 'ada', points: 30, points_left: 12 };
  const both = await Promise.all([redeem('r1'), redeem('r1')]);
  expect([...both, await redeem('r1')]).toEqual([
    [201, spent],
    [201, spent],
    [201, spent],
  ]);
  expect(await redeem('r2')).toEqual([409, { code: 'points_insufficient' }]);
  expect(await pointsOf('ada')).toBe(12);
  const ordered = 'SELECT member, points, state FROM voucher';
  expect(await database.administrator.query(ordered)).toEqual([{ member: 'ada', points: 30, state: 'ordered' }]);

  await database.administrator.query("UPDATE member SET active_at = '2020-01-01'");
  const runId = 'expire-points:2026-03-01T01:20:00Z';
  const expire = async () => {
    const secrets = { active: async () => ['secret'], renewed: async () => undefined };
    const signing = { secrets, secretId: 'x', clock: { nowMs: () => Date.now() } };
    const claims = { path: 'loyalty /v1/admin/points/expire', runId, scopes: ['loyalty:admin'] };
    const headers = { authorization: `Bearer ${await signJobCredential(signing, claims)}`, 'idempotency-key': runId };
    return (await service.app.request('/v1/admin/points/expire', { method: 'POST', headers })).json();
  };
  const expired = { object: 'expiry', run: runId, members: 1 };
  expect([await expire(), await expire()]).toEqual([expired, expired]);
  expect(await pointsOf('ada')).toBe(0);
});
