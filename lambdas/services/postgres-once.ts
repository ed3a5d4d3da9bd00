import type { Context, Env } from 'hono';
import type { GatewayEvent, GatewayResult } from '../http/gateway-request.ts';
import { gatewayResult } from '../http/http-answer.ts';
import type { Answer } from '../kernel/answer.ts';
import { systemClock, systemDigest, systemEntropy } from '../kernel/platform/platform.ts';
import { idempotently } from '../once/idempotently.ts';
import { answerOnce, type KeyedCall } from './http/answer-once.ts';
import { answerOf, lambdaCall, readHonoRequest, responseOf } from './http/calls.ts';
import { type EventHandler, eventHandler } from './http/event-deliveries.ts';
import { check, checkRetention, checkSchema, checkScope } from './options.ts';
import { OwnDatabase, type Pool, type PoolClient } from './store/own-database.ts';
import { consumeInTransaction, type TransactionConsumer } from './use/consume-event.ts';
import type { TransactionEffect } from './use/own-transactions.ts';
import { runInTransaction } from './use/run-in-transaction.ts';

/** The second argument of a handler. `tx` is a connection of the pool, inside the transaction. */
export type PostgresEffect = TransactionEffect<PoolClient>;

export interface PostgresOnceOptions {
  /** A pool of `pg`. `payonce db migrate --service` creates the table of the records in its database. */
  readonly postgres: Pool;
  /**
   * The schema of the table, as passed to `payonce db migrate --service`. Services that share a database need separate
   * schemas.
   * @default payonce_once
   */
  readonly schema?: string;
  /**
   * Time for which a response is replayed, in hours, keyed by scope. `default` applies to all other scopes. The scope
   * `events`, used for consumers, must be at least 672.
   * @default 24 hours; 720 hours for `events`
   */
  readonly retentionHours?: Readonly<Record<string, number>>;
  /**
   * Time for which a duplicate waits for the first request, and a statement waits for a lock, in seconds, from 1 to
   * 900. After this time, a duplicate gets 409.
   * @default 4
   */
  readonly waitSeconds?: number;
}

/** Options of a route or function. */
interface Operation<Request> {
  /** The name of the operation, in lower case with hyphens. It must never change, because records contain it. */
  readonly scope: string;
  /**
   * Returns the authenticated caller, so that no caller gets another caller's response.
   * @default '' for routes with one caller
   */
  readonly caller?: (request: Request) => string;
}

/**
 * The handlers of a service on PostgreSQL. The rows that a handler writes through `tx`, its record and its response are
 * committed in one transaction. After a conflict or a lost connection, the handler is called again in a new
 * transaction, so it must have no other effect, and it must await nothing but its statements.
 */
export interface PostgresOnce {
  /**
   * Creates the handler of a Hono route. Responses with 2xx to 4xx, except 429, are stored and replayed. After 429, 5xx
   * or an exception, everything is rolled back, and the next request with the same idempotency key runs the handler
   * again.
   */
  idempotent<E extends Env>(
    options: Operation<Context<E>>,
    handle: (c: Context<E>, effect: PostgresEffect) => Promise<Response>,
  ): (c: Context<E>) => Promise<Response>;
  /** Creates a handler like {@link PostgresOnce.idempotent}, for a Lambda function behind a REST API. */
  idempotentLambda(
    options: Operation<GatewayEvent>,
    handle: (event: GatewayEvent, effect: PostgresEffect) => Promise<Answer>,
  ): (event: GatewayEvent) => Promise<GatewayResult>;
  /**
   * Creates a handler for Payonce's events from EventBridge, SQS, Kafka or NATS. With SQS, only failed messages are
   * redelivered: the function needs `ReportBatchItemFailures`, and the queue needs a dead-letter queue.
   */
  createEventHandler(consumer: TransactionConsumer<PoolClient>): EventHandler;
  /**
   * Deletes records and local vendor keys an hour after the end of their retention, at most 100,000 of each. Call it
   * once a day. Until the deletion, a request with an expired key is refused; afterwards, such a request would run
   * again.
   *
   * @returns the number of deleted rows
   */
  readonly deleteExpired: () => Promise<number>;
}

const LONGEST_WAIT_SECONDS = 900;
const DELETED_AT_ONCE = 1_000;
const MAX_DELETIONS = 100;
/**
 * Time between the end of a retention and the deletion, in milliseconds, because clocks differ: the process that wrote
 * the expiry may have a slow clock, and this process a fast one.
 */
const CLOCK_MARGIN_MS = 60 * 60_000;

export function createPostgresOnce({
  postgres,
  schema,
  retentionHours = {},
  waitSeconds,
}: PostgresOnceOptions): PostgresOnce {
  checkSchema(schema);
  const isWait = waitSeconds === undefined || (waitSeconds >= 1 && waitSeconds <= LONGEST_WAIT_SECONDS);
  check(isWait, 'waitSeconds', waitSeconds, 'must be 1 to 900');
  checkRetention(retentionHours);
  const pacing = { clock: systemClock, entropy: systemEntropy };
  const lockMs = waitSeconds === undefined ? undefined : Math.ceil(waitSeconds * 1_000);
  const transactions = new OwnDatabase(postgres, { schema, lockMs }, pacing);
  const work = { unit: 'a request with a key, or an event', record: 'its row, in the transaction of its effect' };
  return idempotently(work, (runner) => {
    const tools = { ...pacing, transactions, runner, digest: systemDigest, retention: retentionHours };
    const runOnce = (scope: string, handle: (effect: PostgresEffect) => Promise<Answer>) => (call: KeyedCall) =>
      runInTransaction(tools, { ...call, scope, handle });
    return {
      idempotent: <E extends Env>(
        { scope, caller = () => '' }: Operation<Context<E>>,
        handle: (c: Context<E>, effect: PostgresEffect) => Promise<Response>,
      ) => {
        checkScope(scope);
        return async (c: Context<E>) => {
          const run = runOnce(scope, async (effect) => answerOf(await handle(c, effect)));
          return responseOf(await answerOnce(systemDigest, scope, await readHonoRequest(c, caller(c)), run));
        };
      },
      idempotentLambda: ({ scope, caller = () => '' }, handle) => {
        checkScope(scope);
        return async (event) => {
          const call = lambdaCall(event, caller(event));
          const run = runOnce(scope, (effect) => handle(event, effect));
          return gatewayResult(await answerOnce(systemDigest, scope, call, run), call);
        };
      },
      createEventHandler: (consumer) => {
        checkScope(consumer.handler);
        return eventHandler((event) => consumeInTransaction(tools, consumer, event), consumer.park);
      },
      deleteExpired: async () => {
        const beforeMs = systemClock.nowMs() - CLOCK_MARGIN_MS;
        let deleted = 0;
        for (let part = 0; part < MAX_DELETIONS; part += 1) {
          const more = await transactions.deleteExpired(beforeMs, DELETED_AT_ONCE);
          deleted += more;
          if (more === 0) break;
        }
        return deleted;
      },
    };
  });
}
