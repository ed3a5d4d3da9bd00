import { DynamoDBServiceException, TransactionCanceledException } from '@aws-sdk/client-dynamodb';
import { TransactWriteCommand } from '@aws-sdk/lib-dynamodb';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { LedgerCarrier, PAYMENT_CHAIN } from '../../lambdas/payments/store/postgres-carrier.ts';
import { rowsOfTransitions } from '../../lambdas/payments/store/postgres-rows.ts';
import type { Row } from '../../lambdas/postgres/database.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { Stores } from '../world/stores.ts';
import { TABLES } from '../world/tables.ts';
import { outcomeTransition, paymentIdFor, pendingTransition } from './payment-fixtures.ts';

const HOUR_MS = 3_600_000;

const id = paymentIdFor('k');
let clock: SimulatedClock;
let stores: Stores;
let stops: (readonly [chain: string, sequence: number])[];
let failures: unknown[];
beforeEach(() => {
  clock = new SimulatedClock();
  stores = new Stores(clock);
  [stops, failures] = [[], []];
});

/** The rows are as the database returns them. */
function waitingRows(): readonly Row[] {
  const pending = pendingTransition(id);
  const paid = outcomeTransition(pending, { kind: 'succeeded', chargeId: 'ch_1' });
  const bytes = (text: unknown) => Buffer.from(String(text).slice(2), 'hex');
  return rowsOfTransitions([pending, paid]).transitions.map(({ sequence, body, prev_hash, hash }) => ({
    kind: 'transition',
    sequence,
    body,
    prev_hash: bytes(prev_hash),
    hash: bytes(hash),
    part: null,
    stopped_at: null,
    created_at: new Date(clock.nowMs()),
  }));
}

function carrier(rows: readonly Row[], client = stores.database.client): LedgerCarrier {
  return new LedgerCarrier({
    client,
    tables: TABLES,
    pacing: { clock, entropy: countingEntropy() },
    database: {
      run: async ({ name }) => (name === 'outbox-waiting' ? rows : []),
      transaction: () => Promise.reject(new Error('unexpected')),
    },
    chains: [PAYMENT_CHAIN],
    observer: {
      stopped: (...stop) => void stops.push(stop),
      failed: (_chain, error) => void failures.push(error),
    },
  });
}

const copied = async () =>
  (await stores.listTransitions(id, { afterSequence: 0, limit: 9 })).map((each) => each.sequence);

describe('a chain with a row that this code cannot read', () => {
  const unreadable = () => waitingRows().map((row, index) => (index === 1 ? { ...row, body: '{}' } : row));

  test('is stopped after an hour, so that it does not hold back the comparisons of all tenants', async () => {
    const rows = unreadable();
    clock.advance(HOUR_MS);
    expect(await carrier(rows).carry(id)).toBe('stopped');
    expect([stops, failures.length, await copied()]).toEqual([[[id, 2]], 1, [1]]);
  });

  test('is not stopped within the first hour, because newer code may copy it', async () => {
    const rows = unreadable();
    clock.advance(HOUR_MS - 1);
    await expect(carrier(rows).carry(id)).rejects.toThrow();
    expect([stops, await copied()]).toEqual([[], [1]]);
  });

  test('is not resumed by this code', async () => {
    const rows = unreadable().map((row) => ({ ...row, stopped_at: new Date(0) }));
    const marks: number[] = [];
    const again = carrier(rows).carryAgain(id, async (sinceMs) => void marks.push(sinceMs));
    await expect(again).rejects.toThrow();
    expect(marks).toEqual([]);
  });
});

describe('a chain with a row that DynamoDB refuses', () => {
  const refusing = (error: Error) =>
    stores.database.clientWith(async (_command, apply, sent) => {
      const { TransactItems = [] } = sent instanceof TransactWriteCommand ? sent.input : {};
      if (TransactItems.some(({ Put }) => Put?.Item?.['sequence'] === 2)) throw error;
      return apply();
    });
  const metadata = { $metadata: { httpStatusCode: 400 }, message: '' };
  const exception = (name: string) => new DynamoDBServiceException({ name, $fault: 'client', ...metadata });
  const canceled = (Code: string) =>
    new TransactionCanceledException({ CancellationReasons: [{ Code: 'None' }, { Code }], ...metadata });

  test.each([
    ['the whole transaction', exception('ValidationException')],
    ['one of its items', canceled('ValidationError')],
  ])('is stopped at this row: the content of %s is invalid', async (_what, error) => {
    expect(await carrier(waitingRows(), refusing(error)).carry(id)).toBe('stopped');
    expect([stops, failures.length, await copied()]).toEqual([[[id, 2]], 1, [1]]);
  });

  test.each([exception('AccessDeniedException'), exception('ResourceNotFoundException')])(
    'is not stopped if every row would be refused: $name',
    async (error) => {
      await expect(carrier(waitingRows(), refusing(error)).carry(id)).rejects.toMatchObject({ code: 'store_refused' });
      expect(stops).toEqual([]);
    },
  );
});
