import * as z from 'zod';
import { found, type Handled, refusal } from '../../http/authenticated-api.ts';
import { type ReadingCall, reading } from '../../http/endpoint.ts';
import { pageLimit } from '../../http/lists.ts';
import { problem } from '../../http/problems.ts';
import { shownAmount } from '../../kernel/currency.ts';
import { defined } from '../../kernel/defined.ts';
import type { Telemetry } from '../../kernel/platform/telemetry.ts';
import { CHARGE_VANISHED, WRONG_AMOUNT } from '../../payments/domain/payment.ts';
import type { OrphanedCallback } from '../../payments/use/effect-store.ts';
import type { Operator } from '../../tenants/operators.ts';
import {
  ATTENTION_KINDS,
  type AttentionCount,
  type AttentionEntry,
  type AttentionKind,
  type AttentionPlace,
  type AttentionTools,
  gatherAttention,
  inOrder,
  type Reason,
} from '../use/attention.ts';
import { readWork, WORK_PAGE, type WorkReader } from '../use/ended-work.ts';
import { attentionList } from './attention-answers.ts';

export interface GetAttentionTools extends AttentionTools {
  readonly store: WorkReader;
  readonly telemetry: Pick<Telemetry, 'fault'>;
}

const ENTRY_ID = /^att_[A-Za-z0-9_-]{1,800}$/;

const attentionQuery = z.strictObject({
  kind: z
    .enum(ATTENTION_KINDS, `must be one of ${ATTENTION_KINDS.join(', ')}`)
    .optional()
    .meta({ description: 'List only entries of this kind. The counts still cover all kinds.' }),
  limit: pageLimit('entries', WORK_PAGE),
  starting_after: z
    .string()
    .regex(ENTRY_ID, 'must be the id of an entry of this list')
    .optional()
    .meta({ description: 'The `id` of the last entry of the previous page.' }),
});

export const getAttention = reading({
  path: '/v1/admin/attention',
  role: 'viewer',
  query: attentionQuery,
  handle: listAttention,
  docs: {
    operationId: 'listAttention',
    tag: 'Operators',
    summary: 'List work that needs a person',
    description:
      'Work that no job can finish, across all tenants, sorted by kind, then oldest first. `act` is the action that resolves an entry. A message ' +
      'queue is one entry with its number of messages. A page covers a limited number of entries of each kind; `more` marks kinds that may have ' +
      'more entries. Kinds in `unread` could not be read completely; repeat the request. The list can lag by about a second.',
    answers: {
      200: { description: 'A page of entries, and the number of entries of each kind.', schema: attentionList },
    },
  },
});

async function listAttention(call: ReadingCall<GetAttentionTools, typeof attentionQuery, Operator>): Promise<Handled> {
  const { tools, request, query } = call;
  const { kind, limit = WORK_PAGE, starting_after: cursor } = query;
  const after = cursor === undefined ? undefined : placeOf(cursor);
  if (cursor !== undefined && after === undefined) {
    const detail = 'starting_after must be the id of an entry from an earlier page of this list.';
    return refusal(problem('invalid_request', detail, 'starting_after'), request);
  }
  const nowMs = tools.clock.nowMs();
  const report = (error: unknown): void => tools.telemetry.fault(request.requestId, error);
  const { entries, counts, unread } = await gatherAttention(tools, report);
  const rest = entries.filter(
    (entry) => (kind === undefined || entry.kind === kind) && (after === undefined || inOrder(entry, after) > 0),
  );
  const shown = await Promise.all(
    rest.slice(0, limit).map((entry) =>
      withPayment(tools.store, entry).catch((error) => {
        report(error);
        return entry;
      }),
    ),
  );
  return found({
    object: 'list',
    data: shown.map((entry) => entryObject(entry, nowMs)),
    has_more: rest.length > limit,
    counts: counts.map((count) => countObject(count, nowMs)),
    unread,
  });
}

/** Marks the entry as ended if its change or hold has already ended, so that an operator need not act. */
async function withPayment(store: GetAttentionTools['store'], entry: AttentionEntry): Promise<AttentionEntry> {
  if (entry.tenantId !== undefined) return entry;
  const work = await readWork(store, entry, entry.kind === 'hold_to_void');
  if (work === undefined) return entry;
  const { tenantId, mode, amountMinor, currency } = work.payment;
  const isOfPart = entry.part !== undefined && entry.part !== entry.about;
  const amount = work.change?.amountMinor ?? (isOfPart ? undefined : amountMinor);
  const shown = { ...entry, tenantId, mode, currency, ...defined({ amountMinor: amount }) };
  return work.isEnded ? { ...shown, reason: { kind: 'ended' }, act: 'look' } : shown;
}

function entryObject(entry: AttentionEntry, nowMs: number): Record<string, unknown> {
  const {
    kind,
    about,
    part,
    callback,
    queue,
    messages = 1,
    tenantId,
    mode,
    amountMinor,
    currency,
    sinceMs,
    act,
  } = entry;
  return {
    object: 'attention_entry',
    id: idOf(entry),
    kind,
    about: about ?? null,
    part: part ?? null,
    callback: callback ?? null,
    queue: queue ?? null,
    count: messages,
    tenant: tenantId ?? null,
    mode: mode ?? null,
    amount: amountMinor ?? null,
    currency: currency ?? null,
    reason: sentenceOf(entry.reason),
    since: sinceMs === undefined ? null : seconds(sinceMs),
    age: ageOf(sinceMs, nowMs),
    act,
  };
}

function countObject({ kind, count, more, oldestMs }: AttentionCount, nowMs: number): Record<string, unknown> {
  return { kind, count, more, oldest_age: ageOf(oldestMs, nowMs) };
}

function ageOf(sinceMs: number | undefined, nowMs: number): number | null {
  return sinceMs === undefined ? null : Math.max(0, seconds(nowMs - sinceMs));
}

function seconds(timeMs: number): number {
  return Math.floor(timeMs / 1000);
}

const SENTENCES: Readonly<
  Record<
    Exclude<Reason['kind'], 'payment' | 'change' | 'callback' | 'mismatch' | 'approval' | 'endpoint' | 'messages'>,
    string
  >
> = {
  inquiry: 'The outcome cannot be determined from the processor’s books.',
  order: 'The order can be neither completed nor undone without a person.',
  return:
    'This stray charge must be returned to the payer. Payonce cannot refund or void it, or cannot determine whether it did. Refund or void the charge at the processor.',
  hold: 'The authorization was not captured in time, and Payonce cannot void it.',
  claim: 'The request was not completed, and neither a retry nor a job can complete it.',
  missed_runs:
    'Scheduled runs were missed. Run each job that the messages name once: it does all work that is due. If a job belongs to another service, ask its team to run it. Then dismiss the messages.',
  ended: 'The outcome is known. A job removes this entry at its next look-up.',
};

const ENDPOINT_SENTENCES: Readonly<Record<'enabled' | 'gone' | 'failing', string>> = {
  enabled:
    'The endpoint accepts no webhooks. The entry disappears when the endpoint accepts a webhook or a test event, or is disabled.',
  gone: 'The endpoint was disabled because it responded with 410. Inform the tenant. Enable the endpoint or confirm that it stays disabled.',
  failing:
    'The endpoint was disabled because it accepted no webhook for three days. Inform the tenant. Enable the endpoint or confirm that it stays disabled.',
};

const UNMATCHED: Readonly<Record<OrphanedCallback['reason'], string>> = {
  charge_unknown: 'that the processor did not show',
  payment_unknown: 'that belongs to no known payment',
  other_account: 'of a payment that uses another account',
};

function sentenceOf(reason: Reason): string {
  switch (reason.kind) {
    case 'payment':
      switch (reason.failureCode) {
        case WRONG_AMOUNT:
          return 'The captured amount or currency differs from the requested one.';
        case CHARGE_VANISHED:
          return 'The processor showed the payment’s charge earlier, and no longer shows it. Look the charge up at the processor.';
        case undefined:
        default:
          return 'Neither a charge nor its absence can be proven.';
      }
    case 'change':
      return `The outcome of the ${reason.of} cannot be determined.`;
    case 'callback': {
      const { from, because = 'payment_unknown' } = reason;
      const processor = from === undefined ? 'the processor' : `${from.processorName} (${from.mode} mode)`;
      return `A callback from ${processor} is about a charge ${UNMATCHED[because]}. Look the charge up there. If the payer must not pay, refund or void it there. Then dismiss the callback.`;
    }
    case 'mismatch': {
      const [shown, booked] = [reason.processorMinor, reason.ledgerMinor].map((minor) =>
        shownAmount(minor, reason.currency),
      );
      const { processor } = reason;
      return reason.isOfPayment
        ? `The processor ${processor} shows ${shown} for this payment, and the Ledger shows ${booked}.`
        : `The processor ${processor} shows ${shown} of a charge without a known payment, and the Ledger shows ${booked}. If the payer must not pay, refund the charge at ${processor}. The next comparison then removes the difference.`;
    }
    case 'approval':
      return `A ${reason.of} that ${reason.askedBy} requested waits for a second person.`;
    case 'messages':
      return ['The messages could not be processed.', ...(reason.because === undefined ? [] : [reason.because])].join(
        ' ',
      );
    case 'endpoint':
      return ENDPOINT_SENTENCES[reason.disabled ?? 'enabled'];
    case 'inquiry':
    case 'order':
    case 'return':
    case 'hold':
    case 'claim':
    case 'missed_runs':
    case 'ended':
      return SENTENCES[reason.kind];
  }
}

/** The id contains the entry's position, so it also serves as the cursor. */
function idOf({ kind, sinceMs = 0, name }: AttentionPlace): string {
  return `att_${Buffer.from(`${kind} ${sinceMs} ${name}`).toString('base64url')}`;
}

function placeOf(id: string): AttentionPlace | undefined {
  const text = Buffer.from(id.slice('att_'.length), 'base64url').toString('utf8');
  const [, kind, since, name] = /^(\w+) (\d{1,15}) (.*)$/s.exec(text) ?? [];
  const known = ATTENTION_KINDS.find((each): each is AttentionKind => each === kind);
  return known === undefined || name === undefined ? undefined : { kind: known, sinceMs: Number(since), name };
}
