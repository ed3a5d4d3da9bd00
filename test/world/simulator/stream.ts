import type { DynamoDBBatchResponse, DynamoDBStreamEvent } from 'aws-lambda';
import { RELAY_ATTEMPTS, RELAY_PARALLELIZATION } from '../../../lambdas/events/contract.ts';
import { IdempotencyTable, KeyAttribute, LedgerTable } from '../../../lambdas/kernel/contract/tables.ts';
import { toStreamImage } from '../../../lambdas/kernel/platform/stream-images.ts';
import type { RowChange } from '../memory-dynamodb.ts';
import { TABLES } from '../tables.ts';
import type { FunctionName } from './functions.ts';
import type { Queues } from './queues.ts';
import type { Ended, Simulation } from './simulation.ts';

interface Around {
  readonly queues: Pick<Queues, 'put'>;
  readonly throttled: ReadonlySet<FunctionName>;
  invoke(name: FunctionName, about: string, event: unknown): Promise<Ended<unknown>>;
}

type StreamRecord = DynamoDBStreamEvent['Records'][number];

interface Reader {
  readonly name: FunctionName;
  /** For one execution. */
  readonly batch: number;
  /** Time for which the first record of a batch waits for more records, in milliseconds. */
  readonly windowMs: number;
  /** Number of retries of a failed batch. */
  readonly tries: number;
  /** Queue for messages about records that still fail after all retries. */
  readonly parking: string;
  /** Fault whose rate determines how often a successful batch is redelivered. @default never redelivered */
  readonly doubledAs?: 'ambiguous_applied';
}

/** Settings of lib/events.ts. */
const RELAY: Reader = { name: 'outbox-relay', batch: 100, windowMs: 0, tries: RELAY_ATTEMPTS, parking: 'relay-parked' };

/**
 * Settings of lib/archive.ts, with the default of `archiveBatchSeconds`. A batch is retried until it is too old, and no
 * history lasts long enough for that.
 */
const ARCHIVER: Reader = {
  name: 'archiver',
  batch: 5_000,
  windowMs: 300_000,
  tries: Number.POSITIVE_INFINITY,
  parking: 'archive-parked',
  doubledAs: 'ambiguous_applied',
};

const SOON_MS = 400;
/** In milliseconds. The wait doubles each time, up to the second value. */
const THROTTLED_MS = [30_000, 600_000] as const;
/** In milliseconds (Amazon DynamoDB developer guide, "Change data capture for DynamoDB Streams"). */
const KEPT_MS = 24 * 3_600_000;

/**
 * Stream of the Ledger with one shard. The archiver reads the whole shard in order. The relay reads it in lanes, one
 * for each set of partition keys.
 */
export class Stream {
  readonly #relay: readonly Lane[];
  readonly #archiver: Lane;
  readonly #simulation: Simulation;
  #sequence = 0;

  get trimmed(): number {
    return [...this.#relay, this.#archiver].reduce((sum, { trimmed }) => sum + trimmed, 0);
  }

  constructor(simulation: Simulation, account: Around) {
    this.#simulation = simulation;
    this.#relay = Array.from({ length: RELAY_PARALLELIZATION }, () => new Lane(RELAY, simulation, account));
    this.#archiver = new Lane(ARCHIVER, simulation, account);
  }

  take(changes: readonly RowChange[]): void {
    for (const { table, before, after } of changes) {
      if (table !== TABLES.ledger) continue;
      const isInsert = before === undefined && after !== undefined;
      const key = after ?? before ?? {};
      this.#sequence += 1;
      const record: StreamRecord = {
        eventName: isInsert ? 'INSERT' : after === undefined ? 'REMOVE' : 'MODIFY',
        dynamodb: {
          SequenceNumber: String(this.#sequence).padStart(21, '0'),
          ApproximateCreationDateTime: Math.floor(this.#simulation.nowMs / 1_000),
          Keys: imageOf({
            [KeyAttribute.partition]: key[KeyAttribute.partition],
            [KeyAttribute.sort]: key[KeyAttribute.sort],
          }),
          ...(after === undefined ? {} : { NewImage: imageOf(after) }),
          ...(before === undefined ? {} : { OldImage: imageOf(before) }),
        },
      };
      const name = nameOfRow(key);
      this.#archiver.take(name, record);
      // Same filter as the relay's event source (lib/events.ts): outcomes, and forbidden changes of rows.
      if (isInsert && after[LedgerTable.recentOutcomesIndex.partitionKey] === undefined) continue;
      this.#laneOf(key[KeyAttribute.partition] as string).take(name, record);
    }
  }

  #laneOf(partition: string): Lane {
    let sum = 0;
    for (const character of partition) sum = (31 * sum + character.charCodeAt(0)) % 1_000_003;
    return this.#relay[sum % RELAY_PARALLELIZATION] as Lane;
  }
}

/**
 * Delivers records in order. After a failure, continues with the first failed record. After the last retry, parks this
 * record.
 */
class Lane {
  readonly #reader: Reader;
  readonly #simulation: Simulation;
  readonly #account: Around;
  readonly #records: { readonly name: string; readonly record: StreamRecord; readonly takenAtMs: number }[] = [];
  trimmed = 0;
  #isRunning = false;
  #throttledMs: number = THROTTLED_MS[0];
  #retries = 0;
  #batch: number;

  constructor(reader: Reader, simulation: Simulation, account: Around) {
    this.#reader = reader;
    this.#simulation = simulation;
    this.#account = account;
    this.#batch = reader.batch;
  }

  take(name: string, record: StreamRecord): void {
    this.#records.push({ name, record, takenAtMs: this.#simulation.nowMs });
    const { windowMs } = this.#reader;
    // With a window, only the first record of a batch schedules a read. Later records are delivered together with it.
    if (!this.#isRunning && (windowMs === 0 || this.#records.length === 1)) this.#readSoon(name, windowMs);
  }

  #readSoon(name: string, afterMs: number): void {
    const of = this.#reader === RELAY ? 'stream' : `stream of ${this.#reader.name}`;
    const travels = this.#simulation.decide(`${of} ${name} ${this.#retries}`);
    const order = Math.floor(travels * 2 ** 32);
    const atMs = this.#simulation.nowMs + afterMs + 50 + travels * SOON_MS;
    this.#simulation.plan(atMs, order, () => this.#read());
  }

  #read(): boolean {
    if (!this.#isRunning) this.#trim();
    const [first] = this.#records;
    if (first === undefined || this.#isRunning) return false;
    this.#isRunning = true;
    const batch = this.#records.slice(0, this.#batch);
    const event = { Records: batch.map(({ record }) => record) };
    void this.#deliver(`${first.name} ${this.#retries}`, batch.length, event);
    return true;
  }

  async #deliver(name: string, length: number, event: DynamoDBStreamEvent): Promise<void> {
    const { name: reader, windowMs } = this.#reader;
    const isThrottled = this.#account.throttled.has(reader);
    const ended = await this.#account.invoke(reader, name, event);
    this.#isRunning = false;
    if (isThrottled) {
      this.#readSoon(name, this.#throttledMs);
      this.#throttledMs = Math.min(2 * this.#throttledMs, THROTTLED_MS[1]);
      return;
    }
    this.#throttledMs = THROTTLED_MS[0];
    this.#settle(name, length, ended);
    const [next] = this.#records;
    if (next === undefined) return;
    this.#readSoon(next.name, this.#retries === 0 ? windowMs : Math.min(60_000, 1_000 * this.#retries));
  }

  #trim(): void {
    const sinceMs = this.#simulation.nowMs - KEPT_MS;
    const kept = this.#records.findIndex(({ takenAtMs }) => takenAtMs >= sinceMs);
    this.trimmed += this.#records.splice(0, kept === -1 ? this.#records.length : kept).length;
  }

  #settle(name: string, length: number, ended: Ended<unknown>): void {
    const done = this.#doneOf(name, length, ended);
    if (done > 0 || length === 0) {
      this.#records.splice(0, done);
      this.#retries = 0;
      this.#batch = this.#reader.batch;
      return;
    }
    this.#retries += 1;
    // A failed batch is halved, down to a single record.
    if (ended.kind !== 'returned' && this.#batch > 1) this.#batch = Math.ceil(Math.min(length, this.#batch) / 2);
    if (this.#retries <= this.#reader.tries) return;
    const [parked] = this.#records.splice(0, 1);
    const atMs = new Date(parked?.takenAtMs ?? 0).toISOString();
    const batch = { approximateArrivalOfFirstRecord: atMs, approximateArrivalOfLastRecord: atMs };
    this.#account.queues.put(
      this.#reader.parking,
      JSON.stringify({ DDBStreamBatchInfo: batch }),
      `parked ${parked?.name}`,
    );
    this.#retries = 0;
    this.#batch = this.#reader.batch;
  }

  /** Returns the number of leading records that need no redelivery. */
  #doneOf(name: string, length: number, ended: Ended<unknown>): number {
    if (ended.kind !== 'returned') return 0;
    const { doubledAs } = this.#reader;
    if (doubledAs !== undefined && this.#simulation.strikes(doubledAs, `${name} doubled`, 'stream batch')) return 0;
    const { batchItemFailures: [failure] = [] } = (ended.value ?? {}) as Partial<DynamoDBBatchResponse>;
    if (failure === undefined) return length;
    const isFailed = ({ record }: { readonly record: StreamRecord }): boolean =>
      record.dynamodb?.SequenceNumber === failure.itemIdentifier;
    return Math.max(0, this.#records.findIndex(isFailed));
  }
}

export function nameOfRow(row: Readonly<Record<string, unknown>>): string {
  return [IdempotencyTable.partitionKey, KeyAttribute.sort].map((name) => row[name] as string | undefined).join(' ');
}

type Image = NonNullable<NonNullable<StreamRecord['dynamodb']>['NewImage']>;

function imageOf(item: Readonly<Record<string, unknown>>): Image {
  return toStreamImage(item) as Image;
}
