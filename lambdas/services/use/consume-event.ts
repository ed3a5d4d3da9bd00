import { retentionHours } from '../../kernel/contract/retention.ts';
import type { Digest } from '../../kernel/digest.ts';
import { TerminalError } from '../../kernel/faults.ts';
import type { Clock, Entropy } from '../../kernel/world.ts';
import { type ExpiryOptions, expirySeconds } from '../../once/domain/idempotency.ts';
import { consumerOperation } from '../../once/ids.ts';
import { refuseTooOld, TOO_OLD } from '../../once/use/consume-event.ts';
import { commitOnce } from '../../once/use/execute-once.ts';
import type { OperationRunner } from '../../once/use/operation-runner.ts';
import { serviceOperation } from '../ids.ts';
import type { ConsumedRecords, OwnWrite } from './own-records.ts';
import type { TransactionEffect } from './own-transactions.ts';
import { type TransactionTools, writeOnce } from './run-in-transaction.ts';

/** An event on Payonce's bus. `event.data.object` is its payment, refund, dispute or order. */
export interface BusEvent {
  readonly tenant: string;
  readonly mode: 'test' | 'live';
  /** Unix milliseconds. */
  readonly occurredAtMs: number;
  readonly event: { readonly id: string; readonly type: string; readonly data: { readonly object: unknown } };
}

/**
 * Thrown for a message that is not a Payonce event, or whose type or version the consumer does not handle. No retry can
 * process it.
 */
export class UnreadableEvent extends Error {
  override readonly name = 'UnreadableEvent';
}

const KEY_EMPTY = 'business_key_empty';

/** Once the cause of any other fault is removed, for example a missing table, a retry can succeed. */
export function isUnprocessable(error: unknown): error is Error {
  if (error instanceof UnreadableEvent) return true;
  return error instanceof TerminalError && (error.code === TOO_OLD || error.code === KEY_EMPTY);
}

/** A Kafka or NATS message that no retry can process. */
export interface ParkedMessage {
  readonly transport: 'kafka' | 'nats';
  readonly text: string;
  readonly reason: string;
}

/** The message is acknowledged after this function has returned. */
export type Park = (message: ParkedMessage) => Promise<void>;

interface NamedConsumer {
  /** The handler name, in lower case with hyphens. It must never change, because records contain it. */
  readonly handler: string;
  /**
   * Returns the business key, for example the order id. Each key takes effect only once, because its record never
   * expires. An event whose key is empty fails.
   * @default the event id, whose record is kept for the retention of the scope `events`
   */
  readonly key?: (event: BusEvent) => string;
  /**
   * Stores a Kafka or NATS message that no retry can process: it is not an event for this consumer, is too old, or its
   * business key is empty.
   * @default none: the message fails at every redelivery
   */
  readonly park?: Park;
}

export interface OwnConsumer<Write extends OwnWrite> extends NamedConsumer {
  /** Returns the writes of an event, at most 99. Called again when the condition of a write fails. */
  readonly handle: (event: BusEvent) => Promise<readonly Write[]>;
}

export interface TransactionConsumer<Tx> extends NamedConsumer {
  /**
   * Writes the rows of an event through `tx`. Called again when the transaction was rolled back because of a conflict
   * or a lost connection.
   */
  readonly handle: (event: BusEvent, effect: TransactionEffect<Tx>) => Promise<void>;
}

interface ConsumerTools extends Pick<ExpiryOptions, 'retention'> {
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly digest: Digest;
}

export interface TableConsumerTools extends ConsumerTools {
  readonly records: ConsumedRecords;
  readonly runner: OperationRunner;
}

export async function consumeInTable<Write extends OwnWrite>(
  tools: TableConsumerTools,
  consumer: OwnConsumer<Write>,
  event: BusEvent,
): Promise<void> {
  const { records, runner } = tools;
  const { handle } = consumer;
  const { operationId, expiry } = effectOf(tools, consumer, event);
  await commitOnce<readonly Write[], true>(runner, {
    operationId,
    find: async () => (await records.isRecorded(operationId)) || undefined,
    prepare: () => handle(event),
    write: async (writes) => {
      const record = { operationId, owner: tools.entropy.ownerToken(), recordedAtMs: tools.clock.nowMs(), ...expiry };
      const outcome = await records.recordEffect(record, writes);
      return outcome === 'refused' ? { kind: 'again', prepared: await handle(event) } : { kind: 'done', outcome: true };
    },
  });
}

/** A concurrent delivery of the event waits. */
export async function consumeInTransaction<Tx>(
  tools: ConsumerTools & TransactionTools<Tx>,
  consumer: TransactionConsumer<Tx>,
  event: BusEvent,
): Promise<void> {
  const { operationId, key, expiry } = effectOf(tools, consumer, event);
  const written = { owner: tools.entropy.ownerToken(), recordedAtMs: tools.clock.nowMs() };
  const record = { operationId, scope: consumer.handler, key, ...written, ...expiry };
  await writeOnce(tools, record, async (_transaction, effect) => {
    await consumer.handle(event, effect);
    return true;
  });
}

/** @throws TerminalError `business_key_empty`, or for a consumer without business keys the error of `refuseTooOld` */
function effectOf(tools: ConsumerTools, { handler, key: keyOf }: NamedConsumer, event: BusEvent) {
  const { digest, clock, retention } = tools;
  if (keyOf !== undefined) {
    // All events with an empty key would have one record, and only the first of them would take effect.
    const key: unknown = keyOf(event);
    if (typeof key !== 'string' || key === '')
      throw new TerminalError(KEY_EMPTY, `the business key of ${handler} is empty for ${event.event.id}`);
    const operationId = serviceOperation(digest, ['consumer', handler, event.tenant, event.mode, key]);
    return { operationId, key, expiry: {} };
  }
  const nowMs = clock.nowMs();
  refuseTooOld(event, retentionHours('events', retention), nowMs);
  const key = event.event.id;
  const expiry = { expiresAtSeconds: expirySeconds(tools, 'events', nowMs) };
  return { operationId: consumerOperation(digest, handler, key), key, expiry };
}
