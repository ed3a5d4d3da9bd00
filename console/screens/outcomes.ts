/* The sentences that describe what a decision would change. */
import type { Schemas } from '../api.ts';
import type { Change } from '../proposals.ts';
import { money, words } from '../show.ts';

type Charge = Schemas['Charge'];

/** A name is, for example, `refund of 12.34 EUR`. */
export function nameOfChange({ object, amount, currency }: Pick<Change, 'object' | 'amount' | 'currency'>): string {
  return `${object} of ${money(amount, currency)}`;
}

/**
 * @param status the status of the payment after the decision
 * @param was the status of the payment now, if it is known
 */
export function outcomeOfChange(name: string, outcome: string, status: string, was?: string): string {
  const ofPayment = was === status ? 'stays' : was === undefined ? 'is then' : 'becomes';
  return `The ${name} becomes ${outcome}. The payment ${ofPayment} ${words(status)}.`;
}

/** Amounts in minor units, by currency. */
function heldByProcessor(charges: readonly Charge[]): readonly (readonly [currency: string, amount: number])[] {
  const held = new Map<string, number>();
  for (const { currency, amount_captured: captured, refunds } of charges) {
    const back = refunds.filter(({ status }) => status !== 'failed').reduce((sum, { amount }) => sum + amount, 0);
    if (captured > back) held.set(currency, (held.get(currency) ?? 0) + captured - back);
  }
  return [...held];
}

export function returned(charges: readonly Charge[]): string {
  const held = heldByProcessor(charges);
  if (held.length === 0) return 'The payer was not charged, so no money is returned.';
  const amounts = held.map(([currency, amount]) => money(amount, currency)).join(' and ');
  return `Payonce then returns the captured ${amounts} to the payer, usually within two minutes.`;
}

/**
 * @param run the job, or for a job of another service, the service and the job
 * @param job the job if it is this deployment's own
 */
export function dismissedRun(run: string, job: string | null): string {
  const later =
    job === null ? 'Payonce does not request this run again' : `The next run of ${job} does the missed work`;
  return `the message about a missed run of ${run}. ${later}.`;
}

/** The books of a payment in review are incomplete, so an operator must decide the payment before correcting them. */
export function differenceStep(status: Schemas['Mismatch']['payment_status']): string {
  return status === 'needs_review' ? 'Decide' : 'Correct or annotate';
}
