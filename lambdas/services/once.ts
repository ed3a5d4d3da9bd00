import type { Context, MiddlewareHandler } from 'hono';
import type { GatewayEvent, GatewayResult } from '../http/gateway-request.ts';
import { gatewayResult } from '../http/http-answer.ts';
import type { Answer } from '../kernel/answer.ts';
import { LEASE_SECONDS } from '../kernel/contract/timing.ts';
import { documentClient } from '../kernel/platform/document-client.ts';
import { systemClock, systemDigest, systemEntropy } from '../kernel/platform/platform.ts';
import { idempotently } from '../once/idempotently.ts';
import { ProcessReplayCache } from '../once/process-records.ts';
import type { TransactItem } from '../once/store/transact-items.ts';
import { answerOnce, type KeyedCall } from './http/answer-once.ts';
import { answerOf, lambdaCall, readHonoRequest, responseOf } from './http/calls.ts';
import { type EventHandler, eventHandler } from './http/event-deliveries.ts';
import { check, checkRetention, checkScope } from './options.ts';
import { createPostgresOnce, type PostgresOnce, type PostgresOnceOptions } from './postgres-once.ts';
import { type DocumentClient, OwnTable } from './store/own-table.ts';
import { consumeInTable, type OwnConsumer } from './use/consume-event.ts';
import { type Effect as AnyEffect, runRequest } from './use/run-request.ts';

/*
 * Library for the team's own services: routes, functions and consumers that take effect once. Record and effect are
 * committed in one transaction, in the team's own PostgreSQL database (postgres-once.ts) or DynamoDB table (this file).
 *
 * These two files are the complete interface. docs/guides/services.md explains an example.
 */

export type { EventHandler, NatsMessage } from './http/event-deliveries.ts';
export { admitJobs, type JobsCaller, type JobVariables } from './job-calls.ts';
export type { PostgresEffect, PostgresOnce, PostgresOnceOptions } from './postgres-once.ts';
export type { BusEvent, ParkedMessage } from './use/consume-event.ts';
export { FencedError } from './use/run-request.ts';

/**
 * The operations that a handler may use while it holds the claim of its request. The handler's writes are entries of
 * `TransactItems` of `@aws-sdk/lib-dynamodb`.
 */
export type Effect = AnyEffect<TransactItem>;

/** The variables of a Hono app with idempotent routes: `new Hono<{ Variables: OnceVariables }>()`. */
export interface OnceVariables {
  effect: Effect;
}

export interface OnceOptions {
  /**
   * Name of the table for the records. Its partition key is `pk`, a string; it has no sort key; its time-to-live
   * attribute is `expiresAt`. It may also contain other rows.
   */
  readonly table: string;
  /**
   * A client with `maxAttempts: 1`: it must not retry, because the engine retries.
   * @default a client for the environment's region
   */
  readonly client?: DocumentClient;
  /**
   * Time for which a response is replayed, in hours, keyed by scope. `default` applies to all other scopes. The scope
   * `events`, used for consumers, must be at least 672.
   * @default 24 hours; 720 hours for `events`
   */
  readonly retentionHours?: Readonly<Record<string, number>>;
  /**
   * Time for which a claim excludes other owners, in seconds, from 1 to 3,600. The claim is renewed while the handler
   * runs, so another owner takes over its work only if the process crashes or is paused for longer than the lease.
   * @default 25
   */
  readonly leaseSeconds?: number;
}

export interface IdempotentOptions {
  /** The name of the operation, in lower case with hyphens. It must never change, because records contain it. */
  readonly scope: string;
}

/** An API Gateway handler that responds in the REST API format. */
type LambdaHandler = (event: GatewayEvent) => Promise<GatewayResult>;

export interface Once {
  /**
   * Creates middleware for a Hono route. The handler gets its effect from `c.get('effect')`. Responses with 2xx to 4xx,
   * except 429, are stored and replayed. After 429, 5xx or an exception, nothing is stored except the rows of
   * `writeNow`, and the next request with the same idempotency key runs the handler again.
   *
   * @param caller the authenticated caller, so that no caller gets another caller's response
   * @default '' for routes with one caller
   */
  idempotent(
    options: IdempotentOptions & { readonly caller?: (c: Context) => string },
  ): MiddlewareHandler<{ Variables: OnceVariables }>;
  /** Creates a handler like {@link Once.idempotent}, for a Lambda function behind a REST API. */
  idempotentLambda(
    options: IdempotentOptions & { readonly caller?: (event: GatewayEvent) => string },
    handle: (event: GatewayEvent, effect: Effect) => Promise<Answer>,
  ): LambdaHandler;
  /**
   * Creates a handler for Payonce's events from EventBridge, SQS, Kafka or NATS. An event's writes and its record are
   * committed in one transaction. With SQS, only failed messages are redelivered: the function needs
   * `ReportBatchItemFailures`, and the queue needs a dead-letter queue.
   */
  createEventHandler(consumer: OwnConsumer<TransactItem>): EventHandler;
}

const LONGEST_LEASE_SECONDS = 3_600;

/**
 * Returns the functions with which a service creates routes, Lambda functions and consumers that take effect once.
 *
 * @throws Error when an option is not valid, or when `POWERTOOLS_IDEMPOTENCY_DISABLED` is set
 */
export function createOnce(options: PostgresOnceOptions): PostgresOnce;
export function createOnce(options: OnceOptions): Once;
export function createOnce(options: OnceOptions | PostgresOnceOptions): Once | PostgresOnce {
  return 'postgres' in options ? createPostgresOnce(options) : createTableOnce(options);
}

function createTableOnce({
  table,
  client = documentClient(),
  retentionHours = {},
  leaseSeconds = LEASE_SECONDS,
}: OnceOptions): Once {
  check(leaseSeconds >= 1 && leaseSeconds <= LONGEST_LEASE_SECONDS, 'leaseSeconds', leaseSeconds, 'must be 1 to 3600');
  checkRetention(retentionHours);
  const pacing = { clock: systemClock, entropy: systemEntropy };
  const store = new OwnTable(client, table, pacing);
  const work = { unit: 'a request with a key, or an event', record: 'its record in the table of the service' };
  return idempotently(work, (runner) => {
    const common = { ...pacing, store, runner, digest: systemDigest, retention: retentionHours };
    const tools = { ...common, replays: new ProcessReplayCache() };
    const runOnce = (scope: string, handle: (effect: Effect) => Promise<Answer>) => (call: KeyedCall) =>
      runRequest<TransactItem>(tools, { ...call, scope, leaseSeconds, handle });
    return {
      idempotent: ({ scope, caller = () => '' }) => {
        checkScope(scope);
        return async (c, next) => {
          const run = runOnce(scope, async (effect) => {
            c.set('effect', effect);
            await next();
            if (c.error !== undefined) throw c.error;
            return answerOf(c.res);
          });
          const answer = await answerOnce(systemDigest, scope, await readHonoRequest(c, caller(c)), run);
          c.res = undefined;
          c.res = responseOf(answer);
        };
      },
      idempotentLambda: ({ scope, caller = () => '' }, handle) => {
        checkScope(scope);
        return async (event) => {
          const call = lambdaCall(event, caller(event));
          const run = runOnce(scope, async (effect) => handle(event, effect));
          return gatewayResult(await answerOnce(systemDigest, scope, call, run), call);
        };
      },
      createEventHandler: (consumer) => {
        checkScope(consumer.handler);
        const consumed = { ...common, records: store };
        return eventHandler((event) => consumeInTable(consumed, consumer, event), consumer.park);
      },
    };
  });
}
