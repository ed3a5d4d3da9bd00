import type { PaymentId } from '../../lambdas/kernel/ids.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { withSealedReasons } from '../../lambdas/payments/domain/given-reason.ts';
import { type Subject, TRANSITION_TYPES } from '../../lambdas/payments/domain/payment.ts';
import { NO_SUMS } from '../../lambdas/payments/domain/payment-sums.ts';
import {
  detailsOf,
  firstTransition,
  sealedNotes,
  type Transition,
  transitionHash,
} from '../../lambdas/payments/domain/transition.ts';
import { BY_OPERATOR, requestedAt } from '../support/causes.ts';
import { pendingTransition } from './payment-fixtures.ts';

const SALT = new Uint8Array(16).fill(9);
const REASON = 'Ada Lovelace asked “why?” \u0000 決済 🙂';
const FAILURE = { code: 'declined', message: 'no \u0000 "money" \\' };
const AT = { amountMinor: 400, createdAtMs: 1_772_366_400_000 };
const POSTINGS = [
  { account: 'refunds', direction: 'debit', amountMinor: 400, currency: 'EUR' },
  { account: 'processor_clearing', direction: 'credit', amountMinor: 400, currency: 'EUR' },
] as const;

function subjects(n: number): readonly (Subject | undefined)[] {
  const decision = {
    kind: 'decision',
    decisionId: `dec_${n}`,
    operator: 'Ada',
    reason: REASON,
    override: true,
  } as const;
  return [
    undefined,
    { kind: 'refund', refundId: `ref_${n}`, chargeId: 'ch_1', ...AT, status: 'pending', reason: REASON, decision },
    {
      kind: 'refund',
      refundId: `re_${n}`,
      chargeId: 'ch_1',
      ...AT,
      currency: 'USD',
      status: 'failed',
      failure: FAILURE,
    },
    { kind: 'capture', operationId: `cap_${n}`, amountMinor: 1000, status: 'failed', failure: FAILURE, decision },
    {
      kind: 'void',
      operationId: `can_${n}`,
      amountMinor: 1000,
      status: 'pending',
      reason: 'expired',
      wholeAmount: true,
    },
    { kind: 'dispute', disputeId: 'dp_1', chargeId: 'ch_1', ...AT, status: 'open' },
    { kind: 'stray_charge', chargeId: 'ch_2', amountMinor: 700, currency: 'EUR', status: 'captured' },
    { kind: 'correction', correctionId: `cor_${n}`, operator: 'Ada', reason: REASON, reverses: 1 },
    { kind: 'annotation', annotationId: `ann_${n}`, operator: 'Ada', reason: REASON },
    decision,
  ];
}

export function firstWithNotes(id: PaymentId): Transition {
  const plain = pendingTransition(id);
  const notes = { description: REASON, metadata: { order: '6735' }, returnUrl: 'https://shop.example' };
  const first = {
    ...detailsOf(plain),
    ...sealedNotes(systemDigest, notes, SALT),
    emailHash: 'abcdefghabcdefghabcdefghabcdefgh',
  };
  return firstTransition(
    systemDigest,
    { type: 'payment.created', payment: plain.payment, postings: [] },
    first,
    requestedAt(0),
  );
}

export function refundAfter(newest: Transition): Transition {
  const [, refund] = subjects(newest.sequence);
  return after(newest, { type: 'refund.pending', subject: refund });
}

function after(
  { sequence, payment, occurredAtMs, hash: prevHash }: Transition,
  { type, subject }: { readonly type: Transition['type']; readonly subject: Subject | undefined },
): Transition {
  const draft = { type, payment, postings: POSTINGS, ...(subject === undefined ? {} : { subject }) };
  const unsealed = {
    ...withSealedReasons(systemDigest, draft, SALT),
    sequence: sequence + 1,
    occurredAtMs: occurredAtMs + 1,
    cause: BY_OPERATOR,
    sums: { ...NO_SUMS, refunds: sequence, settledCheck: 2 ** 27, begunAt: sequence },
    begun: { starts: Array.from({ length: 16 }, (_, place) => place), marks: [sequence, 65_535] },
  };
  return { ...unsealed, prevHash, hash: transitionHash(systemDigest, unsealed, prevHash) };
}

/** The last transition has a reason that an earlier transition stored. */
export function chainOfAllKinds(id: PaymentId): readonly Transition[] {
  const chain = [firstWithNotes(id)];
  const append = (type: Transition['type'], subject: Subject | undefined): void => {
    const newest = chain.at(-1);
    if (newest !== undefined) chain.push(after(newest, { type, subject }));
  };
  for (const [index, type] of TRANSITION_TYPES.entries()) append(type, subjects(index)[index % subjects(index).length]);
  const refund = chain.find(({ subject }) => subject?.kind === 'refund' && subject.commitment !== undefined)?.subject;
  if (refund?.kind === 'refund') {
    const { salt: _salt, decision: _decision, ...known } = refund;
    append('refund.completed', { ...known, status: 'succeeded' });
  }
  return chain;
}
