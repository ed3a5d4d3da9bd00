import { eventOf } from '../../lambdas/events/domain/event.ts';
import type { EventPublisher } from '../../lambdas/events/use/event-publisher.ts';
import type { Parking, StreamRecord } from '../../lambdas/events/use/ledger-stream.ts';
import {
  type Accepted,
  type Relayed,
  type RelayTools,
  relayTransitions,
} from '../../lambdas/events/use/relay-transitions.ts';
import { isFault } from '../../lambdas/kernel/faults.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { ProcessRecords } from '../../lambdas/once/process-records.ts';
import { isOutcome } from '../../lambdas/payments/domain/payment.ts';
import { detailsOf, type Transition } from '../../lambdas/payments/domain/transition.ts';
import { outcomeTransition, paymentIdFor, pendingTransition } from '../payments/payment-fixtures.ts';
import { type Actor, Crash } from '../support/fault-plan.ts';
import { portWithFaults } from '../support/faulty-ports.ts';
import { World } from '../world/world.ts';
import { MemoryEventBus } from './memory-event-bus.ts';

export type Relay = (tools: RelayTools, records: readonly StreamRecord[]) => Promise<Relayed>;

/** The Stream has more records. */
const BATCH = 3;
/** Counts the deliveries of all batches together. */
const MAX_TRIES = 20;

export class RelayHarness extends World {
  readonly bus = new MemoryEventBus();
  readonly parked: { readonly body: string; readonly reason: string; readonly detail: string }[] = [];
  /** Each alarm is the metric and the payment. */
  readonly alarms: string[] = [];
  readonly ledger: readonly Transition[];
  readonly records: StreamRecord[];
  readonly #how: Relay;
  readonly #parking: Parking = { park: async (one) => void this.parked.push(one) };
  #relayed = new ProcessRecords<Accepted>();
  #alarmed = new ProcessRecords<true>();

  constructor(transitions: readonly Transition[] = chains(2), how: Relay = relayTransitions) {
    super();
    this.ledger = transitions;
    void this.store.write(transitions);
    this.records = transitions.map(recordOf);
    this.#how = how;
  }

  get expected(): readonly string[] {
    return this.ledger.flatMap((transition) => {
      const first = this.ledger.find(({ payment, sequence }) => payment.id === transition.payment.id && sequence === 1);
      if (!isOutcome(transition.type) || first === undefined) return [];
      return [eventOf(systemDigest, transition, detailsOf(first)).event.id];
    });
  }

  get publishedIds(): readonly string[] {
    return this.bus.published.map(({ event }) => event.id);
  }

  /** The next batch is processed without memory of earlier batches. */
  restart(): void {
    this.#relayed = new ProcessRecords();
    this.#alarmed = new ProcessRecords();
  }

  relay(records: readonly StreamRecord[] = this.records, actor?: Actor): Promise<Relayed> {
    const all = this.store.ledger;
    if (actor === undefined) return this.relayWith({}, records);
    return this.relayWith(
      {
        publisher: portWithFaults(actor, this.bus as EventPublisher, 'publish'),
        transitions: portWithFaults(actor, all as RelayTools['transitions'], 'readTransition', 'readOrderTransition'),
        parking: portWithFaults(actor, this.#parking, 'park'),
      },
      records,
    );
  }

  relayWith(changes: Partial<RelayTools>, records: readonly StreamRecord[] = this.records): Promise<Relayed> {
    const tools = {
      ...this.tools,
      relayed: this.#relayed,
      alarmed: this.#alarmed,
      alarm: (what: string, about: string) => void this.alarms.push(`${what} ${about}`),
      publisher: this.bus,
      transitions: this.store.ledger,
      parking: this.#parking,
    };
    return this.#how({ ...tools, ...changes }, records);
  }

  /** Reads the Stream as Lambda does. */
  async pump(actors: () => Actor): Promise<void> {
    let at = 0;
    for (let tries = 0; at < this.records.length && tries < MAX_TRIES; tries += 1) {
      const batch = this.records.slice(at, at + BATCH);
      const actor = actors();
      try {
        const { redeliverFrom } = await this.relay(batch, actor);
        if (actor.crashed) {
          this.restart();
          continue;
        }
        const failed = batch.findIndex(({ position }) => position === redeliverFrom);
        at += failed === -1 ? batch.length : failed;
      } catch (error) {
        if (!(error instanceof Crash) && !isFault(error)) throw error;
        if (error instanceof Crash) this.restart();
      }
    }
  }
}

export function chains(payments: number): readonly Transition[] {
  const firsts = Array.from({ length: payments }, (_, index) => pendingTransition(paymentIdFor(`relay-${index}`)));
  return [...firsts, ...firsts.map((first) => outcomeTransition(first, { kind: 'succeeded', chargeId: 'ch_1' }))];
}

function recordOf(transition: Transition, index: number): StreamRecord {
  const kind = !isOutcome(transition.type);
  return {
    position: String(1_000 + index),
    whole: JSON.stringify({ record: index }),
    content: kind ? { kind: 'no_event' } : { kind: 'transition', transition },
  };
}
