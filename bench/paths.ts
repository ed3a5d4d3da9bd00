import type { DynamoDBClient, DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';
import type { StoreTables } from '../lambdas/once/store/transact-items.ts';
import {
  type CreatePayment,
  type CreatePaymentOutcome,
  createPayment,
} from '../lambdas/payments/use/create-payment.ts';

import { payByHand } from '../test/bench/bench-by-hand.ts';
import { engineProcess } from '../test/bench/bench-engine.ts';
import { type MeteredCall, meteredClient } from '../test/bench/bench-metered-client.ts';
import { payNaively } from '../test/bench/bench-naive-payment.ts';
import { typicalPayment, typicalProcessor } from '../test/bench/bench-typical-payment.ts';
import { payWithStockLayer } from '../test/once/stock-payment.ts';

/** DynamoDB reports these counts. */
export interface PathCost {
  readonly path: string;
  readonly outcome: string;
  readonly calls: number;
  readonly durableWrites: number;
  /** Includes the units of indexes. Undefined when a conditional write failed, because its response reports no cost. */
  readonly units: number | undefined;
}

interface Path {
  readonly name: string;
  readonly changes?: Partial<CreatePayment>;
  /** @default no earlier attempt */
  readonly after?: 'same process' | 'other process';
}

const BY_HAND = 'the same calls by hand';

const PATHS: readonly Path[] = [
  { name: 'first execution' },
  { name: 'first execution, with a reference', changes: { reference: 'order-6735' } },
  { name: 'first execution, money reserved only', changes: { capture: 'manual' } },
  { name: 'first execution, declined', changes: { source: 'tok_declined' } },
  { name: 'first execution, the processor does not answer', changes: { source: 'tok_timeout_charged' } },
  { name: 'replay, cold process', after: 'other process' },
  { name: 'replay, warm process', after: 'same process' },
];

export async function measureEngine(config: DynamoDBClientConfig, tables: StoreTables): Promise<readonly PathCost[]> {
  const costs: PathCost[] = [];
  for (const [index, { name, changes, after }] of PATHS.entries()) {
    const request = typicalPayment(`bench-path-${index}`, changes);
    const processor = typicalProcessor();
    const payer = () => {
      const { client, calls } = meteredClient(config);
      const tools = engineProcess(client, tables, processor);
      return { calls, pay: () => createPayment(tools, request) };
    };
    const before = payer();
    if (after !== undefined) await before.pay();
    const measured = after === 'same process' ? before : payer();
    const callsBefore = measured.calls.length;
    const outcome = await measured.pay();
    costs.push({ path: name, outcome: describeOutcome(outcome), ...costOf(measured.calls.slice(callsBefore)) });
  }
  return costs;
}

/** The difference from the first path of {@link measureEngine} is the overhead of `executeOnce`. */
export async function measureByHand(config: DynamoDBClientConfig, tables: StoreTables): Promise<PathCost> {
  const { client, calls } = meteredClient(config);
  await payByHand(engineProcess(client, tables, typicalProcessor()), typicalPayment('bench-by-hand'));
  return { path: BY_HAND, outcome: 'first', ...costOf(calls) };
}

export async function measureOthers(config: DynamoDBClientConfig, tables: StoreTables): Promise<readonly PathCost[]> {
  const processor = typicalProcessor();
  const request = typicalPayment('bench-others');
  const cost = async (path: string, pay: (client: DynamoDBClient) => Promise<unknown>): Promise<PathCost> => {
    const { client, calls } = meteredClient(config);
    await pay(client);
    return { path, outcome: 'first', ...costOf(calls) };
  };
  return [
    await cost('naive handler, first execution', (client) => payNaively(client, tables, processor, request)),
    await cost('plain Powertools handler, first execution', (client) =>
      payWithStockLayer({ client, tables, processor, remainingTimeMs: 25_000 }, request),
    ),
  ];
}

function costOf(calls: readonly MeteredCall[]): Pick<PathCost, 'calls' | 'durableWrites' | 'units'> {
  return {
    calls: calls.length,
    durableWrites: calls.filter(({ kind, applied }) => kind === 'write' && applied).length,
    units: calls.every(({ applied }) => applied) ? calls.reduce((sum, { units }) => sum + units, 0) : undefined,
  };
}

function describeOutcome(outcome: CreatePaymentOutcome): string {
  return 'answer' in outcome ? `${outcome.kind} ${outcome.answer.status}` : outcome.kind;
}
