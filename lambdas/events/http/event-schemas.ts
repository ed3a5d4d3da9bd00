import * as z from 'zod';
import type { Mode, TenantId } from '../../kernel/ids.ts';
import type { TransitionType } from '../../payments/domain/payment.ts';
import { ACCOUNTS } from '../../payments/domain/posting.ts';
import { payment, refund } from '../../payments/http/payment-objects.ts';
import type { EventObject, PayonceEvent } from '../domain/event.ts';

/**
 * The registry of the schemas of events, by type and version. A version may only gain fields, so objects are loose and
 * unknown fields pass through. An incompatible form gets the next version.
 */

const minorUnits = z.int().min(0);

const dispute = z.looseObject({
  id: z.string(),
  object: z.literal('dispute'),
  payment: z.string(),
  charge_id: z.string(),
  amount: minorUnits,
  currency: z.string(),
  status: z.enum(['open', 'won', 'lost']),
});

type PendingType = 'payment.created' | 'capture.pending' | 'void.pending' | 'refund.pending';
/** The types of events. */
export type EventType = Exclude<TransitionType, PendingType>;

/** The subject of each event, by version. An old version stays for as long as its events may still be delivered. */
const SUBJECTS = {
  'payment.processing': { 1: payment },
  'payment.requires_action': { 1: payment },
  'payment.authorized': { 1: payment },
  'payment.completed': { 1: payment },
  'payment.failed': { 1: payment },
  'payment.canceled': { 1: payment },
  'payment.review_required': { 1: payment },
  'payment.late_success': { 1: payment },
  'payment.fee_reported': { 1: payment },
  'capture.failed': { 1: payment },
  'void.failed': { 1: payment },
  'refund.completed': { 1: refund },
  'refund.failed': { 1: refund },
  'dispute.opened': { 1: dispute },
  'dispute.closed': { 1: dispute },
  'ledger.corrected': { 1: payment },
} as const satisfies Record<EventType, Readonly<Record<number, z.ZodType>>>;

type SubjectOf<Type extends EventType> = z.infer<(typeof SUBJECTS)[Type][keyof (typeof SUBJECTS)[Type]]>;

/** A validated event of these types, as a consumer receives it. */
export type EventOf<Type extends EventType = EventType> = Omit<PayonceEvent, 'event' | 'payment'> & {
  readonly event: Omit<EventObject, 'type' | 'data'> & {
    readonly type: Type;
    readonly data: { readonly object: SubjectOf<Type> };
  };
  readonly payment: z.infer<typeof payment>;
};

/** The fields that select the schema of the rest. */
const head = z.looseObject({ version: z.int().min(1), event: z.looseObject({ type: z.string() }) });

const envelope = z.object({
  version: z.int(),
  tenant: z.string().transform((id) => id as TenantId),
  mode: z.enum(['test', 'live']).transform((mode): Mode => mode),
  occurredAtMs: z.int(),
  event: z.looseObject({
    id: z.string().min(1),
    object: z.literal('event'),
    type: z.string(),
    created: z.int(),
    sequence: z.int().min(1),
    livemode: z.boolean(),
    data: z.object({ object: z.looseObject({}) }),
  }),
  payment,
  postings: z.array(
    z.object({
      account: z.enum(ACCOUNTS),
      direction: z.enum(['debit', 'credit']),
      amountMinor: minorUnits,
      currency: z.string(),
    }),
  ),
});

export type ReadEvent =
  | { readonly kind: 'event'; readonly event: EventOf }
  /** Well formed, with a type that this code does not know. */
  | { readonly kind: 'unknown_type'; readonly type: string }
  | { readonly kind: 'unknown_version'; readonly type: string; readonly version: number }
  | { readonly kind: 'malformed'; readonly type?: string; readonly detail: string };

/** Parses the `detail` of an event. Never throws. */
export function readEvent(detail: unknown): ReadEvent {
  const start = head.safeParse(detail);
  if (!start.success) return { kind: 'malformed', detail: told(start.error) };
  const { version } = start.data;
  const { type } = start.data.event;
  if (!isEventType(type)) return { kind: 'unknown_type', type };
  const versions: Readonly<Record<number, z.ZodType>> = SUBJECTS[type];
  const subject = versions[version];
  if (subject === undefined) return { kind: 'unknown_version', type, version };
  const whole = envelope.safeParse(detail);
  if (!whole.success) return { kind: 'malformed', type, detail: told(whole.error) };
  const about = subject.safeParse(whole.data.event.data.object);
  if (!about.success) return { kind: 'malformed', type, detail: told(about.error) };
  // Validated above, by the schemas that the type is inferred from.
  return { kind: 'event', event: whole.data as unknown as EventOf };
}

function isEventType(type: string): type is EventType {
  return Object.hasOwn(SUBJECTS, type);
}

/** The path of the field only, because its value may be sensitive. */
function told(error: z.ZodError): string {
  const [issue] = error.issues;
  return `${issue?.path.join('.') || 'the event'}: ${issue?.message ?? 'is not valid'}`;
}
