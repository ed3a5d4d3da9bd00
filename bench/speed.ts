import { DynamoDBClient, type DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';
import pMap from 'p-map';
import { invariant } from '../lambdas/kernel/invariant.ts';
import { documentClient } from '../lambdas/kernel/platform/document-client.ts';
import { systemClock, systemEntropy } from '../lambdas/kernel/platform/platform.ts';
import type { StoreTables } from '../lambdas/once/store/transact-items.ts';
import { DynamoDbStore } from '../lambdas/payments/store/dynamodb-store.ts';
import { createPayment } from '../lambdas/payments/use/create-payment.ts';
import { payByHand } from '../test/support/bench-by-hand.ts';
import { engineProcess } from '../test/support/bench-engine.ts';
import { payNaively } from '../test/support/bench-naive-payment.ts';
import { typicalPayment, typicalProcessor } from '../test/support/bench-typical-payment.ts';
import { completedRecord, openRecord, outcomeTransition, pendingTransition } from '../test/support/payment-fixtures.ts';
import { payWithStockLayer } from '../test/support/stock-payment.ts';
import { median } from './median.ts';

/** The engine beside another way to pay, in rounds that take turns. */
export interface SpeedRatio {
  readonly subject: string;
  /** The engine's time over the subject's: above 1, the engine is slower. Median of the rounds. */
  readonly timeRatio: number;
}

/** How much is measured. */
export interface Size {
  readonly rounds: number;
  readonly paymentsPerRound: number;
  /** Payments one by one, through the skeleton and by hand in turn. */
  readonly pairs: number;
  /** Starts of each function in a process of its own. */
  readonly starts: number;
}

export const FULL: Size = { rounds: 9, paymentsPerRound: 200, pairs: 1_000, starts: 9 };
/** Enough to see that everything works; the ratios say little. */
export const SHORT: Size = { rounds: 1, paymentsPerRound: 8, pairs: 8, starts: 1 };

const IN_FLIGHT = 32;
const ONE_AT_A_TIME = 1;

type Pay = (key: string) => Promise<unknown>;

let batches = 0;

/** Rounds of all subjects in turn, so that whatever else the machine does falls on all of them. */
export async function measureSpeed(
  config: DynamoDBClientConfig,
  tables: StoreTables,
  { size, progress }: { readonly size: Size; readonly progress: (text: string) => void },
): Promise<{
  readonly skeletonRatio: number;
  readonly overhead: readonly SpeedRatio[];
  readonly throughput: readonly SpeedRatio[];
}> {
  const client = new DynamoDBClient({ ...config, maxAttempts: 1 });
  const processor = typicalProcessor();
  const tools = engineProcess(client, tables, processor);
  const store = new DynamoDbStore(documentClient(client), tables, { clock: systemClock, entropy: systemEntropy });
  // Each is looked at: what fails fast would look fast.
  const engine: Pay = async (key) => {
    const { kind } = await createPayment(tools, typicalPayment(key));
    invariant(kind === 'first', `the engine did not take ${key}: ${kind}`);
  };
  const bareWrites: Pay = async (key) => {
    const { paymentId } = typicalPayment(key);
    const pending = pendingTransition(paymentId);
    const claim = await store.claim({ record: openRecord(paymentId), pending });
    const transition = outcomeTransition(pending, { kind: 'succeeded', chargeId: 'ch_1' });
    const commit = await store.commit({ record: completedRecord(paymentId), expects: 'open', transition });
    invariant(claim.kind === 'claimed' && commit.kind === 'committed', `the bare writes of ${key} were refused`);
  };
  const naive: Pay = (key) => payNaively(client, tables, processor, typicalPayment(key));
  const stock: Pay = async (key) => {
    const seen = await payWithStockLayer({ client, tables, processor, remainingTimeMs: 25_000 }, typicalPayment(key));
    invariant(seen.kind === 'answered' && seen.answer.status === 201, `the stock layer did not take ${key}`);
  };

  progress('overhead over the same calls by hand');
  const skeletonRatio = await pairedRatio(engine, (key) => payByHand(tools, typicalPayment(key)), size.pairs);
  progress('overhead over the bare two writes');
  const overhead = await ratios(engine, [['the bare two writes', bareWrites]], ONE_AT_A_TIME, size);
  progress('throughput beside the other handlers');
  const others: readonly [string, Pay][] = [
    ['naive handler (check, then act)', naive],
    ['plain Powertools handler', stock],
  ];
  return { skeletonRatio, overhead, throughput: await ratios(engine, others, IN_FLIGHT, size) };
}

/** One payment after the other, each way in turn: the ratio of the medians, which a few slow ones do not move. */
async function pairedRatio(engine: Pay, other: Pay, pairs: number): Promise<number> {
  const tookMs = new Map<Pay, number[]>([
    [engine, []],
    [other, []],
  ]);
  for (let pair = 0; pair < pairs; pair += 1) {
    for (const pay of pair % 2 === 0 ? [engine, other] : [other, engine]) {
      tookMs.get(pay)?.push(await timed(pay, ONE_AT_A_TIME, 1));
    }
  }
  return median(tookMs.get(engine) ?? []) / median(tookMs.get(other) ?? []);
}

async function ratios(
  engine: Pay,
  subjects: readonly (readonly [string, Pay])[],
  concurrency: number,
  { rounds, paymentsPerRound }: Size,
): Promise<readonly SpeedRatio[]> {
  const runners = [engine, ...subjects.map(([, pay]) => pay)];
  // Warm first: what is compiled meanwhile belongs to nobody.
  for (const pay of runners) await timed(pay, concurrency, paymentsPerRound);
  const found = new Map<string, number[]>(subjects.map(([subject]) => [subject, []]));
  for (let round = 0; round < rounds; round += 1) {
    const tookMs = new Map<Pay, number>();
    // Back and forth: the store grows on the way, and whoever comes last must not always be the same.
    const order = round % 2 === 0 ? runners : runners.toReversed();
    for (const pay of order) tookMs.set(pay, await timed(pay, concurrency, paymentsPerRound));
    for (const [subject, pay] of subjects) {
      found.get(subject)?.push((tookMs.get(engine) ?? NaN) / (tookMs.get(pay) ?? NaN));
    }
  }
  return [...found].map(([subject, values]) => ({ subject, timeRatio: median(values) }));
}

async function timed(pay: Pay, concurrency: number, payments: number): Promise<number> {
  batches += 1;
  const keys = Array.from({ length: payments }, (_, index) => `speed-${batches}-${index}`);
  const begunMs = performance.now();
  await pMap(keys, pay, { concurrency });
  return performance.now() - begunMs;
}
