import { eventOf, type PaymentEvent } from '../../lambdas/events/domain/event.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import {
  type Consumer,
  type ConsumeTools,
  consumeEvent,
  inOwnTables,
  outside,
} from '../../lambdas/once/use/consume-event.ts';
import type { ConsumerClaims, ConsumerEffects, ConsumerWrite } from '../../lambdas/once/use/consumer-records.ts';
import { type Consumed } from '../../lambdas/once/use/execute-once.ts';
import { detailsOf } from '../../lambdas/payments/domain/transition.ts';
import { outcomeTransition, paymentIdFor, pendingTransition } from '../payments/payment-fixtures.ts';
import { Actor, type FaultPlan } from '../support/fault-plan.ts';
import { PORT_ERRORS, portWithFaults } from '../support/faulty-ports.ts';
import { World } from '../world/world.ts';

type Records = ConsumerEffects & ConsumerClaims;
export const RECORD_CALLS = ['readEffect', 'recordOnce', 'claim', 'complete', 'fail'] as const;

export interface StoredRecords {
  readonly recordsFor: (actor: Actor) => Records;
  /** Counts the rows of an event in the store itself. */
  readonly rowsOf: (eventId: string) => Promise<number>;
}

/** Consumes an event in one process, as the engine does or in a faulty way that the histories must detect. */
export type Consume = (actor: Actor, event: PaymentEvent, world: ConsumerWorld) => Promise<Consumed>;

/** Longer than a lease. */
const VISIBILITY_MS = 180_000;

/** The external system remembers its effects by idempotency key. */
export class ConsumerWorld extends World {
  /** Keyed by idempotency key. A call with a known key has no second effect. */
  readonly outside = new Map<string, string>();
  readonly #stored: StoredRecords | undefined;
  #written = 0;

  constructor(stored?: StoredRecords) {
    super();
    this.#stored = stored;
  }

  /** Returns a different row on each call, so that only the record can prevent a second write. */
  entry({ event }: PaymentEvent): ConsumerWrite {
    this.#written += 1;
    const row = { table: 'views', partition: `TEST#${event.id}`, sort: `E#${this.#written}` } as const;
    return { kind: 'put', row, attributes: { event: event.id } };
  }

  async callOutside(actor: Actor, key: string, { event }: PaymentEvent): Promise<void> {
    await actor.call('outside', PORT_ERRORS, async () => {
      if (!this.outside.has(key)) this.outside.set(key, event.id);
    });
  }

  consumeTools(actor: Actor): ConsumeTools {
    const { clock, entropy } = this;
    const records = this.#stored?.recordsFor(actor) ?? portWithFaults(actor, this.store.consumed, ...RECORD_CALLS);
    return { records, runner: idempotentRunner, clock, entropy, digest: systemDigest };
  }

  async effects({ event }: PaymentEvent): Promise<{ readonly rows: number; readonly calls: number }> {
    const calls = [...this.outside.values()].filter((id) => id === event.id).length;
    const memory = () => this.store.allRows().filter((row) => row['event'] === event.id).length;
    return { rows: (await this.#stored?.rowsOf(event.id)) ?? memory(), calls };
  }
}

export const tableEffect: Consume = (actor, event, world) => {
  const handle = inOwnTables<PaymentEvent>(async (each) => [world.entry(each)]);
  return consumeEvent(world.consumeTools(actor), { handler: 'entries', handle }, event);
};

export const outsideEffect: Consume = (actor, event, world) => {
  const handle = outside<PaymentEvent>((each, { operationId }) => world.callOutside(actor, operationId, each));
  const consumer: Consumer<PaymentEvent> = { handler: 'letters', handle };
  return consumeEvent(world.consumeTools(actor), consumer, event);
};

/** Faulty variant of `tableEffect`: it checks for an earlier effect, acts, and records in three separate calls. */
export const naiveInTables: Consume = async (actor, event, world) => {
  const { records } = world.consumeTools(actor);
  const operationId = systemOperation(`naive:${event.event.id}`);
  if ((await records.readEffect(operationId)) !== undefined) return { kind: 'done_before' };
  const record = { owner: world.entropy.ownerToken(), recordedAtMs: world.clock.nowMs() };
  await records.recordOnce({ ...record, operationId: systemOperation(crypto.randomUUID()) }, [world.entry(event)]);
  await records.recordOnce({ ...record, operationId }, []);
  return { kind: 'done' };
};

/**
 * Faulty variant of `outsideEffect`: three separate calls as above, and a new key for each call to the external system.
 */
export const naiveOutside: Consume = async (actor, event, world) => {
  const { records } = world.consumeTools(actor);
  const operationId = systemOperation(`naive:${event.event.id}`);
  if ((await records.readEffect(operationId)) !== undefined) return { kind: 'done_before' };
  await world.callOutside(actor, crypto.randomUUID(), event);
  const record = { operationId, owner: world.entropy.ownerToken(), recordedAtMs: world.clock.nowMs() };
  await records.recordOnce(record, []);
  return { kind: 'done' };
};

const systemOperation = (text: string) => `con_${text}` as Parameters<ConsumerEffects['readEffect']>[0];

export function paidEvent(key = 'consumer'): PaymentEvent {
  const first = pendingTransition(paymentIdFor(key));
  return eventOf(systemDigest, outcomeTransition(first, { kind: 'succeeded', chargeId: 'ch_1' }), detailsOf(first));
}

interface Delivery {
  readonly acknowledged: boolean;
}

/** Each delivery goes to a new process. */
export async function deliver(
  how: Consume,
  name: string,
  plan: FaultPlan,
  event: PaymentEvent,
  world: ConsumerWorld,
): Promise<Delivery> {
  const actor = new Actor(name, plan);
  try {
    const { kind } = await how(actor, event, world);
    if (!actor.crashed && kind !== 'busy') return { acknowledged: true };
  } catch {
    // The delivery failed, so the message is not acknowledged.
  }
  world.clock.advance(VISIBILITY_MS);
  return { acknowledged: false };
}
