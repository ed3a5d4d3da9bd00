/** Tests the guarantee "one owner". */
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { ownerToken, type PaymentId } from '../../lambdas/kernel/ids.ts';
import { documentClient } from '../../lambdas/kernel/platform/document-client.ts';
import { chargeOperation } from '../../lambdas/payments/ids.ts';
import { DynamoDbStore } from '../../lambdas/payments/store/dynamodb-store.ts';
import type { PaymentStore } from '../../lambdas/payments/use/payment-store.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import {
  throttled,
  timedOut,
  transactionConflict,
  transactionInProgress,
  writeConflict,
} from '../support/faulty-client.ts';
import { CREDENTIALS, createTables, dynamoDbClient, emulatedAws } from '../support/local-aws.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { completedRecord, openRecord, outcomeTransition, paymentIdFor, pendingTransition } from './payment-fixtures.ts';

/** The fault of one SDK call: none, an error instead of the call, or an error after the call took effect. */
type Strike = 'pass' | { readonly instead: () => Error } | { readonly after: () => Error };

const OWNER_B = ownerToken('owner-b');
let tables: Awaited<ReturnType<typeof createTables>>;
let keys = 0;
let calls: string[] = [];
beforeAll(async () => {
  tables = await createTables('faults');
});

const freshId = (): PaymentId => {
  keys += 1;
  return paymentIdFor(`faults-${keys}`);
};

/** Further calls succeed. */
function storeStruckBy(...strikes: readonly Strike[]): PaymentStore {
  const client = new DynamoDBClient({
    endpoint: emulatedAws().awsEndpoint,
    region: 'us-east-1',
    credentials: CREDENTIALS,
    requestHandler: dynamoDbClient().config.requestHandler,
    maxAttempts: 1,
  });
  const left = [...strikes];
  calls = [];
  client.middlewareStack.add(
    (next, context) => async (args) => {
      calls.push(context.commandName ?? '');
      const strike = left.shift() ?? 'pass';
      if (strike === 'pass') return next(args);
      if ('instead' in strike) throw strike.instead();
      await next(args);
      throw strike.after();
    },
    { step: 'initialize', priority: 'high' },
  );
  return new DynamoDbStore(documentClient(client), tables, { clock: new SimulatedClock(), entropy: countingEntropy() });
}

const claimOf = (id: PaymentId) => ({ record: openRecord(id), pending: pendingTransition(id) });
const commitOf = (id: PaymentId) => ({
  record: completedRecord(id),
  expects: 'open' as const,
  transition: outcomeTransition(pendingTransition(id), { kind: 'succeeded', chargeId: 'ch_1' }),
});

describe('a claim', () => {
  test('is recognized by its request token if its response was lost', async () => {
    const id = freshId();
    expect(await storeStruckBy({ after: timedOut }).claim(claimOf(id))).toEqual({ kind: 'claimed' });
    expect(calls).toEqual(['TransactWriteItemsCommand', 'TransactWriteItemsCommand']);
  });

  test('is retried if the store never received it', async () => {
    const id = freshId();
    expect(await storeStruckBy({ instead: timedOut }).claim(claimOf(id))).toEqual({ kind: 'claimed' });
  });

  test('succeeds after four throttled calls', async () => {
    const four = Array.from({ length: 4 }, () => ({ instead: throttled }));
    expect(await storeStruckBy(...four).claim(claimOf(freshId()))).toEqual({ kind: 'claimed' });
  });

  test('fails under sustained throttling, and reports that nothing was applied', async () => {
    const id = freshId();
    const ever = Array.from({ length: 9 }, () => ({ instead: throttled }));
    await expect(storeStruckBy(...ever).claim(claimOf(id))).rejects.toMatchObject({
      name: 'RetryableError',
      code: 'store_unavailable',
      retryAfterSeconds: 2,
    });
    expect(calls).toHaveLength(5);
    expect(await storeStruckBy().readPayment(id)).toBeUndefined();
  });

  test('fails if the store does not respond, and reports that it may have been applied', async () => {
    const ever = Array.from({ length: 9 }, () => ({ instead: timedOut }));
    await expect(storeStruckBy(...ever).claim(claimOf(freshId()))).rejects.toMatchObject({
      name: 'AmbiguousError',
      code: 'store_ambiguous',
    });
  });

  test('reads the rival’s record instead of retrying after a conflict with the rival’s transaction', async () => {
    const id = freshId();
    await storeStruckBy().claim(claimOf(id));
    const rival = { ...claimOf(id), record: openRecord(id, { owner: OWNER_B }) };
    const store = storeStruckBy({ instead: () => transactionConflict(2) });
    expect(await store.claim(rival)).toEqual({ kind: 'record_exists', record: openRecord(id) });
    expect(calls).toEqual(['TransactWriteItemsCommand', 'GetItemCommand']);
  });

  test('trusts no item of a rival’s conflicting commit until that commit has completed', async () => {
    const id = freshId();
    await storeStruckBy().claim(claimOf(id));
    const rival = { ...claimOf(id), record: openRecord(id, { owner: OWNER_B }) };
    const store = storeStruckBy({ instead: () => transactionConflict(2, 'ConditionalCheckFailed') });
    expect(await store.claim(rival)).toEqual({ kind: 'record_exists', record: openRecord(id) });
  });

  test('succeeds after a conflict with a rival whose transaction fails', async () => {
    const store = storeStruckBy({ instead: () => transactionConflict(2) });
    expect(await store.claim(claimOf(freshId()))).toEqual({ kind: 'claimed' });
  });

  test('waits for its own first attempt if the store is still processing that attempt', async () => {
    const store = storeStruckBy({ instead: transactionInProgress });
    expect(await store.claim(claimOf(freshId()))).toEqual({ kind: 'claimed' });
  });
});

describe('a commit', () => {
  test('is recognized as the owner’s if its response was lost, and is applied once', async () => {
    const id = freshId();
    await storeStruckBy().claim(claimOf(id));
    expect(await storeStruckBy({ after: timedOut }).commit(commitOf(id))).toEqual({ kind: 'committed' });
    expect(await storeStruckBy().listTransitions(id, { afterSequence: 0, limit: 9 })).toHaveLength(2);
  });

  test('is recognized as the owner’s if it is repeated without the request token, and is applied once', async () => {
    const id = freshId();
    await storeStruckBy().claim(claimOf(id));
    await storeStruckBy().commit(commitOf(id));
    expect(await storeStruckBy().commit(commitOf(id))).toEqual({ kind: 'committed' });
    expect(await storeStruckBy().listTransitions(id, { afterSequence: 0, limit: 9 })).toHaveLength(2);
  });

  test('is retried after a conflict with another transaction', async () => {
    const id = freshId();
    await storeStruckBy().claim(claimOf(id));
    const store = storeStruckBy({ instead: () => transactionConflict(2) }, { instead: transactionInProgress });
    expect(await store.commit(commitOf(id))).toEqual({ kind: 'committed' });
  });
});

describe('a takeover', () => {
  const takeover = (id: PaymentId) => ({ stale: openRecord(id), owner: OWNER_B, leaseExpiresAtMs: 99 });

  test('is recognized as the owner’s if its response was lost', async () => {
    const id = freshId();
    await storeStruckBy().claim(claimOf(id));
    expect(await storeStruckBy({ after: timedOut }).takeOver(takeover(id))).toEqual({ kind: 'taken' });
  });

  test('is retried after a conflict with a transaction', async () => {
    const id = freshId();
    await storeStruckBy().claim(claimOf(id));
    expect(await storeStruckBy({ instead: writeConflict }).takeOver(takeover(id))).toEqual({ kind: 'taken' });
  });
});

describe('a read', () => {
  test('is retried, and fails with a retryable error if the retries fail', async () => {
    const id = freshId();
    await storeStruckBy().claim(claimOf(id));
    expect(await storeStruckBy({ instead: timedOut }).readRecord(chargeOperation(id))).toEqual(openRecord(id));
    const ever = Array.from({ length: 9 }, () => ({ instead: timedOut }));
    await expect(storeStruckBy(...ever).readRecord(chargeOperation(id))).rejects.toMatchObject({
      name: 'RetryableError',
    });
  });

  test('fails on a missing table with an error that is not retryable', async () => {
    const store = new DynamoDbStore(
      documentClient(dynamoDbClient()),
      { ...tables, idempotency: 'no-such-table' },
      { clock: new SimulatedClock(), entropy: countingEntropy() },
    );
    await expect(store.readRecord(chargeOperation(freshId()))).rejects.toMatchObject({ name: 'TerminalError' });
  });
});
