import { EventMetric } from '../../kernel/contract/events.ts';
import type { AlarmMetric } from '../../kernel/contract/metrics.ts';
import { defined } from '../../kernel/defined.ts';
import { isFault } from '../../kernel/faults.ts';
import type { OnceInProcess, OperationRunner } from '../../once/use/operation-runner.ts';
import type { OrderTransition } from '../../orders/domain/order-transition.ts';
import type { Transition } from '../../payments/domain/transition.ts';
import type { PayonceEvent } from '../domain/event.ts';
import { relayOperation } from '../ids.ts';
import type { PublishOutcome } from './event-publisher.ts';
import { eventOfOutcome, FirstTransitions, type LedgerEventTools } from './ledger-events.ts';
import type { Parking, StreamRecord } from './ledger-stream.ts';
import { NOT_SENT, type PublishTools, publishAll } from './publish-events.ts';

export interface RelayTools extends PublishTools, LedgerEventTools {
  readonly parking: Parking;
  readonly runner: OperationRunner;
  /** The events that the bus has accepted. They are not sent again when their batch is redelivered. */
  readonly relayed: OnceInProcess<Accepted>;
  /** The records for which this process has raised the alarm. */
  readonly alarmed: OnceInProcess<true>;
  /** @param about the payment's id */
  readonly alarm: (what: RelayAlarm, about: string) => void;
  readonly report: (error: unknown) => void;
}

/** The alarm for a payment that has gone into review, or that has a new stray charge. */
export type RelayAlarm = typeof EventMetric.toReview | Extract<AlarmMetric, 'late_success'>;

export interface Relayed {
  readonly published: number;
  readonly parked: number;
  /** Number of parked records that report a changed or removed row. */
  readonly tampered: number;
  /**
   * The position of the first record that could not be processed. This record and all later ones must be delivered
   * again.
   */
  readonly redeliverFrom?: string;
  readonly oldestMs?: number;
}

export type Accepted = Extract<PublishOutcome, { kind: 'published' }>;

type Prepared =
  | { readonly kind: 'event'; readonly event: PayonceEvent; readonly trace?: string }
  | { readonly kind: 'no_event' }
  | { readonly kind: 'poison'; readonly reason: ParkingReason; readonly detail: string }
  | { readonly kind: 'not_now' };

type ParkingReason =
  /** The code cannot read this form of record. */
  | 'unreadable'
  /** The first transition of the payment or order is missing. It contains the details that the event needs. */
  | 'first_transition_missing'
  | 'unexpected'
  | 'refused_by_bus'
  /** A row of the Ledger was changed or removed. The parked record contains the old row. */
  | 'ledger_tampered';

/**
 * No record is lost: if a record cannot be processed now, this and all later records are redelivered; if a record can
 * never be processed, the complete record is parked. This process publishes each event once. Another process may
 * publish it again, with the same event id:
 *
 *   batch        1 published ── 2 not now ── 3 published     the Stream redelivers from 2
 *   redelivery                  2 published ── 3 already published
 */
export async function relayTransitions(tools: RelayTools, records: readonly StreamRecord[]): Promise<Relayed> {
  raiseAlarms(tools, records);
  const prepared = await prepareAll(tools, records);
  const stopped = prepared.findIndex(({ kind }) => kind === 'not_now');
  const within = stopped === -1 ? prepared : prepared.slice(0, stopped);

  const events = within.flatMap((each) => (each.kind === 'event' ? [each.event] : []));
  const traces = new Map(
    within.flatMap((each) =>
      each.kind === 'event' && each.trace !== undefined ? [[each.event, each.trace] as const] : [],
    ),
  );
  const publisher = { publish: (some: readonly PayonceEvent[]) => tools.publisher.publish(some, traces) };
  const outcomes = await publishOnce({ ...tools, publisher }, events);
  const counts = { published: 0, parked: 0, tampered: 0 };
  let publishedCount = 0;
  for (const [index, each] of within.entries()) {
    const outcome = each.kind === 'event' ? outcomes[publishedCount++] : undefined;
    const poison =
      outcome?.kind === 'refused' ? { reason: 'refused_by_bus' as const, detail: outcome.code } : poisonOf(each);
    const isDone = outcome?.kind !== 'not_now' && (poison === undefined || (await park(tools, records[index], poison)));
    if (!isDone) return { ...counts, ...redeliverFrom(records, index), ...oldestOf(events) };
    if (poison !== undefined) counts.parked += 1;
    else if (outcome !== undefined) counts.published += 1;
    if (poison?.reason === 'ledger_tampered') counts.tampered += 1;
  }
  return { ...counts, ...redeliverFrom(records, stopped), ...oldestOf(events) };
}

function poisonOf(prepared: Prepared): Extract<Prepared, { kind: 'poison' }> | undefined {
  return prepared.kind === 'poison' ? prepared : undefined;
}

/**
 * Raises the alarms for operators before anything is published, so that neither an outage of the bus nor a parked
 * record delays them. A process raises each alarm once; another process may raise it again.
 */
function raiseAlarms({ alarm, alarmed }: RelayTools, records: readonly StreamRecord[]): void {
  for (const { position, content } of records) {
    const operation = relayOperation(position);
    if (content.kind !== 'transition' || 'order' in content.transition || alarmed.find(operation)) continue;
    const { type, subject, payment } = content.transition;
    const isToReview = type === 'payment.review_required';
    const isLate = subject?.kind === 'stray_charge';
    if (!isToReview && !isLate) continue;
    if (isToReview) alarm(EventMetric.toReview, payment.id);
    if (isLate) alarm('late_success', payment.id);
    alarmed.keep(operation, true);
  }
}

function redeliverFrom(records: readonly StreamRecord[], index: number): Pick<Relayed, 'redeliverFrom'> {
  const record = index === -1 ? undefined : records[index];
  return defined({ redeliverFrom: record?.position });
}

function oldestOf(events: readonly PayonceEvent[]): Pick<Relayed, 'oldestMs'> {
  return events.length === 0 ? {} : { oldestMs: Math.min(...events.map(({ occurredAtMs }) => occurredAtMs)) };
}

/** The events that are new to this process share as few calls as possible. */
function publishOnce(tools: RelayTools, events: readonly PayonceEvent[]): Promise<readonly PublishOutcome[]> {
  const { runner, relayed } = tools;
  const fresh = events.filter(({ event }) => relayed.find(relayOperation(event.id)) === undefined);
  let published: Promise<readonly PublishOutcome[]> | undefined;
  return Promise.all(
    events.map((event) => {
      const operationId = relayOperation(event.event.id);
      return runner.record<undefined, PublishOutcome>(operationId, {
        find: async () => relayed.find(operationId),
        prepare: async () => undefined,
        commit: async () => {
          published ??= publishAll(tools, fresh);
          const outcome = (await published)[fresh.indexOf(event)] ?? NOT_SENT;
          // Do not remember a refusal: the bus may accept the redelivered event after the cause is fixed.
          if (outcome.kind === 'published') relayed.keep(operationId, outcome);
          return outcome;
        },
      });
    }),
  );
}

/**
 * The process does not remember parked records, because a redrive deletes the parked message.
 *
 * @returns whether the record is parked; if not, the Stream delivers it again
 */
async function park(
  { parking, report }: RelayTools,
  record: StreamRecord | undefined,
  { reason, detail }: { readonly reason: ParkingReason; readonly detail: string },
): Promise<boolean> {
  try {
    await parking.park({ body: record?.whole ?? '', reason, detail });
    return true;
  } catch (error) {
    report(error);
    return false;
  }
}

/**
 * Number of records whose payments and orders are read concurrently: a tenth of a batch, so that a failing store gets
 * few reads.
 */
const READ_AT_ONCE = 10;

/**
 * Prepares the records, up to the first that cannot be read now. The reads are concurrent: for a batch full of one
 * tenant's records, a hundred sequential reads would delay the events of all tenants.
 */
async function prepareAll(tools: RelayTools, records: readonly StreamRecord[]): Promise<readonly Prepared[]> {
  const firsts = new FirstTransitions(tools.transitions);
  const prepared: Prepared[] = [];
  while (prepared.length < records.length && prepared.every(({ kind }) => kind !== 'not_now')) {
    // Records of one payment are prepared in sequence, so that the payment's first transition is read once.
    const chains = new Map<string, Promise<unknown>>();
    const next = records.slice(prepared.length, prepared.length + READ_AT_ONCE).map(async ({ content }) => {
      const chain = 'transition' in content ? chainOf(content.transition) : '';
      const one = (chains.get(chain) ?? Promise.resolve()).then(() => prepare(tools, content, firsts));
      chains.set(chain, one);
      return one;
    });
    prepared.push(...(await Promise.all(next)));
  }
  return prepared;
}

function chainOf(transition: Transition | OrderTransition): string {
  return 'order' in transition ? transition.order.id : transition.payment.id;
}

async function prepare(
  tools: RelayTools,
  content: StreamRecord['content'],
  firsts: FirstTransitions,
): Promise<Prepared> {
  if (content.kind === 'no_event') return content;
  if (content.kind === 'tampered') {
    return { kind: 'poison', reason: 'ledger_tampered', detail: `${content.how} ${content.row}` };
  }
  if (content.kind === 'unreadable') return { kind: 'poison', reason: 'unreadable', detail: content.detail };
  const { transition, trace } = content;
  try {
    const event = await eventOfOutcome(tools.digest, transition, firsts);
    if (event !== undefined) return { kind: 'event', event, ...defined({ trace }) };
    return { kind: 'poison', reason: 'first_transition_missing', detail: chainOf(transition) };
  } catch (error) {
    tools.report(error);
    if (isFault(error)) return { kind: 'not_now' };
    // A bug must not block the shard: the record is parked until the bug is fixed, and the other records continue.
    return { kind: 'poison', reason: 'unexpected', detail: error instanceof Error ? error.name : typeof error };
  }
}
