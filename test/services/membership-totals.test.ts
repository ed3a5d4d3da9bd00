import { PutCommand, ScanCommand } from '@aws-sdk/lib-dynamodb';
import { expect, test } from '@jest/globals';
import { membership } from '../../examples/membership/membership.ts';
import { signJobCredential } from '../../lambdas/jobs/job-credential.ts';
import { MemoryDynamoDb } from '../world/memory-dynamodb.ts';

const PATH = '/v1/admin/commission-locks/release-expired';
/** This number exceeds the number that one part of a run can release, so a run needs two parts. */
const LOCKS = 25;
const table = 'membership';

test('the membership service counts all released locks of a run, even if the run failed between two parts and was repeated', async () => {
  const readers = Object.fromEntries(['LOCK#', 'CREDIT#', 'OP#', 'TOTAL'].map((prefix) => [prefix, () => undefined]));
  const state = { partition: { name: 'state', type: 'S' }, sort: { name: 'dueAtMs', type: 'N' } } as const;
  const indexes = { 'by-state': { ...state, projectsAll: true } } as const;
  const memory = new MemoryDynamoDb({
    tables: [{ name: table, partition: { name: 'pk', type: 'S' }, indexes, readers }],
  });
  for (let number = 0; number < LOCKS; number += 1) {
    const Item = { pk: `LOCK#${number}`, member: 'ada', amount: 10, dueAtMs: number, state: 'locked' };
    await memory.client.send(new PutCommand({ TableName: table, Item }));
  }
  let queries = 0;
  const client = memory.clientWith((command, apply) => {
    if (command === 'QueryCommand') queries += 1;
    return queries === 2 && command === 'QueryCommand' ? Promise.reject(new Error('the table is away')) : apply();
  });
  const app = membership({ table, client, jobSecrets: async () => ['secret'], nowMs: () => LOCKS });
  app.onError(({ message }) => new Response(message, { status: 500 }));
  const secrets = { active: async () => ['secret'], renewed: async () => undefined };
  const tools = { secrets, secretId: 'x', clock: { nowMs: () => Date.now() } };
  const runId = 'release:2026-03-01T01:20:00Z';
  const claims = { path: `membership ${PATH}`, runId, scopes: ['membership:admin'] };
  const authorization = `Bearer ${await signJobCredential(tools, claims)}`;
  const run = () => app.request(PATH, { method: 'POST', headers: { authorization, 'idempotency-key': runId } });
  expect([(await run()).status, (await run()).status]).toEqual([500, 200]);
  const { Items = [] } = await memory.client.send(new ScanCommand({ TableName: table }));
  expect(Items.filter(({ state: each }) => each === 'released')).toHaveLength(LOCKS);
  expect(Items.find(({ pk }) => pk === 'TOTAL')).toMatchObject({ runs: 1, released: LOCKS });
});
