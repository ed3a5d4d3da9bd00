import { beforeAll, describe, expect, test } from '@jest/globals';
import { median } from '../../bench/median.ts';
import { measureByHand, measureEngine, measureOthers, type PathCost } from '../../bench/paths.ts';
import { CREDENTIALS, createTables, dynamoDbClient, emulatedAws } from '../support/local-aws.ts';

const counts = ({ path, outcome, calls, durableWrites, units }: PathCost) => [
  path,
  outcome,
  calls,
  durableWrites,
  units,
];

describe('the benchmark', () => {
  let tables: Awaited<ReturnType<typeof createTables>>;
  const config = () => ({
    endpoint: emulatedAws().awsEndpoint,
    region: 'us-east-1',
    credentials: CREDENTIALS,
    requestHandler: dynamoDbClient().config.requestHandler,
  });
  beforeAll(async () => {
    tables = await createTables('bench');
  });

  test('counts the calls, writes and units of every engine path', async () => {
    expect((await measureEngine(config(), tables)).map(counts)).toEqual([
      ['first execution', 'first 201', 2, 2, 11],
      ['first execution, with a reference', 'first 201', 2, 2, 13],
      ['first execution, money reserved only', 'first 201', 2, 2, 13],
      ['first execution, declined', 'first 402', 2, 2, 11],
      ['first execution, the processor does not answer', 'first 201', 2, 2, 11],
      ['replay, cold process', 'replay 201', 1, 0, undefined],
      ['replay, warm process', 'replay 201', 0, 0, 0],
    ]);
  });

  test('counts the same calls, writes and units for a payment by direct calls as for a payment by `createPayment`', async () => {
    expect(counts(await measureByHand(config(), tables)).slice(1)).toEqual(['first', 2, 2, 11]);
  });

  test('counts the calls, writes and units of the compared handlers', async () => {
    expect((await measureOthers(config(), tables)).map(counts)).toEqual([
      ['naive handler, first execution', 'first', 3, 2, 3],
      ['plain Powertools handler, first execution', 'first', 3, 3, 3],
    ]);
  });
});

test('the benchmark reports a median that does not depend on order or outliers', () => {
  expect(median([900, 1, 3, 2, 4])).toBe(3);
  expect(median([7])).toBe(7);
  expect(median([])).toBeNaN();
});
