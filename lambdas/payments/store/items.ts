import * as z from 'zod';
import { TRACING } from '../../kernel/contract/environment.ts';
import { EmailRow, LedgerRow, RegistryRow, SortKey } from '../../kernel/contract/rows.ts';
import { KeyAttribute, LedgerTable } from '../../kernel/contract/tables.ts';
import { defined } from '../../kernel/defined.ts';
import type { OrderId, PaymentId, TenantId } from '../../kernel/ids.ts';
import { type Item, itemSchema, shardOf } from '../../kernel/platform/items.ts';
import { shardsAt } from '../../kernel/platform/shards.ts';
import { causeItem } from '../../once/store/cause-item.ts';
import {
  type DetailsRows,
  type DetailsTools,
  detailsItem,
  emailAttributes,
  readDetails,
  readDetailsRows,
} from '../../once/store/details-rows.ts';
import type { StoreTables, TransactItem } from '../../once/store/transact-items.ts';
import { ROW_IS_NEW } from '../../once/store/transact-items.ts';
import type { Fee } from '../domain/fees.ts';
import { mapReasons, reasonsOf, withoutReasons } from '../domain/given-reason.ts';
import type {
  Annotation,
  Correction,
  Dispute,
  Failure,
  HoldChange,
  OperatorDecision,
  OperatorRequest,
  Payment,
  PaymentNotes,
  Refund,
  StrayCharge,
} from '../domain/payment.ts';
import {
  CANCEL_REASONS,
  DISPUTE_STATUSES,
  isOutcome,
  notesOf,
  PAYMENT_STATUSES,
  TRANSITION_TYPES,
} from '../domain/payment.ts';
import { ACCOUNTS, type Posting } from '../domain/posting.ts';
import {
  type FirstDetails,
  notesOfOrder,
  type StoredDetails,
  storedDetails,
  type Transition,
} from '../domain/transition.ts';
import type { ChainId } from '../ids.ts';
import type { ReferenceName } from '../use/payment-store.ts';
import { begunBytes, begunItem, sumsBytes, sumsItem } from './sums-item.ts';

/**
 * The rows of payments. Each row is validated when it is read, so that code never acts on a row of an unknown form. The
 * schema of a row is built at the first read, because most processes of the payments function only write rows.
 */

// ------------------------------------------------------------------------------------------------------------ transitions

const bytes = z.instanceof(Uint8Array);
const minorUnits = z.int().min(0);
const failureItem = () => itemSchema<Failure>()({ code: z.string(), message: z.string() });
const disputeItem = () =>
  itemSchema<Dispute>()({
    kind: z.literal('dispute'),
    disputeId: z.string(),
    chargeId: z.string(),
    amountMinor: minorUnits,
    currency: z.string().exactOptional(),
    status: z.enum(DISPUTE_STATUSES),
    createdAtMs: z.int(),
  });

const paymentItem = () =>
  itemSchema<Payment>()({
    id: z.string().transform((id) => id as PaymentId),
    tenantId: z.string().transform((id) => id as TenantId),
    mode: z.enum(['test', 'live']),
    status: z.enum(PAYMENT_STATUSES),
    amountMinor: minorUnits,
    amountCapturedMinor: minorUnits,
    amountRefundedMinor: minorUnits,
    currency: z.string(),
    source: z.string(),
    capture: z.enum(['automatic', 'manual']),
    reference: z.string().exactOptional(),
    processorName: z.string(),
    chargeId: z.string().exactOptional(),
    failure: failureItem().exactOptional(),
    cancelReason: z.enum(CANCEL_REASONS).exactOptional(),
    actionUrl: z.string().exactOptional(),
    feeMinor: z.int().exactOptional(),
    otherFees: z.array(itemSchema<Fee>()({ amountMinor: z.int(), currency: z.string() })).exactOptional(),
    disputes: z.array(disputeItem()).exactOptional(),
    annotations: z.int().min(1).exactOptional(),
    createdAtMs: z.int(),
  });

/** The salt of the commitment is in the details row only. */
const reasonFields = () => ({ reason: z.string().exactOptional(), commitment: bytes.exactOptional() });

const decisionItem = () =>
  itemSchema<Omit<OperatorDecision, 'salt'>>()({
    kind: z.literal('decision'),
    decisionId: z.string(),
    ...reasonFields(),
    operator: z.string(),
    override: z.literal(true).exactOptional(),
  });

const operatorRequestItem = () =>
  itemSchema<Omit<OperatorRequest, 'salt'>>()({ kind: z.literal('request'), ...reasonFields(), operator: z.string() });

const requestFields = () => ({
  wholeAmount: z.literal(true).exactOptional(),
  answered: z.literal(true).exactOptional(),
});

const subjectItem = () =>
  z.discriminatedUnion('kind', [
    itemSchema<Omit<Refund, 'salt'>>()({
      kind: z.literal('refund'),
      refundId: z.string(),
      chargeId: z.string(),
      amountMinor: minorUnits,
      currency: z.string().exactOptional(),
      status: z.enum(['pending', 'succeeded', 'failed']),
      ...reasonFields(),
      failure: failureItem().exactOptional(),
      createdAtMs: z.int(),
      ...requestFields(),
      accepted: z.literal(true).exactOptional(),
      decision: decisionItem().exactOptional(),
    }),
    ...(['capture', 'void'] as const).map((kind) =>
      itemSchema<HoldChange>()({
        kind: z.literal(kind),
        operationId: z.string(),
        amountMinor: minorUnits,
        status: z.enum(['pending', 'failed']),
        reason: z.literal('expired').exactOptional(),
        failure: failureItem().exactOptional(),
        ...requestFields(),
        request: operatorRequestItem().exactOptional(),
        decision: decisionItem().exactOptional(),
      }),
    ),
    disputeItem(),
    itemSchema<StrayCharge>()({
      kind: z.literal('stray_charge'),
      chargeId: z.string(),
      amountMinor: minorUnits,
      currency: z.string(),
      status: z.enum(['authorized', 'captured']),
    }),
    itemSchema<Omit<Correction, 'salt'>>()({
      kind: z.literal('correction'),
      correctionId: z.string(),
      ...reasonFields(),
      operator: z.string(),
      reverses: z.int().min(1).exactOptional(),
    }),
    decisionItem(),
    itemSchema<Omit<Annotation, 'salt'>>()({
      kind: z.literal('annotation'),
      annotationId: z.string(),
      ...reasonFields(),
      operator: z.string(),
      annotates: z.int().min(1).exactOptional(),
      missingCharge: z.string().exactOptional(),
    }),
  ]);

const transitionItem = z.lazy(() =>
  itemSchema<Transition>()({
    sequence: z.int().min(1),
    type: z.enum(TRANSITION_TYPES),
    occurredAtMs: z.int(),
    cause: causeItem(),
    payment: paymentItem(),
    postings: z.array(
      itemSchema<Posting>()({
        account: z.enum(ACCOUNTS),
        direction: z.enum(['debit', 'credit']),
        amountMinor: minorUnits,
        currency: z.string(),
      }),
    ),
    subject: subjectItem().exactOptional(),
    first: itemSchema<StoredDetails>()({
      requestId: z.string(),
      processor: z.object({ account: z.string(), endpoint: z.string(), apiVersion: z.string() }),
      orderId: z
        .string()
        .transform((id) => id as OrderId)
        .exactOptional(),
      causationId: z.string().exactOptional(),
      commitment: bytes.exactOptional(),
    }).exactOptional(),
    sums: sumsItem().exactOptional(),
    begun: begunItem().exactOptional(),
    prevHash: bytes,
    hash: bytes,
  }),
);

export function paymentPartition(paymentId: PaymentId): string {
  return `${LedgerRow.payment}${paymentId}`;
}

/**
 * Returns the sort key of a transition: six digits, so that the text sorts in numeric order. No payment reaches a
 * million transitions.
 */
export function transitionSort(sequence: number): string {
  return `${SortKey.transition}${String(sequence).padStart(6, '0')}`;
}

export function toTransitionItem(transition: Transition): Item {
  return {
    ...transition,
    ...(transition.subject === undefined ? {} : { subject: withoutReasons(transition.subject) }),
    ...(transition.first === undefined ? {} : { first: storedDetails(transition.first) }),
    ...(transition.sums === undefined ? {} : { sums: sumsBytes(transition.sums) }),
    ...(transition.begun === undefined ? {} : { begun: begunBytes(transition.begun) }),
  };
}

export function transitionRow(transition: Transition): Item {
  return {
    [KeyAttribute.partition]: paymentPartition(transition.payment.id),
    [KeyAttribute.sort]: transitionSort(transition.sequence),
    ...toTransitionItem(transition),
    ...(isOutcome(transition.type) ? outcomeAttributes(transition.payment.id, transition) : {}),
  };
}

/** The relay publishes the event in this trace. */
export function sampledTrace(): { readonly trace?: string } {
  if (!process.env[TRACING]) return {};
  return defined({ trace: /^Root=.+Sampled=1/.exec(process.env['_X_AMZN_TRACE_ID'] ?? '')?.[0] });
}

/** The function that reads the Stream also selects rows by these attributes. */
export function outcomeAttributes(
  id: ChainId,
  { sequence, occurredAtMs }: Pick<Transition, 'sequence' | 'occurredAtMs'>,
): Item {
  return {
    [LedgerTable.recentOutcomesIndex.partitionKey]: outcomesPartition(
      shardOf(id, shardsAt(occurredAtMs).outcomes),
      occurredAtMs,
    ),
    [LedgerTable.recentOutcomesIndex.sortKey]: `${occurredAtMs}#${id}#${sequence}`,
    ...sampledTrace(),
  };
}

/**
 * Returns the partition key of a shard in the index of outcomes, for the UTC day of `atMs`. If the key contained the
 * minute, reading an empty day would cost at least 11,520 queries (8 shards in 1,440 minutes). If the key contained no
 * time, a partition would grow without bound.
 */
export function outcomesPartition(shard: number, atMs: number): string {
  return `${shard}#${new Date(atMs).toISOString().slice(0, 'yyyy-mm-dd'.length)}`;
}

/** The condition lets only one writer take a position in the chain. */
export function appendItem({ ledger }: StoreTables, transition: Transition): TransactItem {
  return { Put: { TableName: ledger, Item: transitionRow(transition), ConditionExpression: ROW_IS_NEW } };
}

const notesItem = z.lazy(() =>
  itemSchema<PaymentNotes>()({
    description: z.string().exactOptional(),
    metadata: z.record(z.string(), z.string()).exactOptional(),
    returnUrl: z.string().exactOptional(),
  }),
);

const reasonItem = z.lazy(() => z.object({ reason: z.string() }));

/** The personal data of a new transition, with the salt of its commitment. */
export interface NewDetails {
  /**
   * The id of the refund, capture, cancellation, correction, decision or annotation whose reason is in the details.
   * @default the details are the notes of the payment itself
   */
  readonly part?: string;
  readonly salt: Uint8Array;
  readonly details: object;
  readonly emailHash?: string;
}

export function newDetails({ first, subject }: Transition): readonly NewDetails[] {
  const { salt: ofNotes, emailHash } = first ?? {};
  const notes =
    first === undefined || ofNotes === undefined
      ? []
      : [{ salt: ofNotes, details: notesOf(first), ...defined({ emailHash }) }];
  const reasons = reasonsOf(subject).flatMap(({ id: part, given: { reason, salt } }) =>
    salt === undefined ? [] : [{ part, salt, details: { reason } }],
  );
  return [...notes, ...reasons];
}

export function detailsPuts(tables: StoreTables, transition: Transition): TransactItem[] {
  return newDetails(transition).map((details) => detailsPut(tables, transition.payment, details));
}

export function detailsPut(
  tables: Pick<StoreTables, 'registry'>,
  { id, createdAtMs }: Pick<Payment, 'id' | 'createdAtMs'>,
  { part, salt, details, emailHash: hash }: NewDetails,
): TransactItem {
  const found = hash === undefined ? {} : emailAttributes(id, { kind: EmailRow.payment, hash, createdAtMs });
  return detailsItem(tables, id, salt, details, { found, ...defined({ part }) });
}

/** @throws InvariantViolation as `readDetails` */
export async function transitionWithDetails(
  from: DetailsTools | DetailsRows,
  transition: Transition,
): Promise<Transition> {
  return withNotes(from, await withReasons(from, transition));
}

/** Maximum number of reasons to read one by one. If a page has more, all details rows of the payment are read. */
const MAX_SINGLE_READS = 20;

/** @throws InvariantViolation as `readDetails` */
export async function transitionsWithDetails(
  from: DetailsTools | DetailsRows,
  transitions: readonly Transition[],
): Promise<readonly Transition[]> {
  const [first] = transitions;
  const reasons = transitions.flatMap(({ subject }) => reasonsOf(subject)).filter(({ given }) => given.commitment);
  const isMany = first !== undefined && reasons.length > MAX_SINGLE_READS;
  const read = isMany && 'client' in from ? await readDetailsRows(from, first.payment.id) : from;
  return Promise.all(transitions.map((transition) => transitionWithDetails(read, transition)));
}

async function withReasons(from: DetailsTools | DetailsRows, transition: Transition): Promise<Transition> {
  const { subject, payment } = transition;
  const reasons = new Map<object, string>();
  for (const { id, given } of reasonsOf(subject)) {
    if (given.commitment === undefined) continue;
    const row = await readDetails(from, payment.id, given.commitment, reasonItem, id);
    if (row !== undefined) reasons.set(given, row.reason);
  }
  if (subject === undefined || reasons.size === 0) return transition;
  const read = mapReasons(subject, (given) => {
    const reason = reasons.get(given);
    return reason === undefined ? given : { ...given, reason };
  });
  return { ...transition, subject: read };
}

async function withNotes(from: DetailsTools | DetailsRows, transition: Transition): Promise<Transition> {
  const { first, payment } = transition;
  if (first === undefined) return transition;
  const { commitment } = first;
  const row = commitment === undefined ? {} : await readDetails(from, payment.id, commitment, notesItem);
  const notes: Partial<FirstDetails> = row ?? { detailsErased: true };
  return { ...transition, first: { ...first, ...notesOfOrder(first), ...notes } };
}

export function parseTransition(item: Item): Transition {
  const { sums, begun, ...transition } = transitionItem.parse(item);
  return { ...transition, ...defined({ sums, begun }) };
}

// ------------------------------------------------------------------------------------------------------------- references

const referenceItem = z.lazy(() => z.object({ paymentId: z.string() }));

/**
 * Each reference has a separate partition, so that the claims of payments with different references do not write to the
 * same partition.
 */
export function referenceRowKey({ tenantId, mode, reference }: ReferenceName): Item {
  return {
    [KeyAttribute.partition]: `${RegistryRow.reference}${tenantId}#${mode}#${reference}`,
    [KeyAttribute.sort]: 'HOLDER',
  };
}

export function parseReferenceHolder(item: Item): PaymentId {
  return referenceItem.parse(item).paymentId as PaymentId;
}
