import type { Digest } from '../../kernel/digest.ts';
import { businessOperation, consumerOperation, type Mode, type OperationId, type TenantId } from '../../kernel/ids.ts';
import { invariant } from '../../kernel/invariant.ts';
import { type EffectRecord, effectExpirySeconds } from '../domain/idempotency.ts';
import type { ConsumerEffects, ConsumerWrite } from './consumer-records.ts';
import { MAX_CONSUMER_WRITES } from './consumer-records.ts';
import { type CompleteTools, type Consumed, commitOnce, completeOnce, type OutsideCall } from './execute-once.ts';

/** What every event says for itself, whatever it tells of. */
export interface ConsumableEvent {
  readonly tenant: TenantId;
  readonly mode: Mode;
  /** The same however often it is delivered. */
  readonly event: { readonly id: string };
}

export interface ConsumeTools extends CompleteTools {
  readonly records: CompleteTools['records'] & ConsumerEffects;
  readonly digest: Digest;
}

/** Where an event takes effect, and how. */
export type Handle<Event> =
  | { readonly kind: 'in_our_tables'; readonly writes: (event: Event) => Promise<readonly ConsumerWrite[]> }
  | { readonly kind: 'outside'; readonly call: (event: Event, call: OutsideCall) => Promise<void> };

/**
 * The effect is rows of ours, at most 99: they are written together with the record that says so.
 *
 * @param writes may read; is asked again when a condition did not hold
 */
export function inOurTables<Event>(writes: (event: Event) => Promise<readonly ConsumerWrite[]>): Handle<Event> {
  return { kind: 'in_our_tables', writes };
}

/**
 * The effect is elsewhere: claim, call, commit. A call that threw is made again by the next delivery, and one whose
 * process died when its lease has ended, so it must be idempotent by the operation id that it is given.
 */
export function outside<Event>(call: (event: Event, call: OutsideCall) => Promise<void>): Handle<Event> {
  return { kind: 'outside', call };
}

export interface Consumer<Event extends ConsumableEvent> {
  /** Its name, for ever: effects are remembered under it. */
  readonly handler: string;
  /**
   * What the effect is for in the business, as `commission:<order>`: one effect for each, per tenant and mode, however
   * many events ask for it, and however late. @default the event's id, remembered for thirty days
   */
  readonly key?: (event: Event) => string;
  readonly handle: Handle<Event>;
}

/**
 * Lets an event take effect once at one consumer.
 *
 * @throws whatever the handler throws; RetryableError and AmbiguousError of the store: the event must come again
 */
export async function consumeEvent<Event extends ConsumableEvent>(
  tools: ConsumeTools,
  consumer: Consumer<Event>,
  event: Event,
): Promise<Consumed> {
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
      invariant(writes.length <= MAX_CONSUMER_WRITES, `${consumer.handler} asks for ${writes.length} writes`);
      const outcome = await tools.records.recordOnce(record(), writes);
      if (outcome.kind === 'recorded') return { kind: 'done', outcome: { kind: 'done' } };
      if (outcome.kind === 'recorded_before') return { kind: 'done', outcome: { kind: 'done_before' } };
      const left = withoutRefused(writes, new Set(outcome.writes));
      return { kind: 'again', prepared: left ?? (await handle.writes(event)) };
    },
  });
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

/** What both ways remember; a business key is never forgotten, because weeks later nothing else would refuse. */
function recordOf<Event extends ConsumableEvent>(
  { clock, entropy }: ConsumeTools,
  { key }: Consumer<Event>,
  operationId: OperationId,
): EffectRecord {
  const recordedAtMs = clock.nowMs();
  return {
    operationId,
    owner: entropy.ownerToken(),
    recordedAtMs,
    ...(key === undefined ? { expiresAtSeconds: effectExpirySeconds(recordedAtMs, entropy.fraction()) } : {}),
  };
}

/** What is left to write; undefined when the handler must look again. */
function withoutRefused(
  writes: readonly ConsumerWrite[],
  refused: ReadonlySet<number>,
): readonly ConsumerWrite[] | undefined {
  const inTheWay = writes.filter((_, index) => refused.has(index));
  if (inTheWay.some(({ otherwise }) => otherwise === 'skip_all')) return [];
  const pointless = inTheWay.every(({ otherwise }) => otherwise === 'skip');
  return pointless ? writes.filter((_, index) => !refused.has(index)) : undefined;
}
