import { createServer } from 'node:http';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { openTables } from '../../cli/deployment.ts';
import { StackOutput } from '../../lambdas/kernel/contract/api.ts';
import { DEFAULT_SHARDS, shardsFor } from '../../lambdas/kernel/contract/shards.ts';
import { mostShards } from '../../lambdas/kernel/platform/shards.ts';
import { listenOnLoopback, stopListening } from '../sandbox/sandbox-listen.ts';
import { PEAK, setPeakRates } from '../support/peak-rates.ts';

const TABLES = ['idempotencyTable', 'ledgerTable', 'registryTable', 'viewsTable'] as const;

let more: Readonly<Record<string, string>> = {};
const server = createServer((_, response) => {
  const tables = Object.fromEntries(TABLES.map((name) => [StackOutput[name], name]));
  const outputs = Object.entries({ ...tables, ...more }).map(
    ([key, value]) => `<member><OutputKey>${key}</OutputKey><OutputValue>${value}</OutputValue></member>`,
  );
  const stack = `<Stacks><member><Outputs>${outputs.join('')}</Outputs></member></Stacks>`;
  response.end(
    `<DescribeStacksResponse><DescribeStacksResult>${stack}</DescribeStacksResult></DescribeStacksResponse>`,
  );
});
let endpoint = '';
const open = () =>
  openTables({ endpoint, region: 'eu-west-1', credentials: { accessKeyId: 'a', secretAccessKey: 'b' } });

beforeAll(async () => {
  endpoint = await listenOnLoopback(server);
});
afterEach(() => setPeakRates());
afterAll(() => stopListening(server));

test('a command spreads rows over as many shards as the functions of its deployment do', async () => {
  more = { [StackOutput.peakRates]: JSON.stringify([{ from: '2026-03-01', ...PEAK }]) };
  expect((await open()).tables.registry).toBe('registryTable');
  expect(mostShards()).toEqual(shardsFor(PEAK));

  more = {};
  await open();
  expect(mostShards()).toEqual(DEFAULT_SHARDS);
});
