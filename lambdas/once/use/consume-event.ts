import { CONSUMER_LEASE_SECONDS } from '../../kernel/contract/events.ts';
import type { Digest } from '../../kernel/digest.ts';
import { RetryableError } from '../../kernel/faults.ts';
import { businessOperation, consumerOperation, type Mode, type OperationId, type TenantId } from '../../kernel/ids.ts';
import { invariant } from '../../kernel/invariant.ts';
import type { Clock, Entropy } from '../../kernel/world.ts';
import type { Consumption, OpenConsumption } from '../domain/consumption.ts';
import { isUnderWay } from '../domain/consumption.ts';
import { type EffectRecord, effectExpirySeconds } from '../domain/idempotency.ts';
import type { ConsumerClaims, ConsumerEffects, ConsumerWrite } from './consumer-records.ts';
import { MAX_CONSUMER_WRITES } from './consumer-records.ts';
import type { ClaimStep, EffectSteps, OperationRunner, OperationSteps } from './operation-runner.ts';

/** What every event says for itself, whatever it tells of. */
export interface ConsumableEvent {
  readonly tenant: TenantId;
  readonly mode: Mode;
  /** The same however often it is delivered. */
  readonly event: { readonly id: string };
}

export interface ConsumeTools {
  readonly records: ConsumerEffects & ConsumerClaims;
  readonly runner: OperationRunner;
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly digest: Digest;
}

/** What a call outside must carry, so that one that is made again takes effect once. */
export interface OutsideCall {
  /** The same on every attempt, for ever: the key at the vendor. */
  readonly operationId: OperationId;
  /** 1 for the first; of a later one, an earlier one may have reached its goal. */
  readonly attempt: number;
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

export type Consumed =
  | { readonly kind: 'done' }
  | { readonly kind: 'done_before' }
  /** Another delivery is at it; this one must come again. */
  | { readonly kind: 'busy' };

/** Races are decided again this often before the event has to come again. */
const MAX_ROUNDS = 5;

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
  const { handle } = consumer;
  switch (handle.kind) {
    case 'in_our_tables':
      return tools.runner.record(operationId, new TableRun(tools, consumer, event, operationId, handle.writes));
    case 'outside':
      return tools.runner.run(operationId, new OutsideRun(tools, consumer, event, operationId, handle.call));
  }
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

/** Commit-only: there is nothing to claim, because record and effect are one write. */
class TableRun<Event extends ConsumableEvent> implements EffectSteps<readonly ConsumerWrite[], Consumed> {
  readonly #tools: ConsumeTools;
  readonly #consumer: Consumer<Event>;
  readonly #event: Event;
  readonly #operationId: OperationId;
  readonly #writes: (event: Event) => Promise<readonly ConsumerWrite[]>;

  constructor(
    tools: ConsumeTools,
    consumer: Consumer<Event>,
    event: Event,
    operationId: OperationId,
    writes: (event: Event) => Promise<readonly ConsumerWrite[]>,
  ) {
    this.#tools = tools;
    this.#consumer = consumer;
    this.#event = event;
    this.#operationId = operationId;
    this.#writes = writes;
  }

  async find(): Promise<Consumed | undefined> {
    const record = await this.#tools.records.readEffect(this.#operationId);
    return record === undefined ? undefined : { kind: 'done_before' };
  }

  prepare(): Promise<readonly ConsumerWrite[]> {
    return this.#writes(this.#event);
  }

  /**
   * Two deliveries at once: both have prepared the same rows, and one transaction finds the other's record.
   *
   *   A ── find ── prepare ── record ✓ rows ✓
   *   B ──── find ── prepare ──── record ✗: done before
   */
  async commit(prepared: readonly ConsumerWrite[]): Promise<Consumed> {
    const record = recordOf(this.#tools, this.#consumer, this.#operationId);
    let writes = prepared;
    for (let round = 0; round < MAX_ROUNDS; round += 1) {
      invariant(writes.length <= MAX_CONSUMER_WRITES, `${this.#consumer.handler} asks for ${writes.length} writes`);
      const outcome = await this.#tools.records.recordOnce(record, writes);
      if (outcome.kind === 'recorded') return { kind: 'done' };
      if (outcome.kind === 'recorded_before') return { kind: 'done_before' };
      writes = withoutRefused(writes, new Set(outcome.writes)) ?? (await this.#writes(this.#event));
    }
    throw new RetryableError('contention', 'too many rivals at once for these rows', { retryAfterSeconds: 1 });
  }
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

/** Claim, call, commit. */
class OutsideRun<Event extends ConsumableEvent> implements OperationSteps<true, Consumed> {
  readonly #tools: ConsumeTools;
  readonly #consumer: Consumer<Event>;
  readonly #event: Event;
  readonly #call: (event: Event, call: OutsideCall) => Promise<void>;
  #pending: OpenConsumption;

  constructor(
    tools: ConsumeTools,
    consumer: Consumer<Event>,
    event: Event,
    operationId: OperationId,
    call: (event: Event, call: OutsideCall) => Promise<void>,
  ) {
    this.#tools = tools;
    this.#consumer = consumer;
    this.#event = event;
    this.#call = call;
    const claimedAtMs = tools.clock.nowMs();
    this.#pending = {
      status: 'pending',
      operationId,
      owner: tools.entropy.ownerToken(),
      attempt: 1,
      claimedAtMs,
      leaseExpiresAtMs: claimedAtMs + CONSUMER_LEASE_SECONDS * 1000,
    };
  }

  /**
   * Of two that find the same stale claim one gets it, because it is replaced only while it is the one that was read.
   *
   *   A ── claim ✓ ── call ── ✗ (dies)
   *   B ──────────────── claim ✗ (A's, stale) ── replace A's ✓ ── call
   *   C ───────────────────── claim ✗ (A's, stale) ── replace A's ✗: busy
   */
  async claim(): Promise<ClaimStep<Consumed>> {
    const { records, clock } = this.#tools;
    const first = await records.claim(this.#pending);
    if (first.kind === 'claimed') return first;
    const blocked = refusal(first.found, clock.nowMs());
    if (blocked !== undefined || first.found === undefined || first.found.status === 'completed') {
      return { kind: 'refused', outcome: blocked ?? { kind: 'busy' } };
    }
    this.#pending = { ...this.#pending, attempt: first.found.attempt + 1 };
    const second = await records.claim(this.#pending, first.found);
    if (second.kind === 'claimed') return second;
    return { kind: 'refused', outcome: refusal(second.found, clock.nowMs()) ?? { kind: 'busy' } };
  }

  async execute(): Promise<true> {
    const { operationId, attempt } = this.#pending;
    await this.#call(this.#event, { operationId, attempt });
    return true;
  }

  /** Fenced: who took over in the meantime makes the same call with the same key, and says himself that it is done. */
  async commit(): Promise<Consumed> {
    const record = recordOf(this.#tools, this.#consumer, this.#pending.operationId);
    const completed = await this.#tools.records.complete({ ...record, owner: this.#pending.owner });
    return completed ? { kind: 'done' } : { kind: 'busy' };
  }

  async release(): Promise<void> {
    // Where this is lost, the lease lets the next delivery in.
    await this.#tools.records.fail(this.#pending).catch(() => undefined);
  }
}

function refusal(found: Consumption | undefined, nowMs: number): Consumed | undefined {
  if (found?.status === 'completed') return { kind: 'done_before' };
  return found !== undefined && isUnderWay(found, nowMs) ? { kind: 'busy' } : undefined;
}
