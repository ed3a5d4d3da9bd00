import { POSTGRES_AUTHORITY, REPLAY_CACHE_TABLE } from '../../../lambdas/authority/contract.ts';
import { ALL_EVENTS, type EventName, PUBLIC_EVENTS } from '../../../lambdas/events/contract.ts';
import { COMMISSION_EVENTS, RECEIPT_EVENTS } from '../../../lambdas/follow-ups/contract.ts';
import type { GatewayEvent, GatewayResult } from '../../../lambdas/http/gateway-request.ts';
import { REQUESTS_AT_ONCE } from '../../../lambdas/intake/contract.ts';
import { JOB_MESSAGE_HIDDEN_SECONDS } from '../../../lambdas/jobs/contract/runs.ts';
import { Environment } from '../../../lambdas/kernel/contract/environment.ts';
import { EVENT_SOURCE } from '../../../lambdas/kernel/contract/events.ts';
import { MetadataName } from '../../../lambdas/kernel/contract/metadata.ts';
import {
  maxReceives,
  PAYMENTS_TIMEOUT_SECONDS,
  REDRIVE_TIMEOUT_MINUTES,
  WEBHOOK_SENDER_TIMEOUT_SECONDS,
} from '../../../lambdas/kernel/contract/timing.ts';
import { countLongWaits } from '../../../lambdas/kernel/platform/long-waits.ts';
import type { Variables } from '../../../lambdas/kernel/platform/variables.ts';
import { idempotentRunner } from '../../../lambdas/once/idempotent-runner.ts';
import type { Database } from '../../../lambdas/postgres/database.ts';
import type { ProcessorDescriptor } from '../../../lambdas/processors/descriptor.ts';
import { MemoryDynamoDb } from '../memory-dynamodb.ts';
import { REPLAY_CACHE, TABLE_SHAPES } from '../tables.ts';
import { ArchiveBucket } from './archive-bucket.ts';
import type { ClientAnswer, Published } from './contract.ts';
import { ExportsBucket } from './exports-bucket.ts';
import { type ConsumerName, FUNCTIONS, type FunctionName } from './functions.ts';
import { platformOf, type Surroundings } from './platform.ts';
import { AuthorityBooks } from './postgres.ts';
import { type QueueShape, Queues, queueUrl } from './queues.ts';
import type { Ended, Process, Simulation } from './simulation.ts';
import { Stream } from './stream.ts';

/** Deployed configuration that new processes start with. */
export interface Deployment {
  readonly variables: Variables;
  readonly processors: readonly ProcessorDescriptor[];
  readonly clockSkewMs: number;
}

interface Rule {
  readonly events: readonly EventName[];
  /** Field that the payment's metadata or the order must have for the rule to match. */
  readonly metadata?: string;
}

/** Rules of the bus (lib/constructs/event-consumer.ts, lib/follow-ups.ts). */
const RULES: Readonly<Record<ConsumerName, Rule>> = {
  'views-projector': { events: ALL_EVENTS },
  'webhook-fan-out': { events: PUBLIC_EVENTS },
  'receipt-consumer': { events: RECEIPT_EVENTS, metadata: MetadataName.receiptEmail },
  'commission-consumer': { events: COMMISSION_EVENTS, metadata: MetadataName.affiliate },
};

const CONSUMER_HIDDEN_MS = 180_000;

const taskQueue = (hiddenMs: number) => ({ hiddenMs, tries: maxReceives(hiddenMs / 1_000) });

const consumer = (name: string): readonly (readonly [string, QueueShape])[] => [
  [name, { consumer: name, batch: 10, ...taskQueue(CONSUMER_HIDDEN_MS), deadLetters: `${name}-dead` }],
  [`${name}-dead`, {}],
];
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

/** Queues as the stacks create them (lib/constructs/task-queue.ts, event-consumer.ts, job-worker.ts). */
const QUEUES: Readonly<Record<string, QueueShape>> = {
  ...Object.fromEntries(Object.keys(RULES).flatMap(consumer)),
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
  'archive-parked': {},
  letters: {},
  'delayed-calls': {
    consumer: 'dead-letters',
    batch: 1,
    ...taskQueue((REDRIVE_TIMEOUT_MINUTES + 1) * 60_000),
    deadLetters: 'letters',
  },
};

/** Routes of the gateway. A route without a method serves all methods. The first matching route is used. */
const ROUTES: readonly (readonly [path: string, name: FunctionName, method?: string])[] = [
  ['/v1/admin/jobs', 'jobs'],
  ['/v1/admin', 'ledger'],
  ['/v1/ledger', 'reads'],
  ['/v1/balances', 'reads'],
  ['/v1/orders', 'orders'],
  ['/v1/events', 'reads'],
  ['/v1/exports', 'exports'],
  ['/v1/webhook_endpoints', 'webhooks'],
  ['/callbacks', 'callbacks'],
  ['/v1/payments', 'payments', 'POST'],
  ['/v1/payments', 'reads'],
];

/** Integration timeout of a REST API, in milliseconds (AWS: "Amazon API Gateway quotas"). */
const GATEWAY_MS = 29_000;
/** Time for which Lambda keeps an idle process, in milliseconds. */
const IDLE_MS = 6 * 3_600_000;
/** Share of invocations that start a new process although an idle process exists. */
const COLD_SHARE = 0.05;
/** Functions that process batches and pages. No faults are injected into `SPARED_SHARE` of their processes. */
const MANY_CALLS: ReadonlySet<FunctionName> = new Set<FunctionName>([
  'upkeep-jobs',
  'export-writer',
  'views-projector',
  'webhook-fan-out',
  'webhook-sender',
  'outbox-relay',
]);
const SPARED_SHARE = 0.6;

/** Waits before the attempts of an asynchronous invocation, in milliseconds. */
const START_MS = [100, 60_000, 120_000] as const;

interface Container {
  readonly deployment: Deployment;
  readonly skewMs: number;
  process: Process;
  handler?: (event: unknown) => Promise<unknown>;
  usedAtMs: number;
}

export type AccountSurroundings = Omit<
  Surroundings,
  'simulation' | 'database' | 'books' | 'queues' | 'archive' | 'exports' | 'start' | 'publish'
>;

export class Account {
  readonly simulation: Simulation;
  readonly database: MemoryDynamoDb;
  /** Tables that the oracles read if PostgreSQL is the authority; otherwise undefined. */
  readonly books: AuthorityBooks | undefined;
  readonly queues: Queues;
  readonly archive = new ArchiveBucket();
  readonly exports = new ExportsBucket();
  readonly published: Published[] = [];
  readonly invocations: Record<string, number> = {};
  /**
   * Functions that Lambda throttles. An SQS delivery to a throttled function counts as a receive; a Stream delivery
   * does not count as an attempt.
   */
  readonly throttled = new Set<FunctionName>();
  deployment: Deployment;
  /** Called after a record or a message was put into a queue that an operator reads. */
  onParked: () => void = () => {};
  readonly #surroundings: Surroundings;
  readonly #idle = new Map<FunctionName, Container[]>();
  readonly stream: Stream;

  constructor(
    simulation: Simulation,
    deployment: Deployment,
    surroundings: AccountSurroundings,
    postgres: Database | undefined,
  ) {
    this.simulation = simulation;
    this.deployment = deployment;
    this.database = new MemoryDynamoDb({ tables: TABLE_SHAPES, nowMs: () => simulation.nowMs });
    this.books = postgres === undefined ? undefined : new AuthorityBooks(simulation, postgres, this.database);
    this.queues = new Queues(simulation, QUEUES, {
      invoke: (name, message, event) => this.invoke(name as FunctionName, message, event),
      onParked: () => this.onParked(),
    });
    this.stream = new Stream(simulation, this);
    this.database.listen((changes) => this.stream.take(changes));
    this.#surroundings = {
      ...surroundings,
      simulation,
      database: this.database,
      books: this.books,
      queues: this.queues,
      archive: this.archive,
      exports: this.exports,
      start: (name, payload, about) => this.#start(name as FunctionName, about, JSON.parse(payload)),
      publish: (event, by) => this.#publish(event, by),
    };
  }

  /** @param about part of the process name, which must stay the same when other steps are removed from the history */
  invoke(name: FunctionName, about: string, event: unknown): Promise<Ended<unknown>> {
    const { simulation } = this;
    if (this.throttled.has(name)) return Promise.resolve({ kind: 'killed' });
    const processName = simulation.named(`${name} ${about}`);
    if (this.#surroundings.isPoison(name, event)) return Promise.resolve({ kind: 'killed' });
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
      { skewMs: Math.round(skewMs), canFail: !this.#isSpared(name, processName), isFunction: true },
    );
    return ended.then((end) => {
      if (end.kind === 'threw') this.#surroundings.report(name, end.error);
      // Keep the process only if none of its calls is pending. Otherwise the next invocation could wait for a call of
      // an earlier invocation, for example for the same secret.
      if (end.kind !== 'killed' && running?.handler !== undefined && !running.process.isWaiting) {
        running.usedAtMs = simulation.nowMs;
        this.#pool(name).push(running);
      }
      return end;
    });
  }

  /** @returns the response, which may be a 502 or 504 from the gateway itself */
  async request(about: string, event: GatewayEvent, by: Process): Promise<ClientAnswer> {
    const { simulation } = this;
    const { path, httpMethod } = event;
    const route = ROUTES.find(
      ([prefix, , method = httpMethod]) => method === httpMethod && (path === prefix || path.startsWith(`${prefix}/`)),
    );
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

  /** Like Lambda, retries a failed invocation twice. */
  #start(name: FunctionName, about: string, payload: unknown, attempt = 1): void {
    const { simulation } = this;
    const named = `${about} attempt ${attempt}`;
    const order = Math.floor(simulation.decide(`${name} ${named}`) * 2 ** 32);
    const begin = async (): Promise<void> => {
      const ended = await this.invoke(name, named, payload);
      if (ended.kind !== 'returned' && attempt < START_MS.length) this.#start(name, about, payload, attempt + 1);
    };
    simulation.plan(simulation.nowMs + (START_MS[attempt - 1] ?? 0), order, () => void begin());
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
      // The bus delivers each event at least once, so an event can arrive twice.
      if (this.simulation.strikes('ambiguous_applied', `${id} ${queue} twice`, 'bus delivery'))
        this.queues.put(queue, body, `${id} ${queue} again`);
    }
  }

  /** At the usual fault rates, a function that makes tens of calls would rarely finish. */
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
    const settings = {
      [POSTGRES_AUTHORITY]: JSON.stringify({ secretId: 'database' }),
      [REPLAY_CACHE_TABLE]: REPLAY_CACHE,
      [Environment.authority]: 'postgres',
      [Environment.deploymentSettings]: JSON.stringify({ sandbox: 'true', authority: 'postgres' }),
    };
    const authority = this.books === undefined ? {} : settings;
    const named = { ...variables, ...own, ...authority, AWS_LAMBDA_FUNCTION_NAME: name };
    const platform = platformOf(this.#surroundings, named, () => container.process, name);
    const handle = (await wire(platform, idempotentRunner, processors)) as (event: unknown) => Promise<unknown>;
    // Counts long waits before each call, as `idempotently` does in production code.
    return async (event) => {
      countLongWaits(platform, event);
      return handle(event);
    };
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
