import { OperationPrefix } from '../../kernel/contract/rows.ts';
import { defined } from '../../kernel/defined.ts';
import type { Mode, TenantId } from '../../kernel/ids.ts';
import type { Clock } from '../../kernel/world.ts';
import type { CallbackEvent, OrphanedCallback } from '../../payments/use/effect-store.ts';
import { someMismatches } from '../../reconciliation/use/mismatch-view.ts';
import type { ListPaymentsTools } from '../../views/use/list-payments.ts';
import { someReviews } from '../../views/use/list-reviews.ts';
import { failingSince } from '../../webhooks/domain/webhook-endpoint.ts';
import type { FailingEndpoints } from '../../webhooks/use/webhooks.ts';
import { DEAD_LETTERS_END } from '../contract.ts';
import { isOpen } from '../domain/approval.ts';
import type { ApprovingStore } from './approving-store.ts';
import {
  type MessageQueues,
  MISSED_RUNS,
  OPERATOR_QUEUES,
  type OperatorQueue,
  type QueueEntry,
  type QueueLists,
  redriveTarget,
} from './queue-lists.ts';

/** In the order of the list. */
export const ATTENTION_KINDS = [
  'payment_in_review',
  'change_in_review',
  'order_in_review',
  'charge_to_return',
  'hold_to_void',
  'stuck_request',
  'mismatch',
  'approval',
  'unmatched_callback',
  'webhook_endpoint',
  'dead_letters',
  'parked_records',
] as const;

export type AttentionKind = (typeof ATTENTION_KINDS)[number];

/** `look`: no single action of the API resolves the entry; its reason says why it is listed. */
export const ATTENTION_ACTS = [
  'decide_payment',
  'decide_change',
  'cancel',
  'redrive',
  'compare',
  'approve',
  'dismiss',
  'run_job',
  'repair_endpoint',
  'look',
] as const;

export interface AttentionEntry {
  readonly kind: AttentionKind;
  /** Distinguishes entries with the same kind and time. */
  readonly name: string;
  /** Absent if the payment or order is unknown, or if the entry concerns neither. */
  readonly about?: string;
  /**
   * Id of the change, charge, approval, mismatch or endpoint. Absent if the entry concerns a whole payment, order or
   * queue.
   */
  readonly part?: string;
  /** Absent for other entries than unmatched callbacks, and if the row of the callback cannot be read. */
  readonly callback?: string;
  readonly queue?: string;
  readonly messages?: number;
  readonly tenantId?: TenantId;
  readonly mode?: Mode;
  readonly amountMinor?: number;
  readonly currency?: string;
  readonly reason: Reason;
  readonly sinceMs?: number;
  readonly act: (typeof ATTENTION_ACTS)[number];
}

/** The API renders it as a sentence. */
export type Reason =
  | { readonly kind: 'payment'; readonly failureCode?: string }
  | {
      readonly kind: 'inquiry' | 'order' | 'return' | 'hold' | 'claim' | 'missed_runs' | 'ended';
    }
  | { readonly kind: 'change'; readonly of: string }
  /** Processor, mode and reason are absent if the callback's row cannot be read. */
  | {
      readonly kind: 'callback';
      readonly from?: Pick<CallbackEvent, 'processorName' | 'mode'>;
      readonly because?: OrphanedCallback['reason'];
    }
  /** Messages that could not be processed. `because` is set if they cannot be redriven, and names the alternative. */
  | { readonly kind: 'messages'; readonly because?: string }
  | {
      readonly kind: 'mismatch';
      /** False for a charge without a known payment. */
      readonly isOfPayment: boolean;
      readonly processor: string;
      readonly processorMinor: number;
      readonly ledgerMinor: number;
      readonly currency: string;
    }
  | { readonly kind: 'approval'; readonly of: string; readonly askedBy: string }
  | { readonly kind: 'endpoint'; readonly disabled?: 'gone' | 'failing' };

/** For a message queue, its messages are counted. */
export interface AttentionCount {
  readonly kind: AttentionKind;
  readonly count: number;
  readonly more: boolean;
  readonly oldestMs?: number;
}

export interface AttentionTools {
  readonly clock: Pick<Clock, 'nowMs'>;
  readonly queues: QueueLists;
  readonly messages: MessageQueues;
  readonly effects: Pick<ApprovingStore, 'listApprovals'>;
  readonly views: ListPaymentsTools['views'];
  readonly webhooks: FailingEndpoints;
}

interface Found {
  readonly entries: readonly AttentionEntry[];
  readonly more: boolean;
}

/** `kinds` are the kinds of entries that the source can contain. */
interface Gathered extends Found {
  readonly kinds: readonly AttentionKind[];
  readonly isUnread?: true;
}

type Source = readonly [kinds: readonly AttentionKind[], read: () => Promise<Found>];

/**
 * Maximum number of rows to read from each of these lists, in one query per list: reviews, mismatches, approvals, and
 * tenants with failing endpoints.
 */
const MAX_READ = 500;

/**
 * The number of reads is limited: if a kind has more entries than are read, the others appear when the first ones have
 * been resolved. Approvals are read newest first.
 *
 * @param report called with the error of each source that cannot be read
 * @returns `unread` contains the kinds of the sources that could not be read
 */
export async function gatherAttention(
  tools: AttentionTools,
  report: (error: unknown) => void,
): Promise<{
  readonly entries: readonly AttentionEntry[];
  readonly counts: readonly AttentionCount[];
  readonly unread: readonly AttentionKind[];
}> {
  const sources: readonly Source[] = [
    [['payment_in_review', 'order_in_review'], () => reviews(tools)],
    [['mismatch'], () => mismatches(tools)],
    [['approval'], () => approvals(tools)],
    [['webhook_endpoint'], () => failingEndpoints(tools)],
    ...messageQueues(tools),
    ...OPERATOR_QUEUES.map((queue): Source => [KINDS_OF[queue], () => queueEntries(tools, queue)]),
  ];
  const gathered = await Promise.all(
    sources.map(async ([kinds, read]): Promise<Gathered> => {
      try {
        return { kinds, ...(await read()) };
      } catch (error) {
        report(error);
        return { kinds, entries: [], more: true, isUnread: true };
      }
    }),
  );
  const entries = gathered.flatMap((each) => each.entries).toSorted(inOrder);
  return {
    entries,
    counts: ATTENTION_KINDS.map((kind) => countOf(kind, entries, gathered)),
    unread: ATTENTION_KINDS.filter((kind) => gathered.some((each) => each.isUnread && each.kinds.includes(kind))),
  };
}

function countOf(kind: AttentionKind, all: readonly AttentionEntry[], gathered: readonly Gathered[]): AttentionCount {
  const entries = all.filter((each) => each.kind === kind);
  const times = entries.flatMap(({ sinceMs }) => sinceMs ?? []);
  return {
    kind,
    count: entries.reduce((sum, { messages = 1 }) => sum + messages, 0),
    more: gathered.some(({ kinds, more }) => more && kinds.includes(kind)),
    ...(times.length === 0 ? {} : { oldestMs: Math.min(...times) }),
  };
}

export type AttentionPlace = Pick<AttentionEntry, 'kind' | 'name' | 'sinceMs'>;

export function inOrder(left: AttentionPlace, right: AttentionPlace): number {
  return (
    ATTENTION_KINDS.indexOf(left.kind) - ATTENTION_KINDS.indexOf(right.kind) ||
    (left.sinceMs ?? 0) - (right.sinceMs ?? 0) ||
    (left.name < right.name ? -1 : Number(left.name > right.name))
  );
}

async function reviews({ views }: AttentionTools): Promise<Found> {
  const found = await someReviews(views, MAX_READ);
  const entries = found.map(({ chainId, tenantId, mode, sinceMs, failureCode, ...money }): AttentionEntry => {
    const isPayment = money.currency !== undefined;
    return {
      kind: isPayment ? 'payment_in_review' : 'order_in_review',
      name: chainId,
      about: chainId,
      tenantId,
      mode,
      ...money,
      sinceMs,
      reason: isPayment ? { kind: 'payment', ...defined({ failureCode }) } : { kind: 'order' },
      act: isPayment ? 'decide_payment' : 'look',
    };
  });
  return { entries, more: found.length === MAX_READ };
}

/** A suspected mismatch usually resolves itself. */
async function mismatches({ views }: AttentionTools): Promise<Found> {
  const found = await someMismatches({ views }, undefined, MAX_READ);
  const confirmed = found.flatMap(({ open }) => (open.status === 'confirmed' ? [open] : []));
  const entries = confirmed.map(({ id, books, owner, subject, firstSeenAtMs: sinceMs, mismatch }): AttentionEntry => {
    const { paymentId: about, processorMinor, ledgerMinor, currency } = mismatch;
    const isOfPayment = owner !== undefined;
    return {
      kind: 'mismatch',
      name: id,
      ...defined({ about }),
      part: isOfPayment ? id : subject,
      ...owner,
      amountMinor: Math.abs(processorMinor - ledgerMinor),
      currency,
      sinceMs,
      reason: { kind: 'mismatch', isOfPayment, processor: books.name, processorMinor, ledgerMinor, currency },
      act: 'compare',
    };
  });
  return { entries, more: found.length === MAX_READ };
}

async function approvals({ effects, clock }: AttentionTools): Promise<Found> {
  const nowMs = clock.nowMs();
  const found = await effects.listApprovals({ limit: MAX_READ, withReasons: false });
  const entries = found
    .filter((approval) => isOpen(approval, nowMs))
    .map(
      ({
        id,
        paymentId: about,
        tenantId,
        mode,
        amountMinor,
        currency,
        createdAtMs,
        asked,
        askedBy,
      }): AttentionEntry => ({
        kind: 'approval',
        name: id,
        about,
        part: id,
        tenantId,
        mode,
        amountMinor,
        currency,
        sinceMs: createdAtMs,
        reason: { kind: 'approval', of: asked.kind, askedBy: askedBy.name },
        act: 'approve',
      }),
    );
  return { entries, more: found.length === MAX_READ };
}

async function failingEndpoints({ webhooks }: AttentionTools): Promise<Found> {
  const lists = await webhooks.failing(MAX_READ);
  const entries = lists.flatMap(({ tenantId, mode, endpoints }) =>
    endpoints.flatMap((endpoint): readonly AttentionEntry[] => {
      const sinceMs = failingSince(endpoint);
      if (sinceMs === undefined) return [];
      const { id, disabled } = endpoint;
      const reason = disabled?.reason === 'requested' ? undefined : disabled?.reason;
      return [
        {
          kind: 'webhook_endpoint',
          name: id,
          part: id,
          tenantId,
          mode,
          sinceMs,
          reason: { kind: 'endpoint', ...defined({ disabled: reason }) },
          act: 'repair_endpoint',
        },
      ];
    }),
  );
  return { entries, more: lists.length === MAX_READ };
}

function messageQueues({ messages }: AttentionTools): readonly Source[] {
  const kept = Object.entries(messages.deployed).filter(([, { isKept }]) => isKept);
  return kept.map(([queue]): Source => {
    const kind = queue.endsWith(DEAD_LETTERS_END) ? 'dead_letters' : 'parked_records';
    const isMissed = queue === MISSED_RUNS;
    const target = redriveTarget(messages.deployed, queue);
    const because = target?.kind === 'none' ? target.because : undefined;
    const act = isMissed ? 'run_job' : because === undefined ? 'redrive' : 'look';
    const reason: Reason = isMissed ? { kind: 'missed_runs' } : { kind: 'messages', ...defined({ because }) };
    const read = async (): Promise<Found> => {
      const count = await messages.count(queue);
      const entry = { kind, name: queue, queue, messages: count, reason, act } as const;
      return { entries: count > 0 ? [entry] : [], more: false };
    };
    return [[kind], read];
  });
}

const CHANGES: readonly (readonly [prefix: string, noun: string])[] = [
  [OperationPrefix.capture, 'capture'],
  [OperationPrefix.cancel, 'cancellation'],
  [OperationPrefix.refund, 'refund'],
];

async function queueEntries({ queues }: AttentionTools, queue: OperatorQueue): Promise<Found> {
  const { entries, hasMore: more } = await queues.needingOperator(queue);
  const shown = entries.map((entry): AttentionEntry => {
    const { about, part, callback, sinceMs } = entry;
    return {
      ...kindOf(queue, entry),
      name: `${queue} ${about ?? ''} ${part ?? ''}`,
      queue,
      ...defined({ about, part, callback: callback?.operationId, sinceMs }),
    };
  });
  return { entries: shown, more };
}

const KINDS_OF: Readonly<Record<OperatorQueue, readonly AttentionKind[]>> = {
  inquiries: ['payment_in_review', 'change_in_review'],
  returns: ['charge_to_return'],
  holds: ['hold_to_void'],
  claims: ['stuck_request'],
  unmatched_callbacks: ['unmatched_callback'],
};

function kindOf(
  queue: OperatorQueue,
  { about, part = '', callback }: QueueEntry,
): Pick<AttentionEntry, 'kind' | 'reason' | 'act'> {
  switch (queue) {
    case 'inquiries': {
      const [, of] = CHANGES.find(([prefix]) => part.startsWith(prefix)) ?? [];
      if (of !== undefined) return { kind: 'change_in_review', reason: { kind: 'change', of }, act: 'decide_change' };
      return {
        kind: part === about ? 'payment_in_review' : 'change_in_review',
        reason: { kind: 'inquiry' },
        act: 'look',
      };
    }
    case 'returns':
      return { kind: 'charge_to_return', reason: { kind: 'return' }, act: 'look' };
    case 'holds':
      return { kind: 'hold_to_void', reason: { kind: 'hold' }, act: 'cancel' };
    case 'claims':
      return { kind: 'stuck_request', reason: { kind: 'claim' }, act: 'look' };
    case 'unmatched_callbacks':
      return {
        kind: 'unmatched_callback',
        reason: { kind: 'callback', ...defined({ from: callback?.event, because: callback?.reason }) },
        act: callback === undefined ? 'look' : 'dismiss',
      };
  }
}
