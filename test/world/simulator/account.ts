import { marshall } from '@aws-sdk/util-dynamodb';
import type { DynamoDBBatchResponse, DynamoDBStreamEvent } from 'aws-lambda';
import {
  ALL_EVENTS,
  type EventName,
  PUBLIC_EVENTS,
  RELAY_LANES,
  RELAY_TRIES,
} from '../../../lambdas/events/contract.ts';
import { COMMISSION_EVENTS, RECEIPT_EVENTS } from '../../../lambdas/follow-ups/contract.ts';
import type { GatewayEvent, GatewayResult } from '../../../lambdas/http/gateway-request.ts';
import { REQUESTS_AT_ONCE } from '../../../lambdas/intake/contract.ts';
import { JOB_MESSAGE_HIDDEN_SECONDS } from '../../../lambdas/jobs/contract.ts';
import { Environment } from '../../../lambdas/kernel/contract/environment.ts';
import { EVENT_SOURCE } from '../../../lambdas/kernel/contract/events.ts';
import { MetadataName } from '../../../lambdas/kernel/contract/metadata.ts';
import { IdempotencyTable, KeyAttribute, LedgerTable } from '../../../lambdas/kernel/contract/tables.ts';
import {
  PAYMENTS_TIMEOUT_SECONDS,
  REDRIVE_TIMEOUT_MINUTES,
  receivesOf,
  WEBHOOK_SENDER_TIMEOUT_SECONDS,
} from '../../../lambdas/kernel/contract/timing.ts';
import type { Variables } from '../../../lambdas/kernel/platform/variables.ts';
import { idempotentRunner } from '../../../lambdas/once/idempotent-runner.ts';
import type { ProcessorDescriptor } from '../../../lambdas/processors/descriptor.ts';
import { MemoryDynamoDb, type RowChange } from '../memory-dynamodb.ts';
import { TABLE_SHAPES, TABLES } from '../tables.ts';
import type { ClientAnswer, Published } from './contract.ts';
import { FUNCTIONS, type FunctionName } from './functions.ts';
import { platformOf, type Surroundings } from './platform.ts';
import { type QueueShape, Queues, queueUrl } from './queues.ts';
import type { Ended, Process, Simulation } from './simulation.ts';

/** What new processes begin with. */
export interface Deployment {
  readonly variables: Variables;
  readonly processors: readonly ProcessorDescriptor[];
  readonly clockSkewMs: number;
}

const CONSUMER_HIDDEN_MS = 180_000;

const taskQueue = (hiddenMs: number) => ({ hiddenMs, tries: receivesOf(hiddenMs / 1_000) });

const consumer = (name: FunctionName): Readonly<Record<string, QueueShape>> => ({
  [name]: { consumer: name, batch: 10, ...taskQueue(CONSUMER_HIDDEN_MS), deadLetters: `${name}-dead` },
  [`${name}-dead`]: {},
});
const jobs = (name: FunctionName): Readonly<Record<string, QueueShape>> => ({
  [name]: {
    consumer: name,
    batch: 1,
    ...taskQueue(JOB_MESSAGE_HIDDEN_SECONDS * 1_000),
    deadLetters: `${name}-dead`,
  },
  [`${name}-dead`]: {},
});

const requests = (name: string): Readonly<Record<string, QueueShape>> => ({
  [name]: {
    consumer: 'payment-requests',
    batch: REQUESTS_AT_ONCE,
    ...taskQueue(6 * PAYMENTS_TIMEOUT_SECONDS * 1_000),
    deadLetters: 'payment-requests-parked',
  },
});

/** As the stacks make them (lib/constructs/task-queue.ts, event-consumer.ts, job-worker.ts). */
const QUEUES: Readonly<Record<string, QueueShape>> = {
  ...consumer('views-projector'),
  ...consumer('webhook-fan-out'),
  ...consumer('receipt-consumer'),
  ...consumer('commission-consumer'),
  ...jobs('payment-jobs'),
  ...jobs('upkeep-jobs'),
  webhooks: {
    consumer: 'webhook-sender',
    batch: 10,
    atOnce: 20,
    ...taskQueue(6 * WEBHOOK_SENDER_TIMEOUT_SECONDS * 1_000),
    deadLetters: 'webhooks-dead',
  },
  'webhook-lanes': {
    consumer: 'webhook-sender',
    batch: 1,
    atOnce: 20,
    ...taskQueue(6 * WEBHOOK_SENDER_TIMEOUT_SECONDS * 1_000),
    deadLetters: 'webhooks-dead',
  },
  ...requests('payment-requests'),
  ...requests('requests-of-shop'),
  'payment-requests-parked': {},
  'webhooks-dead': {},
  'relay-parked': {},
  letters: {},
  'delayed-calls': {
    consumer: 'dead-letters',
    batch: 1,
    ...taskQueue((REDRIVE_TIMEOUT_MINUTES + 1) * 60_000),
    deadLetters: 'letters',
  },
};

interface Rule {
  readonly events: readonly EventName[];
  /** The name that the payment must have among its metadata, or the order as a field. */
  readonly metadata?: string;
}

/** The rules of the bus (lib/constructs/event-consumer.ts, lib/follow-ups.ts). */
const RULES: Readonly<Record<string, Rule>> = {
  'views-projector': { events: ALL_EVENTS },
  'webhook-fan-out': { events: PUBLIC_EVENTS },
  'receipt-consumer': { events: RECEIPT_EVENTS, metadata: MetadataName.receiptEmail },
  'commission-consumer': { events: COMMISSION_EVENTS, metadata: MetadataName.affiliate },
};

/** The routes of the gateway; the longest that fits counts. */
const ROUTES: readonly (readonly [string, FunctionName])[] = [
  ['/v1/admin/jobs', 'jobs'],
  ['/v1/admin', 'ledger'],
  ['/v1/ledger', 'ledger'],
  ['/v1/balances', 'ledger'],
  ['/v1/orders', 'orders'],
  ['/v1/events', 'events'],
  ['/v1/webhook_endpoints', 'webhooks'],
  ['/callbacks', 'callbacks'],
  ['/v1/payments', 'payments'],
];

/** AWS: "Amazon API Gateway quotas", integration timeout of a REST API. */
const GATEWAY_MS = 29_000;
/** Lambda keeps an idle process for some time. */
const IDLE_MS = 6 * 3_600_000;
/** The share of calls that start a process although another one is idle. */
const COLD_SHARE = 0.05;
/** Functions that work through batches and pages, and the share of their processes that meet no fault. */
const MANY_CALLS: ReadonlySet<FunctionName> = new Set<FunctionName>([
  'upkeep-jobs',
  'views-projector',
  'webhook-fan-out',
  'webhook-sender',
  'outbox-relay',
]);
const SPARED_SHARE = 0.6;

const STREAM_BATCH = 100;
const STREAM_SOON_MS = 400;
/** A Stream reads again after its function was throttled. */
const THROTTLED_MS = 30_000;

interface Container {
  readonly deployment: Deployment;
  readonly skewMs: number;
  process: Process;
  handler?: (event: unknown) => Promise<unknown>;
  usedAtMs: number;
}

export type AccountSurroundings = Omit<Surroundings, 'simulation' | 'database' | 'queues' | 'publish'>;

/** An account of AWS in memory, with one deployment of the stacks. */
export class Account {
  readonly simulation: Simulation;
  readonly database: MemoryDynamoDb;
  readonly queues: Queues;
  readonly published: Published[] = [];
  /** Handler calls, by function. */
  readonly invocations: Record<string, number> = {};
  /** The functions that Lambda does not start now. SQS counts each delivery to one of them as a try, a Stream does not. */
  readonly throttled = new Set<FunctionName>();
  deployment: Deployment;
  /** Called when a record or a message has reached a queue that an operator reads. */
  onParked: () => void = () => {};
  readonly #surroundings: Surroundings;
  readonly #idle = new Map<FunctionName, Container[]>();
  readonly #stream: Stream;

  constructor(simulation: Simulation, deployment: Deployment, surroundings: AccountSurroundings) {
    this.simulation = simulation;
    this.deployment = deployment;
    this.database = new MemoryDynamoDb({ tables: TABLE_SHAPES, nowMs: () => simulation.nowMs });
    this.queues = new Queues(simulation, QUEUES, {
      invoke: (name, message, event) => this.invoke(name as FunctionName, message, event),
      onParked: () => this.onParked(),
    });
    this.#stream = new Stream(simulation, this);
    this.database.listen((changes) => this.#stream.take(changes));
    this.#surroundings = {
      ...surroundings,
      simulation,
      database: this.database,
      queues: this.queues,
      publish: (event, by) => this.#publish(event, by),
    };
  }

  /** Runs a function once. @param name identifies the call; it stays the same when other steps of the history are removed */
  invoke(name: FunctionName, about: string, event: unknown): Promise<Ended<unknown>> {
    const { simulation } = this;
    if (this.throttled.has(name)) return Promise.resolve({ kind: 'killed' });
    const processName = simulation.named(`${name} ${about}`);
    this.invocations[name] = (this.invocations[name] ?? 0) + 1;
    const found = this.#warm(name, processName);
    const { deployment } = this;
    const skewMs = found?.skewMs ?? (simulation.decide(`${processName} skew`) * 2 - 1) * deployment.clockSkewMs;
    const { timeoutMs } = FUNCTIONS[name];
    let running: Container | undefined = found;
    const ended = simulation.spawn(
      processName,
      name,
      async (process) => {
        simulation.plan(simulation.nowMs + timeoutMs, process.order(), () => {
          if (process.isOver) return false;
          process.kill();
          return true;
        });
        const container = running ?? { deployment, skewMs, process, usedAtMs: simulation.nowMs };
        running = container;
        container.process = process;
        container.handler ??= await this.#wire(name, container);
        return container.handler(event);
      },
      { skewMs: Math.round(skewMs), canFail: !this.#isSpared(name, processName) },
    );
    return ended.then((end) => {
      if (end.kind === 'threw') this.#surroundings.report(name, end.error);
      // The next process must not wait for a call of one that is over, for example for a secret that both need.
      if (end.kind !== 'killed' && running?.handler !== undefined && !running.process.isWaiting) {
        running.usedAtMs = simulation.nowMs;
        this.#pool(name).push(running);
      }
      return end;
    });
  }

  /** A client's request. @returns undefined when the connection to the client is gone */
  async request(about: string, event: GatewayEvent, by: Process): Promise<ClientAnswer> {
    const { simulation } = this;
    const route = ROUTES.find(([prefix]) => event.path === prefix || event.path.startsWith(`${prefix}/`));
    const answer = (status: number, body = '', headers: Readonly<Record<string, string>> = {}): ClientAnswer => ({
      status,
      headers,
      body,
      atMs: simulation.nowMs,
    });
    if (route === undefined) return answer(403, '{"message":"Missing Authentication Token"}');
    const tooLate = new Promise<undefined>((resolve) => {
      simulation.plan(simulation.nowMs + GATEWAY_MS, by.order(), () => resolve(undefined));
    });
    const ended = await by.until(Promise.race([this.invoke(route[1], about, event), tooLate]));
    if (ended === undefined) return answer(504, '{"message":"Endpoint request timed out"}');
    if (ended.kind !== 'returned') return answer(502, '{"message":"Internal server error"}');
    const { statusCode, body, headers = {} } = ended.value as GatewayResult;
    return answer(
      statusCode,
      body,
      Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), String(value)])),
    );
  }

  #publish(event: Published, by: Process): void {
    this.published.push(event);
    const id = by.token();
    const body = JSON.stringify({
      version: '0',
      id,
      'detail-type': event.detailType,
      source: EVENT_SOURCE,
      account: '000000000000',
      time: new Date(event.atMs).toISOString(),
      region: 'eu-west-1',
      resources: [],
      detail: event.detail,
    });
    for (const [queue, rule] of Object.entries(RULES)) {
      if (!selects(rule, event)) continue;
      this.queues.put(queue, body, `${id} ${queue}`);
      // The bus delivers at least once.
      if (this.simulation.strikes('ambiguous_applied', `${id} ${queue} twice`, 'bus delivery'))
        this.queues.put(queue, body, `${id} ${queue} again`);
    }
  }

  /** With a fault at each tenth call, a function that makes tens of calls would hardly ever reach its end. */
  #isSpared(name: FunctionName, processName: string): boolean {
    return MANY_CALLS.has(name) && this.simulation.decide(`${processName} spared`) < SPARED_SHARE;
  }

  #pool(name: FunctionName): Container[] {
    const pool = this.#idle.get(name) ?? [];
    this.#idle.set(name, pool);
    return pool;
  }

  #warm(name: FunctionName, processName: string): Container | undefined {
    const pool = this.#pool(name);
    const oldestMs = this.simulation.nowMs - IDLE_MS;
    for (let index = pool.length - 1; index >= 0; index -= 1) {
      const container = pool[index] as Container;
      if (container.deployment !== this.deployment || container.usedAtMs < oldestMs) pool.splice(index, 1);
    }
    if (this.simulation.decide(`${processName} cold`) < COLD_SHARE) return undefined;
    return pool.pop();
  }

  async #wire(name: FunctionName, container: Container): Promise<(event: unknown) => Promise<unknown>> {
    const { wire, parking } = FUNCTIONS[name];
    const { variables, processors } = container.deployment;
    const own = parking === undefined ? {} : { [Environment.parkingQueueUrl]: queueUrl(parking) };
    const platform = platformOf(this.#surroundings, { ...variables, ...own }, () => container.process, name);
    return (await wire(platform, idempotentRunner, processors)) as (event: unknown) => Promise<unknown>;
  }
}

type StreamRecord = DynamoDBStreamEvent['Records'][number];

/** The Ledger's Stream. One shard, whose records are assigned to the lanes of the relay by their partition key. */
class Stream {
  readonly #lanes: readonly Lane[];
  #sequence = 0;

  constructor(simulation: Simulation, account: Account) {
    this.#lanes = Array.from({ length: RELAY_LANES }, () => new Lane(simulation, account));
  }

  take(changes: readonly RowChange[]): void {
    for (const { table, before, after } of changes) {
      if (table !== TABLES.ledger) continue;
      const isInsert = before === undefined && after !== undefined;
      // The filter of the event source (lib/events.ts): outcomes, and changes that must not exist.
      if (isInsert && after[LedgerTable.recentOutcomesIndex.partitionKey] === undefined) continue;
      const key = after ?? before ?? {};
      this.#sequence += 1;
      const record: StreamRecord = {
        eventName: isInsert ? 'INSERT' : after === undefined ? 'REMOVE' : 'MODIFY',
        dynamodb: {
          SequenceNumber: String(this.#sequence).padStart(21, '0'),
          Keys: streamImage({
            [KeyAttribute.partition]: key[KeyAttribute.partition],
            [KeyAttribute.sort]: key[KeyAttribute.sort],
          }),
          ...(after === undefined ? {} : { NewImage: streamImage(after) }),
        },
      };
      this.#laneOf(key[KeyAttribute.partition] as string).take(nameOfRow(key), record);
    }
  }

  #laneOf(partition: string): Lane {
    let sum = 0;
    for (const character of partition) sum = (31 * sum + character.charCodeAt(0)) % 1_000_003;
    return this.#lanes[sum % RELAY_LANES] as Lane;
  }
}

/** Records come in order, and again from the first that failed. */
class Lane {
  readonly #simulation: Simulation;
  readonly #account: Account;
  readonly #records: { readonly name: string; readonly record: StreamRecord }[] = [];
  #isRunning = false;
  #retries = 0;
  #batch = STREAM_BATCH;

  constructor(simulation: Simulation, account: Account) {
    this.#simulation = simulation;
    this.#account = account;
  }

  take(name: string, record: StreamRecord): void {
    this.#records.push({ name, record });
    if (!this.#isRunning) this.#readSoon(name, 0);
  }

  #readSoon(name: string, afterMs: number): void {
    const travels = this.#simulation.decide(`stream ${name} ${this.#retries}`);
    const order = Math.floor(travels * 2 ** 32);
    const atMs = this.#simulation.nowMs + afterMs + 50 + travels * STREAM_SOON_MS;
    this.#simulation.plan(atMs, order, () => this.#read());
  }

  #read(): boolean {
    const [first] = this.#records;
    if (first === undefined || this.#isRunning) return false;
    this.#isRunning = true;
    const batch = this.#records.slice(0, this.#batch);
    const event = { Records: batch.map(({ record }) => record) };
    void this.#relay(`${first.name} ${this.#retries}`, batch.length, event);
    return true;
  }

  async #relay(name: string, length: number, event: DynamoDBStreamEvent): Promise<void> {
    const isThrottled = this.#account.throttled.has('outbox-relay');
    const ended = await this.#account.invoke('outbox-relay', name, event);
    this.#isRunning = false;
    if (isThrottled) return this.#readSoon(name, THROTTLED_MS);
    this.#settle(length, ended);
    const [next] = this.#records;
    if (next !== undefined) this.#readSoon(next.name, Math.min(60_000, 1_000 * this.#retries));
  }

  #settle(length: number, ended: Ended<unknown>): void {
    const [failure] =
      ended.kind === 'returned' ? (ended.value as DynamoDBBatchResponse).batchItemFailures : [undefined];
    const failedAt = this.#records.findIndex(
      ({ record }) => record.dynamodb?.SequenceNumber === failure?.itemIdentifier,
    );
    const done = ended.kind !== 'returned' ? 0 : failure === undefined ? length : Math.max(0, failedAt);
    if (done > 0 || length === 0) {
      this.#records.splice(0, done);
      this.#retries = 0;
      this.#batch = STREAM_BATCH;
      return;
    }
    this.#retries += 1;
    // A batch that fails is halved until the failing record is alone.
    if (ended.kind !== 'returned' && this.#batch > 1) this.#batch = Math.ceil(Math.min(length, this.#batch) / 2);
    if (this.#retries <= RELAY_TRIES) return;
    const [parked] = this.#records.splice(0, 1);
    this.#account.queues.put('relay-parked', JSON.stringify({ record: parked?.name }), `parked ${parked?.name}`);
    this.#retries = 0;
    this.#batch = STREAM_BATCH;
  }
}

function selects({ events, metadata }: Rule, { detailType, detail }: Published): boolean {
  if (!events.some((each) => each === detailType)) return false;
  if (metadata === undefined) return true;
  const { payment, event } = detail as {
    readonly payment?: { readonly metadata: object };
    readonly event: { readonly data: { readonly object: object } };
  };
  return metadata in (payment?.metadata ?? event.data.object);
}

export function nameOfRow(row: Readonly<Record<string, unknown>>): string {
  return [IdempotencyTable.partitionKey, KeyAttribute.sort].map((name) => row[name] as string | undefined).join(' ');
}

/** As Lambda delivers it: JSON, with bytes as base64. */
function streamImage(
  item: Readonly<Record<string, unknown>>,
): NonNullable<NonNullable<StreamRecord['dynamodb']>['NewImage']> {
  const text = JSON.stringify(marshall(item), (_name, value: unknown) =>
    value instanceof Uint8Array ? Buffer.from(value).toString('base64') : value,
  );
  return JSON.parse(text) as NonNullable<NonNullable<StreamRecord['dynamodb']>['NewImage']>;
}
