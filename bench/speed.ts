import { Readable } from 'node:stream';
import { DynamoDBClient, type DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';
import pMap from 'p-map';
import { invariant } from '../lambdas/kernel/invariant.ts';
import { documentClient } from '../lambdas/kernel/platform/document-client.ts';
import { systemClock, systemEntropy } from '../lambdas/kernel/platform/platform.ts';
import type { StoreTables } from '../lambdas/once/store/transact-items.ts';
import { DynamoDbStore } from '../lambdas/payments/store/dynamodb-store.ts';
import { createPayment } from '../lambdas/payments/use/create-payment.ts';
import { payByHand } from '../test/bench/bench-by-hand.ts';
import { engineProcess } from '../test/bench/bench-engine.ts';
import { payNaively } from '../test/bench/bench-naive-payment.ts';
import { trivialProcessor, typicalPayment } from '../test/bench/bench-typical-payment.ts';
import { payWithStockLayer } from '../test/once/stock-payment.ts';
import {
  completedRecord,
  openRecord,
  outcomeTransition,
  pendingTransition,
} from '../test/payments/payment-fixtures.ts';
import { groupCpuMs, ownCpuMs } from './cpu.ts';
import { median } from './median.ts';

/** Each ratio is the median of the rounds. */
export interface SpeedRatio {
  readonly subject: string;
  /** Above 1, the engine is slower. */
  readonly timeRatio: number;
  readonly cpuRatio: number;
  /** NaN where the machine does not report it. */
  readonly emulatorRatio: number;
}

export interface SkeletonTime {
  /** Time that `executeOnce` adds to a payment when DynamoDB responds immediately. */
  readonly addedMs: number;
  /** The payment calls the local DynamoDB directly. */
  readonly paymentMs: number;
}

export interface Size {
  readonly rounds: number;
  readonly paymentsPerRound: number;
  /**
   * A pair is one payment through `executeOnce` and one with direct calls. The first half of the pairs is only a
   * warm-up.
   */
  readonly pairs: number;
  /** Each duplicate waits for a PostgreSQL commit. */
  readonly duplicates: number;
  /** Each start is a new process. */
  readonly starts: number;
  /** Payments are measured after a warm-up. */
  readonly warmRounds: number;
  /** Payments of each process. The first half is the warm-up. */
  readonly warmPayments: number;
  /** All refunds are of one payment. The cost of the last one is measured. */
  readonly refunds: number;
  /** The DynamoDB calls for a page of the list are counted. */
  readonly listRows: number;
  readonly eventRounds: number;
  /** Events of each process. The first half is the warm-up. */
  readonly events: number;
}

export const FULL: Size = {
  rounds: 9,
  paymentsPerRound: 200,
  pairs: 4_000,
  duplicates: 100,
  starts: 11,
  warmRounds: 5,
  warmPayments: 1_200,
  refunds: 400,
  listRows: 1_200,
  eventRounds: 5,
  events: 1_200,
};
/** The measured ratios are not meaningful. */
export const SHORT: Size = {
  rounds: 1,
  paymentsPerRound: 8,
  pairs: 8,
  duplicates: 2,
  starts: 1,
  warmRounds: 1,
  warmPayments: 4,
  refunds: 3,
  listRows: 30,
  eventRounds: 1,
  events: 200,
};

export const IN_FLIGHT = 32;
export const ONE_AT_A_TIME = 1;

export type Pay = (key: string) => Promise<unknown>;

let batches = 0;

interface SpeedOptions {
  readonly size: Size;
  readonly emulator: number;
  readonly progress: (text: string) => void;
}

/** The programs alternate, so that other load on the machine affects all of them. */
export async function measureSpeed(
  config: DynamoDBClientConfig,
  tables: StoreTables,
  { size, emulator, progress }: SpeedOptions,
): Promise<{
  readonly skeleton: SkeletonTime;
  readonly overhead: readonly SpeedRatio[];
  readonly throughput: readonly SpeedRatio[];
}> {
  const client = new DynamoDBClient({ ...config, maxAttempts: 1 });
  const processor = trivialProcessor();
  const tools = engineProcess(client, tables, processor);
  const store = new DynamoDbStore(documentClient(client), tables, { clock: systemClock, entropy: systemEntropy });
  // Check every result, because a fast failure would look like a fast payment.
  const engine: Pay = async (key) => {
    const { kind } = await createPayment(tools, typicalPayment(key));
    invariant(kind === 'first', `the engine did not execute the payment ${key}: ${kind}`);
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
    invariant(
      seen.kind === 'answered' && seen.answer.status === 201,
      `the stock Powertools layer did not execute the payment ${key}`,
    );
  };

  progress('time, compared with the same calls by hand');
  const byHand: Pay = (key) => payByHand(tools, typicalPayment(key));
  const skeleton = { addedMs: await addedBySkeleton(tables, size.pairs), paymentMs: await timeOf(byHand, size) };
  progress('time, compared with the bare two writes');
  const overhead = await ratios(engine, [['the bare two writes', bareWrites]], {
    concurrency: ONE_AT_A_TIME,
    size,
    emulator,
  });
  progress('throughput, compared with other handlers');
  const others: readonly [string, Pay][] = [
    ['naive handler (check, then act)', naive],
    ['plain Powertools handler', stock],
  ];
  return { skeleton, overhead, throughput: await ratios(engine, others, { concurrency: IN_FLIGHT, size, emulator }) };
}

/**
 * Alternates with direct calls. DynamoDB responds immediately, because the duration of a real call varies by more than
 * the difference.
 */
async function addedBySkeleton(tables: StoreTables, pairs: number): Promise<number> {
  const client = new DynamoDBClient({
    region: 'us-east-1',
    credentials: { accessKeyId: 'bench', secretAccessKey: 'bench' },
    requestHandler: {
      handle: async () => ({ response: { statusCode: 200, headers: {}, body: Readable.from(['{}']) } }),
    },
  });
  const tools = engineProcess(client, tables, trivialProcessor());
  const skeleton: Pay = (key) => createPayment(tools, typicalPayment(key));
  const direct: Pay = (key) => payByHand(tools, typicalPayment(key));
  const addedMs: number[] = [];
  for (let pair = 0; pair < pairs; pair += 1) {
    const isSkeletonFirst = pair % 2 === 0;
    const [first, second] = isSkeletonFirst ? [skeleton, direct] : [direct, skeleton];
    const differenceMs = (await timed(first, ONE_AT_A_TIME, 1)) - (await timed(second, ONE_AT_A_TIME, 1));
    addedMs.push(isSkeletonFirst ? differenceMs : -differenceMs);
  }
  return median(addedMs.slice(Math.floor(pairs / 2)));
}

/** An equal number of warm-up payments comes first. */
async function timeOf(pay: Pay, { paymentsPerRound }: Size): Promise<number> {
  const tookMs: number[] = [];
  for (let payment = 0; payment < 2 * paymentsPerRound; payment += 1) tookMs.push(await timed(pay, ONE_AT_A_TIME, 1));
  return median(tookMs.slice(paymentsPerRound));
}

export interface RatioOptions {
  readonly concurrency: number;
  readonly size: Size;
  readonly emulator: number;
}

type Spent = Record<'wallMs' | 'cpuMs' | 'emulatorMs', number>;

export async function ratios(
  engine: Pay,
  subjects: readonly (readonly [string, Pay])[],
  { concurrency, size: { rounds, paymentsPerRound }, emulator }: RatioOptions,
): Promise<readonly SpeedRatio[]> {
  const runners = [engine, ...subjects.map(([, pay]) => pay)];
  // Warm up, so that compilation is not measured.
  for (const pay of runners) await timed(pay, concurrency, paymentsPerRound);
  const run = async (pay: Pay): Promise<Spent> => {
    const [cpuMs, emulatorMs] = [ownCpuMs(), groupCpuMs(emulator)];
    const wallMs = await timed(pay, concurrency, paymentsPerRound);
    return { wallMs, cpuMs: ownCpuMs() - cpuMs, emulatorMs: groupCpuMs(emulator) - emulatorMs };
  };
  const all: ReadonlyMap<Pay, Spent>[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const spent = new Map<Pay, Spent>();
    // Alternate the order, because the store grows and the last subject would always be at a disadvantage.
    for (const pay of round % 2 === 0 ? runners : runners.toReversed()) spent.set(pay, await run(pay));
    all.push(spent);
  }
  return subjects.map(([subject, pay]) => {
    const ratioOf = (what: keyof Spent): number =>
      median(all.map((spent) => (spent.get(engine)?.[what] ?? NaN) / (spent.get(pay)?.[what] ?? NaN)));
    return {
      subject,
      timeRatio: ratioOf('wallMs'),
      cpuRatio: ratioOf('cpuMs'),
      emulatorRatio: ratioOf('emulatorMs'),
    };
  });
}

async function timed(pay: Pay, concurrency: number, payments: number): Promise<number> {
  batches += 1;
  const keys = Array.from({ length: payments }, (_, index) => `speed-${batches}-${index}`);
  const begunMs = performance.now();
  await pMap(keys, pay, { concurrency });
  return performance.now() - begunMs;
}
