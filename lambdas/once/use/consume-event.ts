import { retentionHours } from '../../kernel/contract/retention.ts';
import type { Digest } from '../../kernel/digest.ts';
import { TerminalError } from '../../kernel/faults.ts';
import type { Mode, OperationId, TenantId } from '../../kernel/ids.ts';
import { invariant } from '../../kernel/invariant.ts';
import { type EffectRecord, type ExpiryOptions, expirySeconds } from '../domain/idempotency.ts';
import { businessOperation, consumerOperation } from '../ids.ts';
import type { ConsumerEffects, ConsumerWrite } from './consumer-records.ts';
import { MAX_CONSUMER_WRITES } from './consumer-records.ts';
import { type CompleteTools, type Consumed, commitOnce, completeOnce, type ExternalCall } from './execute-once.ts';

export interface ConsumableEvent {
  readonly tenant: TenantId;
  readonly mode: Mode;
  /** Every record of the event is written after this time. */
  readonly occurredAtMs: number;
  /** The id is the same for every delivery. */
  readonly event: { readonly id: string };
}

export interface ConsumeTools extends CompleteTools, Pick<ExpiryOptions, 'retention'> {
  readonly records: CompleteTools['records'] & ConsumerEffects;
  readonly digest: Digest;
}

export type Handle<Event> =
  | { readonly kind: 'in_our_tables'; readonly writes: (event: Event) => Promise<readonly ConsumerWrite[]> }
  | { readonly kind: 'outside'; readonly call: (event: Event, call: ExternalCall) => Promise<void> };

/**
 * At most 99 rows, which are written in one transaction with the effect record.
 *
 * @param writes may read tables; called again when the condition of a write is false, unless `otherwise` skips this
 * write
 */
export function inOwnTables<Event>(writes: (event: Event) => Promise<readonly ConsumerWrite[]>): Handle<Event> {
  return { kind: 'in_our_tables', writes };
}

/**
 * If the call throws, the next delivery retries it. If the process crashes, the first delivery after the claim's lease
 * has ended retries the call. A repeated call with the same operation id must therefore have no second effect.
 */
export function outside<Event>(call: (event: Event, call: ExternalCall) => Promise<void>): Handle<Event> {
  return { kind: 'outside', call };
}

export interface Consumer<Event extends ConsumableEvent> {
  /** Must never change, because the ids of the consumer's operations are derived from it. */
  readonly handler: string;
  /**
   * Returns the business key, for example `commission:<order>`. All events with the same key together take effect once
   * per tenant and mode, no matter how much later they arrive. @default the event's id, whose record is kept for 30
   * days or the retention set for `events`
   */
  readonly key?: (event: Event) => string;
  readonly handle: Handle<Event>;
}

/**
 * @throws the errors from the handler; RetryableError and AmbiguousError from the store: the event must be delivered
 * again
 * @throws TerminalError `event_too_old` for an event that {@link refuseTooOld} refuses. Only if the consumer has no
 * business key.
 */
export async function consumeEvent<Event extends ConsumableEvent>(
  tools: ConsumeTools,
  consumer: Consumer<Event>,
  event: Event,
): Promise<Consumed> {
  if (consumer.key === undefined) refuseTooOld(event, retentionHours('events', tools.retention), tools.clock.nowMs());
  const operationId = operationOf(tools.digest, consumer, event);
  const record = (): EffectRecord => recordOf(tools, consumer, operationId);
  const { handle } = consumer;
  if (handle.kind === 'outside') {
    return completeOnce(tools, operationId, (call) => handle.call(event, call), record);
  }
  return commitOnce<readonly ConsumerWrite[], Consumed>(tools.runner, {
    operationId,
    find: async () =>
      (await tools.records.readEffect(operationId)) === undefined ? undefined : { kind: 'done_before' },
    prepare: () => handle.writes(event),
    write: async (writes) => {
      invariant(writes.length <= MAX_CONSUMER_WRITES, `${consumer.handler} requests too many writes: ${writes.length}`);
      const outcome = await tools.records.recordOnce(record(), writes);
      if (outcome.kind === 'recorded') return { kind: 'done', outcome: { kind: 'done' } };
      if (outcome.kind === 'recorded_before') return { kind: 'done', outcome: { kind: 'done_before' } };
      const left = withoutRefused(writes, new Set(outcome.writes));
      return { kind: 'again', prepared: left ?? (await handle.writes(event)) };
    },
  });
}

const HOUR_MS = 60 * 60_000;
export const TOO_OLD = 'event_too_old';

/**
 * Refuses an event that could take effect twice, because the record of an earlier delivery may have expired. Events can
 * be of any age, because a failing message can be redriven without limit. An event is refused from an hour before the
 * retention of the record ends, because clocks differ.
 *
 * @param keptHours minimum retention of the record
 * @throws TerminalError `event_too_old`
 */
export function refuseTooOld(
  { event, occurredAtMs }: Pick<ConsumableEvent, 'event' | 'occurredAtMs'>,
  keptHours: number,
  nowMs: number,
): void {
  const oldestHours = keptHours - 1;
  if (nowMs - occurredAtMs < oldestHours * HOUR_MS) return;
  throw new TerminalError(
    TOO_OLD,
    `${event.id} is at least ${oldestHours} hours old: it may have taken effect, and its record may have expired`,
  );
}

function operationOf<Event extends ConsumableEvent>(
  digest: Digest,
  { handler, key }: Consumer<Event>,
  event: Event,
): OperationId {
  if (key === undefined) return consumerOperation(digest, handler, event.event.id);
  const { tenant: tenantId, mode } = event;
  const businessKey = key(event);
  invariant(businessKey !== '', `the business key of ${handler} is empty`);
  return businessOperation(digest, handler, { tenantId, mode, businessKey });
}

/** The record of a business key does not expire, because only this record refuses a later event with the same key. */
function recordOf<Event extends ConsumableEvent>(
  tools: ConsumeTools,
  { key }: Consumer<Event>,
  operationId: OperationId,
): EffectRecord {
  const recordedAtMs = tools.clock.nowMs();
  return {
    operationId,
    owner: tools.entropy.ownerToken(),
    recordedAtMs,
    ...(key === undefined ? { expiresAtSeconds: expirySeconds(tools, 'events', recordedAtMs) } : {}),
  };
}

/** Undefined when the handler must be called again. */
function withoutRefused(
  writes: readonly ConsumerWrite[],
  refused: ReadonlySet<number>,
): readonly ConsumerWrite[] | undefined {
  const conflicting = writes.filter((_, index) => refused.has(index));
  if (conflicting.some(({ otherwise }) => otherwise === 'skip_all')) return [];
  const pointless = conflicting.every(({ otherwise }) => otherwise === 'skip');
  return pointless ? writes.filter((_, index) => !refused.has(index)) : undefined;
}
