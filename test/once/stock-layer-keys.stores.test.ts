import { IdempotencyConfig, makeIdempotent } from '@aws-lambda-powertools/idempotency';
import { afterEach, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { type OperationId, storedOperationId, tenantId } from '../../lambdas/kernel/ids.ts';
import { documentClient } from '../../lambdas/kernel/platform/document-client.ts';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import type { OperationSteps } from '../../lambdas/once/use/operation-runner.ts';
import { DynamoDbStore } from '../../lambdas/payments/store/dynamodb-store.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { createTables, dynamoDbClient } from '../support/local-aws.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { Api, type Reply } from '../world/api.ts';
import { lambdaContext, stockLayer } from './stock-payment.ts';

interface HttpEvent {
  readonly headers: Readonly<Record<string, string>>;
  body: { order: string; currency?: string };
}

let tables: Awaited<ReturnType<typeof createTables>>;
/** One entry per charge. */
let charged: string[] = [];
beforeAll(async () => {
  tables = await createTables('stock-keys');
});
beforeEach(() => {
  charged = [];
  jest.spyOn(console, 'warn').mockImplementation(() => undefined);
});
afterEach(() => {
  jest.restoreAllMocks();
});

const charge = async (order: string): Promise<string> => {
  charged.push(order);
  return `paid for ${order}`;
};

function stockHandler(eventKeyJmesPath: string, pay = async (event: HttpEvent) => charge(event.body.order)) {
  const handler = makeIdempotent(async (event: HttpEvent, _context: unknown) => pay(event), {
    persistenceStore: stockLayer(dynamoDbClient(), tables),
    config: new IdempotencyConfig({ eventKeyJmesPath }),
  });
  return (event: HttpEvent) => handler(event, lambdaContext(30_000));
}

const twice = async (handler: (event: HttpEvent) => Promise<string>, event: HttpEvent): Promise<void> => {
  await handler(structuredClone(event));
  await handler(structuredClone(event));
};

describe('the unmodified layer of Powertools with a key from a header', () => {
  const path = 'headers."Idempotency-Key"';

  test('runs the handler once if the header name is spelled as in the JMESPath', async () => {
    await twice(stockHandler(path), { headers: { 'Idempotency-Key': 'k-1' }, body: { order: 'shirt' } });
    expect(charged).toEqual(['shirt']);
  });

  test('skips idempotency if the header name is in a different letter case', async () => {
    await twice(stockHandler(path), { headers: { 'idempotency-key': 'k-2' }, body: { order: 'shirt' } });
    expect(charged).toEqual(['shirt', 'shirt']);
  });

  test('skips idempotency if there is no header', async () => {
    await twice(stockHandler(path), { headers: {}, body: { order: 'shirt' } });
    expect(charged).toEqual(['shirt', 'shirt']);
  });
});

function onDynamoDb(): Api {
  const pacing = { clock: new SimulatedClock(), entropy: countingEntropy() };
  return new Api({ store: new DynamoDbStore(documentClient(dynamoDbClient()), tables, pacing) });
}

describe('the payments API with a key from a header', () => {
  const pay = (harness: Api, headers: Readonly<Record<string, string>>): Promise<Reply> =>
    harness.ask('POST', '/v1/payments', {
      headers: { 'content-type': 'application/json', ...headers },
      event: { body: JSON.stringify({ amount: 1000, currency: 'EUR', source: 'tok_ok' }) },
    });

  test('charges once, regardless of the letter case of the header name', async () => {
    const harness = onDynamoDb();
    const first = await pay(harness, { 'Idempotency-Key': 'k-1' });
    const replies = [
      await pay(harness, { 'idempotency-key': 'k-1' }),
      await pay(harness, { 'IDEMPOTENCY-KEY': 'k-1' }),
    ];
    expect(replies.map(({ text }) => text)).toEqual([first.text, first.text]);
    expect(harness.processor.charges(String(first.body['id']))).toHaveLength(1);
  });

  test('refuses a request without a key or with an empty key', async () => {
    const harness = onDynamoDb();
    const replies = await Promise.all(
      [{}, { 'idempotency-key': '' }, { 'idempotency-key': ' ' }, { 'idempotency-key': '""' }].map((headers) =>
        pay(harness, headers),
      ),
    );
    expect(replies.map(({ status, body }) => [status, body['code']])).toEqual(
      Array.from({ length: 4 }, () => [400, 'missing_idempotency_key']),
    );
  });
});

describe('two payers whose keys have empty or equal parts', () => {
  test('receive one response from the unmodified layer of Powertools if all parts are empty: the second payment is never made', async () => {
    const handler = stockHandler('[headers.tenant, headers.key]');
    await handler({ headers: {}, body: { order: 'shirt' } });
    expect(await handler({ headers: {}, body: { order: 'piano' } })).toBe('paid for shirt');
    expect(charged).toEqual(['shirt']);
  });

  test('share nothing in Payonce, which requires a key and scopes each key to a tenant', async () => {
    const harness = onDynamoDb();
    const theirs = { Authorization: 'Bearer sk_test_zyxwvutsrqponmlkjihgfe' };
    harness.registerKey('sk_test_zyxwvutsrqponmlkjihgfe', { tenantId: tenantId('ten_other') });
    for (const headers of [{}, theirs]) expect((await harness.pay('', {}, { headers })).status).toBe(400);

    const mine = await harness.pay('order-1');
    const other = await harness.pay('order-1', { amount: 9900 }, { headers: theirs });
    expect([mine, other].map(({ status, body }) => [status, body['amount']])).toEqual([
      [201, 1000],
      [201, 9900],
    ]);
    expect(other.body['id']).not.toBe(mine.body['id']);
  });
});

describe('a handler that changes its event', () => {
  const withDefault = async (event: HttpEvent): Promise<string> => {
    event.body.currency ??= 'EUR';
    return charge(event.body.order);
  };

  test('makes the stock Powertools layer save the response under a different key, so a retry charges again', async () => {
    const handler = makeIdempotent(async (event: HttpEvent, _context: unknown) => withDefault(event), {
      persistenceStore: stockLayer(dynamoDbClient(), tables),
      config: new IdempotencyConfig({ eventKeyJmesPath: 'body' }),
    });
    const event = { headers: {}, body: { order: 'mutated' } };
    // The first call has no remaining time, so its lease has expired when the retry arrives.
    await handler(structuredClone(event), lambdaContext(-1));
    await handler(structuredClone(event), lambdaContext(-1));
    expect(charged).toEqual(['mutated', 'mutated']);
  });

  test('is harmless in Payonce, which derives the key before the handler runs and passes only the key to the wrapper', async () => {
    const books = new Map<OperationId, string>();
    const event: HttpEvent = { headers: {}, body: { order: 'mutated' } };
    const operationId = storedOperationId('op-mutated');
    const pay = () =>
      idempotentRunner.run(
        operationId,
        bookkeeping(operationId, books, () => withDefault(event)),
      );
    expect([await pay(), await pay()]).toEqual(['paid for mutated', 'paid for mutated']);
    expect(charged).toEqual(['mutated']);
  });
});

describe('two operations with different settings', () => {
  test('both use the settings of the first in a shared unmodified layer of Powertools: the payment gets the quote as response', async () => {
    const layer = stockLayer(dynamoDbClient(), tables);
    const context = lambdaContext(30_000);
    const quote = makeIdempotent(async (_event: HttpEvent, _context: unknown) => 'a quote', {
      persistenceStore: layer,
      config: new IdempotencyConfig({ eventKeyJmesPath: 'headers.customer' }),
    });
    const pay = makeIdempotent(async (event: HttpEvent, _context: unknown) => charge(event.body.order), {
      persistenceStore: layer,
      config: new IdempotencyConfig({ eventKeyJmesPath: 'headers.key' }),
    });
    const headers = { customer: 'ada', key: 'k-1' };
    await quote({ headers, body: { order: 'shirt' } }, context);
    expect(await pay({ headers, body: { order: 'shirt' } }, context)).toBe('a quote');
    expect(charged).toEqual([]);
  });

  test('share nothing in Payonce, even concurrently, because every run creates its own layer', async () => {
    const books = new Map<OperationId, string>();
    const run = (name: string) => {
      const operationId = storedOperationId(`op-${name}`);
      return idempotentRunner.run(
        operationId,
        bookkeeping(operationId, books, () => charge(name)),
      );
    };
    expect(await Promise.all(['shirt', 'piano', 'book'].map(run))).toEqual([
      'paid for shirt',
      'paid for piano',
      'paid for book',
    ]);
    expect(charged.toSorted()).toEqual(['book', 'piano', 'shirt']);
  });
});

/** The steps store responses by operation id but record no claims. */
function bookkeeping(
  operationId: OperationId,
  books: Map<OperationId, string>,
  work: () => Promise<string>,
): OperationSteps<undefined, string, string> {
  return {
    claim: async () => {
      const outcome = books.get(operationId);
      if (outcome === undefined) return { kind: 'claimed', held: undefined };
      return { kind: 'completed', outcome, answer: { status: 201, headers: {}, body: outcome } };
    },
    execute: work,
    commit: async (paid) => {
      books.set(operationId, paid);
      return paid;
    },
  };
}
