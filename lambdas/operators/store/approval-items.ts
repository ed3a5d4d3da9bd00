import * as z from 'zod';
import { defined } from '../../kernel/defined.ts';
import type { OperationId, PaymentId, TenantId } from '../../kernel/ids.ts';
import { invariant } from '../../kernel/invariant.ts';
import { type Item, itemSchema } from '../../kernel/platform/items.ts';
import { type DetailsRows, type DetailsTools, readDetails } from '../../once/store/details-rows.ts';
import { PAYMENT_STATUSES, TRANSITION_TYPES } from '../../payments/domain/payment.ts';
import { ACCOUNTS, type Posting } from '../../payments/domain/posting.ts';
import {
  type Approval,
  type ApprovalEnd,
  type Asked,
  type Person,
  REJECTION_REASONS,
  type RequestedChange,
  type ShownEffect,
} from '../domain/approval.ts';
import type { CorrectionRequest } from '../domain/correction.ts';

/* The rows of approvals, as every store writes them. */

const operation = z.string().transform((id) => id as OperationId);
const leg = {
  account: z.enum(ACCOUNTS),
  direction: z.enum(['debit', 'credit']),
  amountMinor: z.int().min(1),
};
const person = itemSchema<Person>()({ name: z.string(), person: z.string(), identity: z.string() });

type Change = CorrectionRequest['change'];
const change = z.discriminatedUnion('kind', [
  itemSchema<Extract<Change, { kind: 'reverse' }>>()({ kind: z.literal('reverse'), sequence: z.int().min(1) }),
  itemSchema<Extract<Change, { kind: 'post' }>>()({
    kind: z.literal('post'),
    legs: z.array(itemSchema<Omit<Posting, 'currency'>>()(leg)),
  }),
]);

const approvalItem = itemSchema<Omit<Approval, 'reason' | 'salt'>>()({
  id: operation,
  operationId: operation,
  paymentId: z.string().transform((id) => id as PaymentId),
  tenantId: z.string().transform((id) => id as TenantId),
  mode: z.enum(['test', 'live']),
  asked: z.discriminatedUnion('kind', [
    itemSchema<RequestedChange>()({ kind: z.enum(['refund', 'capture', 'cancel']), amountMinor: z.int().min(1) }),
    itemSchema<Extract<Asked, { kind: 'correction' }>>()({ kind: z.literal('correction'), change }),
    itemSchema<Extract<Asked, { kind: 'decision' }>>()({
      kind: z.literal('decision'),
      outcome: z.enum(['succeeded', 'failed']),
      change: operation.exactOptional(),
      chargeId: z.string().exactOptional(),
      takenMinor: z.int().min(1).exactOptional(),
      override: z.literal(true).exactOptional(),
    }),
  ]),
  amountMinor: z.int().min(0),
  currency: z.string(),
  effect: itemSchema<ShownEffect>()({
    type: z.enum(TRANSITION_TYPES),
    paymentStatus: z.enum(PAYMENT_STATUSES),
    postings: z.array(itemSchema<Posting>()({ ...leg, currency: z.string() })),
  }),
  askedBy: person,
  commitment: z.instanceof(Uint8Array),
  createdAtMs: z.int(),
  expiresAtMs: z.int(),
  end: itemSchema<ApprovalEnd>()({
    verdict: z.enum(['approved', 'rejected']),
    reason: z.enum(REJECTION_REASONS).exactOptional(),
    by: person,
    atMs: z.int(),
  }).exactOptional(),
});

type StoredApproval = Omit<Approval, 'reason' | 'salt'> & Required<Pick<Approval, 'commitment'>>;

const reasonItem = z.object({ reason: z.string() });

export function parseApproval(item: Item): StoredApproval {
  return approvalItem.parse(item);
}

export function storedApproval(approval: Approval) {
  const { reason, salt, ...row } = approval;
  invariant(salt !== undefined, 'the reason of a new approval is not sealed');
  return { row, salt, details: { reason }, part: approval.id };
}

/**
 * An erasure of the payment's personal data deletes the details row with the reason; the approval then has no reason.
 */
export async function withReason(from: DetailsTools | DetailsRows, approval: StoredApproval): Promise<Approval> {
  const { paymentId, commitment, id } = approval;
  const row = await readDetails(from, paymentId, commitment, reasonItem, id);
  return { ...approval, ...defined({ reason: row?.reason }) };
}
