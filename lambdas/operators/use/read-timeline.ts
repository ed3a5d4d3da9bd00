import type { Action, ActivityEntry } from '../../activity/domain/activity.ts';
import { type ActivityLog, newestEntries } from '../../activity/use/activity-log.ts';
import { callbackOperation } from '../../callbacks/ids.ts';
import { sourceOf } from '../../callbacks/receive-callback.ts';
import { eventId } from '../../events/domain/event.ts';
import type { AlarmMetric } from '../../kernel/contract/metrics.ts';
import type { Digest } from '../../kernel/digest.ts';
import type { OperationId, OwnerToken } from '../../kernel/ids.ts';
import type { EarlierOwner, IdempotencyRecord, NotedCall } from '../../once/domain/idempotency.ts';
import type { RecordStore } from '../../once/use/record-store.ts';
import { operationIdOf } from '../../payments/domain/change.ts';
import { isOutcome, type Payment, type TransitionType } from '../../payments/domain/payment.ts';
import type { Transition } from '../../payments/domain/transition.ts';
import { chargeOperation, parsePaymentId } from '../../payments/ids.ts';
import type { EffectStore } from '../../payments/use/effect-store.ts';
import type { PaymentStore, TransitionPage } from '../../payments/use/payment-store.ts';
import { booksOf } from '../../payments/use/pinned-processor.ts';
import { type Delivery, newDelivery } from '../../webhooks/domain/webhook-delivery.ts';
import type { WebhookEndpoint } from '../../webhooks/domain/webhook-endpoint.ts';
import type { WebhookStore } from '../../webhooks/use/webhooks.ts';

/**
 * Per page. Each transition usually costs at most one read for its claim or callback, and one read for each webhook
 * endpoint of the tenant.
 */
export const MAX_TRANSITIONS = 25;
/** The newest entries of the tenant are searched for operator actions without a transition. */
const ACTIVITY_READ = 100;

export interface TimelineTools {
  readonly chains: Pick<PaymentStore, 'readPayment' | 'listTransitions'>;
  readonly records: Pick<RecordStore, 'readRecord'>;
  readonly effects: Pick<EffectStore, 'readEffect'>;
  readonly webhooks: Pick<WebhookStore, 'readBook' | 'readDelivery'>;
  readonly activity: readonly ActivityLog[];
  readonly digest: Digest;
}

export type TimelineEvent =
  | { readonly kind: 'transition'; readonly transition: Transition }
  /** Until the lease ends, only the owner may call the processor. */
  | { readonly kind: 'claim'; readonly operationId: OperationId; readonly owner: OwnerToken }
  /** The lease of `from` had ended, or `from` had released its claim. */
  | { readonly kind: 'takeover'; readonly operationId: OperationId; readonly from: EarlierOwner }
  /** By the owner that completed the operation. */
  | { readonly kind: 'call'; readonly operationId: OperationId; readonly call: NotedCall }
  | { readonly kind: 'answer'; readonly operationId: OperationId; readonly status: number }
  /**
   * The owner may call the processor until its lease ends. If `leaseExpiresAtMs` is absent, the owner has released its
   * claim.
   */
  | { readonly kind: 'open'; readonly operationId: OperationId; readonly leaseExpiresAtMs?: number }
  | { readonly kind: 'callback'; readonly eventId: string }
  | { readonly kind: 'event'; readonly eventId: string; readonly type: TransitionType }
  | { readonly kind: 'delivery'; readonly delivery: Delivery; readonly attempt: Delivery['attempts'][number] }
  | { readonly kind: 'alarm'; readonly alarm: AlarmMetric }
  | { readonly kind: 'act'; readonly entry: ActivityEntry };

export interface TimelineEntry {
  readonly atMs: number;
  /** Absent for an action without a transition. */
  readonly sequence?: number;
  readonly happened: TimelineEvent;
}

export type TimelineOutcome =
  | { readonly kind: 'not_found' }
  | {
      readonly kind: 'found';
      readonly payment: Payment;
      readonly first: Transition;
      readonly entries: readonly TimelineEntry[];
      readonly hasMore: boolean;
    };

/**
 * A page covers some transitions and everything related to them. Records and deliveries are deleted after their
 * retention; transitions are permanent. Timelines need no rows of their own, so they cost no write units.
 *
 * @throws RetryableError when the timeline cannot be read now
 */
export async function readTimeline(tools: TimelineTools, id: string, page: TransitionPage): Promise<TimelineOutcome> {
  const paymentId = parsePaymentId(id);
  const history = paymentId === undefined ? undefined : await tools.chains.readPayment(paymentId);
  if (history === undefined) return { kind: 'not_found' };
  const { first, newest } = history;
  const { payment } = newest;
  const listed = await tools.chains.listTransitions(payment.id, { ...page, limit: page.limit + 1 });
  const transitions = listed.slice(0, page.limit);
  const hasMore = listed.length > page.limit;
  const [deliveries, ...others] = await Promise.all([
    deliveriesOf(tools, payment, transitions),
    ...transitions.map((transition) => around(tools, first, transition)),
    hasMore ? [] : actsOn(tools, payment),
  ]);
  const entries = [deliveries, ...others].flat().toSorted((a, b) => a.atMs - b.atMs || rank(a) - rank(b));
  return { kind: 'found', payment, first, entries, hasMore };
}

async function around(
  tools: TimelineTools,
  first: Transition,
  transition: Transition,
): Promise<readonly TimelineEntry[]> {
  const { sequence, type, occurredAtMs: atMs, subject, cause, payment } = transition;
  const entry = (happened: TimelineEvent, when = atMs): TimelineEntry => ({ atMs: when, sequence, happened });
  const own: TimelineEntry[] = [entry({ kind: 'transition', transition })];
  if (isOutcome(type)) own.push(entry({ kind: 'event', eventId: eventId(tools.digest, payment.id, sequence), type }));
  if (subject?.kind === 'stray_charge') own.push(entry({ kind: 'alarm', alarm: 'late_success' }));
  if (cause.by === 'callback') {
    const source = sourceOf(booksOf(first));
    const record = await tools.effects.readEffect(callbackOperation(tools.digest, source, cause.eventId));
    own.push(entry({ kind: 'callback', eventId: cause.eventId }, record?.recordedAtMs));
  }
  const begun = operationBegunBy(transition);
  const record = begun === undefined ? undefined : await tools.records.readRecord(begun);
  return record === undefined ? own : [...own, ...workUnder(record, entry)];
}

/** A later pending transition of the same change only records its progress. */
function operationBegunBy({ sequence, type, subject, payment }: Transition): OperationId | undefined {
  if (sequence === 1) return chargeOperation(payment.id);
  if (!type.endsWith('.pending')) return undefined;
  const isChange = subject?.kind === 'capture' || subject?.kind === 'void' || subject?.kind === 'refund';
  if (!isChange || subject.answered === true) return undefined;
  return subject.kind === 'refund' && subject.accepted === true ? undefined : operationIdOf(subject);
}

function workUnder(
  record: IdempotencyRecord,
  entry: (happened: TimelineEvent, atMs: number) => TimelineEntry,
): readonly TimelineEntry[] {
  const { operationId, claimedAtMs, changedAtMs = claimedAtMs, owner, earlier = [] } = record;
  const first = earlier[0]?.owner ?? owner;
  const work = [
    entry({ kind: 'claim', operationId, owner: first }, claimedAtMs),
    ...earlier.map((from) => entry({ kind: 'takeover', operationId, from }, from.untilMs)),
  ];
  if (record.status === 'INPROGRESS') {
    const lease = record.released ? {} : { leaseExpiresAtMs: record.leaseExpiresAtMs };
    return [...work, entry({ kind: 'open', operationId, ...lease }, changedAtMs)];
  }
  const { calls = [], answer } = record;
  return [
    ...work,
    ...calls.map((call) => entry({ kind: 'call', operationId, call }, call.atMs)),
    entry({ kind: 'answer', operationId, status: answer.status }, changedAtMs),
  ];
}

async function deliveriesOf(
  { webhooks, digest }: TimelineTools,
  { tenantId, mode }: Payment,
  transitions: readonly Transition[],
): Promise<readonly TimelineEntry[]> {
  const owner = { tenantId, mode };
  const { endpoints } = await webhooks.readBook(owner);
  const outcomes = transitions.filter(({ type }) => isOutcome(type));
  const read = async ({ sequence, type, occurredAtMs, payment }: Transition, endpoint: WebhookEndpoint) => {
    const message = { eventId: eventId(digest, payment.id, sequence), type, occurredAtMs };
    const { id } = newDelivery(digest, owner, endpoint, message, occurredAtMs);
    const delivery = await webhooks.readDelivery(endpoint.id, id);
    if (delivery === undefined) return [];
    return delivery.attempts.map(
      (attempt): TimelineEntry => ({
        atMs: attempt.startedAtMs,
        sequence,
        happened: { kind: 'delivery', delivery, attempt },
      }),
    );
  };
  const pairs = outcomes.flatMap((transition) => endpoints.map((endpoint) => read(transition, endpoint)));
  return (await Promise.all(pairs)).flat();
}

/** Corrections, decisions, annotations and changes are excluded, because the chain itself contains them. */
async function actsOn({ activity }: TimelineTools, { id, tenantId, mode }: Payment): Promise<readonly TimelineEntry[]> {
  const entries = await newestEntries(activity, { tenantId, mode }, { limit: ACTIVITY_READ });
  return entries
    .filter(({ about, action }) => about.includes(id) && !IN_THE_CHAIN.has(action))
    .map((entry) => ({ atMs: entry.occurredAtMs, happened: { kind: 'act', entry } }));
}

const IN_THE_CHAIN: ReadonlySet<Action> = new Set([
  'correction.made',
  'decision.made',
  'annotation.made',
  'refund.requested',
  'capture.requested',
  'cancellation.requested',
]);

/** For entries with the same time: causes before effects. */
const RANKS = [
  'act',
  'claim',
  'takeover',
  'callback',
  'begun',
  'call',
  'transition',
  'alarm',
  'answer',
  'open',
  'event',
  'delivery',
];

function rank({ happened }: TimelineEntry): number {
  const isBegun = happened.kind === 'transition' && !isOutcome(happened.transition.type);
  return RANKS.indexOf(isBegun ? 'begun' : happened.kind);
}
