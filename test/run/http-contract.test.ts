import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { unitFiles } from './entries.ts';
import { contractFiles, ONLY_ON_DYNAMODB, worldFiles } from './http-contract.ts';

const TEST = join(import.meta.dirname, '..');
const files = [...unitFiles().values()].flat();

/** Rooms (folders of `test/`) whose tests do not belong to the contract, even if they call the API. */
const OTHER_ROOMS: Readonly<Record<string, string>> = {
  archive: 'reads the copies of payments in DynamoDB, which are the same with each authority',
  authority: 'tests each authority itself',
  bench: 'counts the calls of DynamoDB',
  cli: 'sends the requests of other rooms',
  console: 'runs on stacks with PostgreSQL in npm run prove',
  demo: 'runs with PostgreSQL in npm run prove',
  docs: 'compares the documents with the code',
  functions: 'reads no payment',
  local: 'tests the clock of the local AWS',
  once: 'tests the engine, not its stores',
  run: 'tests no function',
  world: 'the simulator has a world of its own on PostgreSQL',
};

test('each test file that calls the API runs with each authority, or is exempt for a stated reason', () => {
  const contract = new Set([...contractFiles(files), ...Object.keys(ONLY_ON_DYNAMODB)]);
  const missing = files.filter(
    (file) =>
      !contract.has(file) &&
      !((file.split('/')[0] ?? '') in OTHER_ROOMS) &&
      /\bnew (?:Api|World)\(/.test(readFileSync(join(TEST, file), 'utf8')),
  );
  expect(missing).toEqual([]);
});

test('each file that runs only on DynamoDB belongs to the contract, and each exempt room exists', () => {
  const all = new Set(worldFiles(files));
  expect(Object.keys(ONLY_ON_DYNAMODB).filter((file) => !all.has(file))).toEqual([]);
  expect(Object.keys(OTHER_ROOMS).filter((room) => !existsSync(join(TEST, room)))).toEqual([]);
});
