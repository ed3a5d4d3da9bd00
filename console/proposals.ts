/* The amounts and choices that the dialogs propose, and the reasons why the API would refuse a change or a decision. */
import type { Schemas } from './api.ts';
import { apiNowMs } from './clock.ts';
import { localTime, money, words } from './show.ts';

type Whole = Schemas['Payment'];
type Transition = Extract<Schemas['Timeline']['data'][number], { kind: 'transition' }>;
export type Approval = Schemas['ApprovalList']['data'][number];
/** The optional abilities of a payment’s processor. Null if the deployment does not use that processor anymore. */
export type Abilities = Schemas['Timeline']['processor_abilities'];
export type Change = Schemas['Refund'] | Schemas['Capture'] | Schemas['Cancellation'];

/** The API accepts no amount if `because` is set. */
export interface Proposal {
  readonly amount: number;
  readonly because?: string;
  /** Describes money that was captured, but cannot be refunded. */
  readonly withheld?: string;
  /** Set if the API accepts only this amount. */
  readonly isWhole?: true;
}

/** Failed refunds count, too. */
export const MAX_REFUNDS = 500;

/** @param changes all refunds, captures and cancellations of the payment */
export function proposalFor(
  kind: 'refund' | 'capture' | 'cancel',
  payment: Whole,
  changes: readonly Change[],
  abilities: Abilities,
): Proposal {
  const proposal = kind === 'refund' ? proposedRefund(payment, changes) : proposedHoldChange(kind, payment, changes);
  if (proposal.because !== undefined) return proposal;
  const { name } = payment.processor;
  if (abilities === null) return refused(`This deployment does not use the processor ${name} of this payment anymore.`);
  const { refunds, partial_refunds: partialRefunds, partial_captures: partialCaptures } = abilities;
  if (kind === 'capture' && !partialCaptures) return { ...proposal, isWhole: true };
  if (kind !== 'refund') return proposal;
  if (!refunds) return refused(`The processor ${name} does not support refunds.`);
  if (partialRefunds) return proposal;
  return proposal.amount === payment.amount_captured
    ? { ...proposal, isWhole: true }
    : refused(`The processor ${name} refunds only the whole captured amount. ${proposal.withheld ?? ''}`);
}

function proposedHoldChange(kind: 'capture' | 'cancel', payment: Whole, changes: readonly Change[]): Proposal {
  const { status, amount, processor } = payment;
  const isWithPayer = status === 'requires_action' && processor.charge_id !== null;
  if (status !== 'requires_capture' && (kind === 'capture' || !isWithPayer))
    return refused(
      kind === 'capture'
        ? `The status is ${words(status)}; only an authorized payment can be captured.`
        : `The status is ${words(status)}; the payment cannot be canceled.`,
    );
  const open = changes.find((change) => change.object !== 'refund' && change.status === 'pending');
  return open === undefined
    ? { amount }
    : refused(`A ${open.object} is in progress. If its outcome cannot be determined, an operator can decide it.`);
}

function proposedRefund(payment: Whole, changes: readonly Change[]): Proposal {
  const { status, currency, amount_captured: captured, processor } = payment;
  if (status !== 'succeeded')
    return refused(`The status is ${words(status)}; only a succeeded payment can be refunded.`);
  const refunds = changes.filter((change) => change.object === 'refund');
  if (refunds.length >= MAX_REFUNDS) return refused(`The payment has ${MAX_REFUNDS} refunds, the maximum.`);
  // A refund of an unexpected charge does not reserve money of the payment’s own charge.
  const reserved = refunds
    .filter((refund) => refund.status === 'pending' && refund.charge_id === processor.charge_id)
    .reduce((sum, refund) => sum + refund.amount, 0);
  const parts = [
    ['was already refunded', payment.amount_refunded],
    ['is in refunds without an outcome', reserved],
    ['is disputed', payment.amount_disputed],
  ] as const;
  const left = parts.reduce((rest, [, part]) => rest - part, captured);
  if (payment.amount_refunded >= captured) return refused('The payment is fully refunded.');
  const text = parts.filter(([, part]) => part > 0).map(([what, part]) => `${money(part, currency)} ${what}`);
  if (left <= 0) return refused(`Of ${money(captured, currency)}, ${text.join(', ')}. Nothing is left to refund.`);
  return text.length === 0 ? { amount: left } : { amount: left, withheld: `${text.join(', ')}.` };
}

export function openApprovals(approvals: readonly Approval[], payment: string): readonly Approval[] {
  return approvals.filter((each) => each.payment === payment && each.status === 'pending_approval');
}

/**
 * Open requests reserve no money, so the API would accept another request for the same amount.
 *
 * @param open the requests for the payment that wait for a second person
 */
export function waitingRequests(
  kind: 'refund' | 'capture' | 'cancel',
  open: readonly Approval[],
): { readonly sum: number; readonly text: string } {
  const amounts = open.flatMap(({ request, currency }) =>
    request.type === kind ? [{ minor: request.amount, currency }] : [],
  );
  const noun = kind === 'cancel' ? 'cancellation' : kind;
  const text = amounts
    .map(({ minor, currency }) => `A ${noun} of ${money(minor, currency)} already waits for approval.`)
    .join(' ');
  return { sum: amounts.reduce((sum, { minor }) => sum + minor, 0), text };
}

export const DECIDABLE_AFTER_SECONDS = 2_700;

/**
 * While its payment is in review, the operator decides the payment instead of a capture or cancellation. Within
 * `DECIDABLE_AFTER_SECONDS`, the result of a look-up could still contradict the decision.
 */
export function refusalOfDecision(
  { object, created }: Pick<Change, 'object' | 'created'>,
  status: Whole['status'],
  nowMs = apiNowMs(),
): string | undefined {
  if (object !== 'refund' && status === 'needs_review') return 'The payment is in review. Decide the payment instead.';
  // The time of the request is rounded down to a second.
  const from = created + DECIDABLE_AFTER_SECONDS + 1;
  return nowMs < from * 1000
    ? `Payonce still looks up the outcome. You can decide the ${object} from ${localTime(from)}.`
    : undefined;
}

export function refusalOfReview(status: Whole['status'], changes: readonly Change[] = []): string | undefined {
  if (status === 'needs_review') return undefined;
  const because = `The status is “${words(status)}”. Only a payment in review can be decided.`;
  const open = changes.find((change) => change.status === 'pending');
  return open === undefined ? because : `${because} For its pending ${open.object}, use “Decide ${open.object}” below.`;
}

/** @param service the other service that owns the job; null for a job of this deployment */
export function refusalOfRun(service: string | null): string | undefined {
  if (service === null) return undefined;
  return `This job belongs to the service ${service}. Only its schedule requests runs. Ask the team of ${service} to run it.`;
}

function refused(because: string): Proposal {
  return { amount: 0, because };
}

/** @param strays ids of the charges that are recorded as unexpected */
export function refusalOfCharge(
  charge: Pick<Schemas['Charge'], 'id' | 'currency' | 'amount_captured'>,
  { amount, currency }: Pick<Whole, 'amount' | 'currency'>,
  strays: ReadonlySet<string>,
): string | undefined {
  if (strays.has(charge.id)) return 'It is recorded as an unexpected charge, whose money is returned to the payer.';
  if (charge.currency !== currency) return `The payment is in ${currency}.`;
  return charge.amount_captured > amount ? `Only ${money(amount, currency)} was requested.` : undefined;
}

export function strayCharges(transitions: readonly Transition[]): ReadonlySet<string> {
  return new Set(transitions.flatMap(({ subject }) => (subject?.object === 'stray_charge' ? [subject.id] : [])));
}

/** Each set of postings can be reversed only once. */
export function reversible(transitions: readonly Transition[]): readonly Transition[] {
  const reversed = new Set<number | null>(transitions.flatMap(({ subject }) => subject?.reverses ?? []));
  return transitions.filter(({ sequence, postings }) => postings.length > 0 && !reversed.has(sequence));
}
