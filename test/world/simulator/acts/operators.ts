/** Acts of operators, including wrong decisions and corrections. */
import { JOBS } from '../../../../lambdas/jobs/contract/jobs.ts';
import type { PaymentId } from '../../../../lambdas/kernel/ids.ts';
import { OUTCOME_KNOWN_WITHIN_MS } from '../../../../lambdas/payments/domain/settlement.ts';
import { isReturn } from '../../../../lambdas/payments/ids.ts';
import type { Step } from '../contract.ts';
import { booksOf } from '../processors.ts';
import { type Act, type Arguments, act, type Scene } from './act.ts';
import { approvalSteps } from './approvals.ts';
import { isIn } from './charges.ts';
import {
  ask,
  chainOf,
  changeOf,
  chargesOf,
  endOf,
  fittingPayment,
  furtherPayment,
  keyOf,
  onCharge,
  orderOf,
  paymentOf,
  stepsFrom,
} from './objects.ts';

const WHO = { reason: 'Seen on the statement' } as const;
const HOUR_MS = 3_600_000;

interface Decision extends Arguments {
  readonly outcome: 'succeeded' | 'failed';
  /** Index of the charge; `nowhere` is a charge that no processor has. @default no charge */
  readonly charge?: number | 'nowhere';
  /**
   * Step whose payment has the named charge.
   *
   * @default the step of the decided payment
   */
  readonly names?: number;
  /**
   * `taken`: the captured amount in the processor's books.
   *
   * @default no amount
   */
  readonly amount?: number | 'taken';
  readonly dry: boolean;
  /**
   * Decides about the step's payment even if the payment is not in review.
   *
   * @default decides about a payment in review: the step's payment, or else another one, or else one that the act first
   * brings into review
   */
  readonly blind?: true;
  /** Overrides the check if the books cannot be read. With `away`, the processor is down during the decision. */
  readonly override?: true | 'away';
}

const decide = act<Decision>({
  name: 'decide',
  actor: 'operator',
  feature: 'decisions',
  about: 'payment',
  weight: 4,
  delay: ['hours', 'days'],
  leadsTo: approvalSteps,
  draw: ({ dice, root, earlier }) => {
    const has = (wanted: string): boolean => earlier.some(({ act: name }) => name === wanted);
    // Rarely draw a decision when the payment is probably not in review: before a wrong amount, or after a decision.
    if ((!has('wrong_amount') || has('decide')) && !dice.chance(0.03)) return undefined;
    const outcome = dice.pick(['succeeded', 'failed'] as const);
    const amount = Math.max(1, Math.round(Number(root?.['amount'] ?? 1000) * dice.pick([1, 0.999, 0.5, 1.5])));
    return {
      outcome,
      dry: dice.chance(0.1),
      ...(dice.chance(0.6) ? { charge: dice.chance(0.1) ? 'nowhere' : dice.whole(0, 1) } : {}),
      ...(outcome === 'succeeded' && dice.chance(0.8) ? { amount: dice.chance(0.6) ? 'taken' : amount } : {}),
      ...(dice.chance(0.1) ? { blind: true } : {}),
      ...(dice.chance(0.5) ? { override: true } : {}),
    };
  },
  play: async (scene, step) => {
    const about = step.blind ? step : (inReview(scene, step) ?? (await bringIntoReview(scene, step)));
    const paymentId = about === undefined ? undefined : paymentOf(scene, about);
    if (about === undefined || paymentId === undefined) return 'nothing';
    const charges = chargesOf(scene, scene.stepOf(step.names) ?? about);
    const found = typeof step.charge === 'number' ? (charges[step.charge] ?? charges[0]) : undefined;
    const chargeId = step.charge === 'nowhere' ? 'ch_nowhere' : found?.charge.chargeId;
    const amount = step.amount === 'taken' ? (found ?? charges[0])?.charge.capturedMinor : step.amount;
    const body = {
      outcome: step.outcome,
      ...WHO,
      ...(chargeId === undefined || step.outcome === 'failed' ? {} : { charge_id: chargeId }),
      ...(amount === undefined || amount === 0 || step.outcome === 'failed' ? {} : { amount }),
      ...(step.dry ? { dry_run: true } : {}),
    };
    return askDecision(scene, step, about, paymentId, body);
  },
  describe: ({ of, outcome, charge, names, amount, dry, blind, override }, { name, money }) => {
    const taken = amount === 'taken' ? ', with the captured amount' : `, with ${money(amount, of)}`;
    return (
      `an operator ${dry ? 'previews a resolution of' : 'resolves'} ${name(of)} as ${outcome}` +
      `${charge === undefined ? '' : `, naming charge ${charge === 'nowhere' ? charge : charge + 1}`}${names === undefined ? '' : ` of ${name(names)}`}${amount === undefined ? '' : taken}` +
      (blind ? ', whatever its state' : '') +
      describeOverride(override)
    );
  },
});

async function whileAway<Result>(scene: Scene, paymentId: PaymentId, what: () => Promise<Result>): Promise<Result> {
  const payment = chainOf(scene, paymentId).at(-1)?.payment;
  if (payment === undefined) return what();
  const books = booksOf(payment);
  scene.system.processorUp(books, false);
  const result = await what();
  scene.system.processorUp(books, true);
  return result;
}

async function askDecision(
  scene: Scene,
  step: Step & { readonly override?: true | 'away' },
  about: Step,
  paymentId: PaymentId,
  body: object,
): Promise<string> {
  const path = `/v1/admin/payments/${paymentId}/resolve`;
  const request = { method: 'POST', path, key: keyOf(step), body, as: 'operator' } as const;
  const decides = async (): Promise<string> => {
    const end = endOf(await ask(scene, step, request, about));
    if (step.override === undefined || end !== '409 processor_books_unreadable') return end;
    const blind = { ...request, key: `${keyOf(step)}-override`, body: { ...body, override: true } };
    return endOf(await ask(scene, step, blind, about));
  };
  return step.override === 'away' ? whileAway(scene, paymentId, decides) : decides();
}

function describeOverride(override: true | 'away' | undefined): string {
  if (override === undefined) return '';
  return override === 'away' ? ' while the processor is down' : ', whether or not the books can be read';
}

function inReview(scene: Scene, step: Step): Step | undefined {
  return fittingPayment(scene, step, (chain) => chain.at(-1)?.payment.status === 'needs_review');
}

/**
 * Makes the processor capture a wrong amount for an unfinished charge and report it in a callback. Creates a payment if
 * there is no unfinished charge.
 *
 * @returns a step whose payment is in review; undefined if there is none
 */
async function bringIntoReview(scene: Scene, step: Step): Promise<Step | undefined> {
  const take = (about: Step): Promise<string> =>
    onCharge(scene, about, isIn('pending', 'requires_action', 'authorized'), (inside, charge) =>
      inside.correct(
        charge.chargeId,
        // A capture may be lower than its hold, so for a hold only a higher amount is wrong.
        { status: 'succeeded', amount_captured: charge.amountMinor + (charge.status === 'authorized' ? 1 : -1) },
        'charge.succeeded',
      ),
    );
  const isTaken = (await take(step)) !== 'nothing';
  const about = isTaken ? step : await furtherPayment(scene, step, { source: 'tok_async' });
  if (!isTaken) await take(about);
  await scene.system.sleep(HOUR_MS);
  return inReview(scene, about);
}

interface ChangeDecision extends Arguments {
  /** Step that requested the change. For a refund of late money: the step that created the refunded payment. */
  readonly of: number;
  readonly outcome: 'succeeded' | 'failed';
  /** Overrides the check if the books cannot be read. With `away`, the processor is down during the decision. */
  readonly override?: true | 'away';
}

const decideChange = act<ChangeDecision>({
  name: 'decide_change',
  actor: 'operator',
  feature: 'decisions',
  about: 'payment',
  weight: 0,
  delay: ['hours'],
  leadsTo: approvalSteps,
  draw: () => undefined,
  play: async (scene, step) => {
    const asked = scene.stepOf(step.of);
    for (const found of asked === undefined ? [] : stepsFrom(scene, asked, CHANGES)) {
      const paymentId = paymentOf(scene, found);
      const change = changeOf(scene, found)?.id ?? pendingReturn(scene, paymentId);
      if (paymentId === undefined || change === undefined || !isOpen(scene, paymentId, change)) continue;
      return askDecision(scene, step, found, paymentId, { outcome: step.outcome, change, ...WHO });
    }
    return 'nothing';
  },
  describe: ({ of, outcome, override }, { name }) =>
    `an operator resolves ${name(of)} as ${outcome}${describeOverride(override)}`,
});

const CHANGES = ['refund', 'capture', 'cancel', 'operator_change'];

function pendingReturn(scene: Scene, paymentId: PaymentId | undefined): string | undefined {
  const returns = (paymentId === undefined ? [] : chainOf(scene, paymentId)).flatMap(({ subject }) =>
    subject?.kind === 'refund' && isReturn(subject.refundId) ? [subject] : [],
  );
  const newest = returns.at(-1);
  return newest?.status === 'pending' ? newest.refundId : undefined;
}

/**
 * Returns true if an operator may decide about the change: it has been pending long enough, and for a capture or a
 * cancellation, the payment is not finished.
 */
function isOpen(scene: Scene, paymentId: PaymentId, change: string): boolean {
  const own = chainOf(scene, paymentId).filter(
    ({ subject }) =>
      (subject?.kind === 'refund' && subject.refundId === change) ||
      ((subject?.kind === 'capture' || subject?.kind === 'void') && subject.operationId === change),
  );
  const newest = own.at(-1)?.subject;
  const status = chainOf(scene, paymentId).at(-1)?.payment.status;
  const isHeld = status === 'requires_capture' || status === 'requires_action';
  const isPending = newest !== undefined && 'status' in newest && newest.status === 'pending';
  return (
    isPending &&
    (newest.kind === 'refund' || isHeld) &&
    (own[0]?.occurredAtMs ?? 0) + OUTCOME_KNOWN_WITHIN_MS <= scene.system.nowMs
  );
}

interface Correction extends Arguments {
  /** Never the processor’s account, whose balance must equal the money at the processor. */
  readonly debit: string;
  readonly credit: string;
  readonly amount: number;
  /** If set, the reversal of the transition with this sequence number is previewed, and nothing is posted. */
  readonly dryReverses?: number;
}

const ACCOUNTS = ['merchant_payable', 'fees', 'corrections'] as const;

const correct = act<Correction>({
  name: 'correct',
  actor: 'operator',
  feature: 'corrections',
  about: 'payment',
  weight: 3,
  delay: ['hours', 'days'],
  leadsTo: approvalSteps,
  draw: ({ dice }) => ({
    debit: dice.pick(ACCOUNTS),
    credit: dice.pick(ACCOUNTS),
    amount: dice.magnitude(1, 1000),
    ...(dice.chance(0.3) ? { dryReverses: dice.whole(1, 4) } : {}),
  }),
  play: async (scene, step) => {
    const payment = paymentOf(scene, step);
    if (payment === undefined) return 'nothing';
    const { debit, credit, amount, dryReverses } = step;
    const postings = [
      { account: debit, direction: 'debit', amount },
      { account: credit, direction: 'credit', amount },
    ];
    const body = {
      payment,
      ...WHO,
      ...(dryReverses === undefined ? { postings } : { reverses: dryReverses, dry_run: true }),
    };
    const path = '/v1/admin/corrections';
    return endOf(await ask(scene, step, { method: 'POST', path, key: keyOf(step), body, as: 'operator' }));
  },
  describe: ({ of, debit, credit, amount, dryReverses }, { name, money }) =>
    dryReverses === undefined
      ? `an operator posts ${money(amount, of)} of ${name(of)} from ${credit} to ${debit}`
      : `an operator previews a reversal of transition ${dryReverses} of ${name(of)}`,
});

interface Job extends Arguments {
  readonly job: string;
}

const runJob = act<Job>({
  name: 'run_job',
  actor: 'operator',
  feature: 'jobs',
  about: 'nothing',
  weight: 10,
  delay: ['seconds', 'hours', 'days'],
  draw: ({ dice }) => ({ job: dice.pick(JOBS).id }),
  play: async ({ system }, { job }) => {
    await system.runJob(job);
    return 'done';
  },
  describe: ({ job }) => `an operator starts the job ${job}`,
});

const MAX_HOURS = 24;

interface Redrive extends Arguments {
  readonly what: 'queues' | 'letters';
}

const redrive = act<Redrive>({
  name: 'redrive',
  actor: 'operator',
  feature: 'redrives',
  about: 'nothing',
  weight: 0,
  delay: ['hours', 'days'],
  draw: () => undefined,
  play: async ({ system }, { what }) => {
    const dead = () => Object.entries(system.queues).filter(([name, count]) => count > 0 && /dead|parked/.test(name));
    const deadLetters = () => (system.queues['letters'] ?? 0) > 0;
    // A message becomes a dead letter only after hours of retries.
    for (let hour = 0; hour < MAX_HOURS && dead().length === 0 && !deadLetters(); hour += 1)
      await system.sleep(HOUR_MS);
    const left = dead();
    const hasDeadLetters = deadLetters();
    if (hasDeadLetters && (what === 'letters' || left.length === 0)) await system.redriveDeadLetters();
    else for (const [name] of left) system.redrive(name);
    return left.length === 0 && !hasDeadLetters ? 'nothing' : 'done';
  },
  describe: ({ what }) =>
    `an operator redrives the ${what === 'letters' ? 'dead letters of the shop and of e-mails' : 'dead-letter queues'}`,
});

interface Republish extends Arguments {
  readonly lastHours: number;
}

const republish = act<Republish>({
  name: 'republish',
  actor: 'operator',
  feature: 'replays',
  about: 'nothing',
  weight: 2,
  delay: ['hours', 'days'],
  draw: ({ dice }) => ({ lastHours: dice.pick([1, 24, 240]) }),
  play: async ({ system }, { lastHours }) => {
    await system.republish(system.nowMs - lastHours * HOUR_MS, system.nowMs);
    return 'done';
  },
  describe: ({ lastHours }) => `an operator republishes the events of the last ${lastHours} h`,
});

const rebuild = act<Arguments>({
  name: 'rebuild',
  actor: 'operator',
  feature: 'rebuilds',
  about: 'nothing',
  weight: 3,
  delay: ['hours', 'days'],
  draw: () => ({}),
  play: async ({ system }) => {
    await system.rebuildViews();
    return 'done';
  },
  describe: () => 'an operator rebuilds the Views',
});

const erase = act<Arguments>({
  name: 'erase',
  actor: 'operator',
  feature: 'erasures',
  about: 'payment',
  weight: 2,
  delay: ['minutes', 'days'],
  draw: () => ({}),
  play: async (scene, step) => {
    const ids = [paymentOf(scene, step), orderOf(scene, step)].filter((id) => id !== undefined);
    for (const id of ids) await scene.system.erase(id);
    return ids.length === 0 ? 'nothing' : 'done';
  },
  describe: ({ of }, { name }) => `an operator erases the personal data of ${name(of)}`,
});

export const OPERATOR_ACTS: readonly Act[] = [
  decide,
  decideChange,
  correct,
  runJob,
  redrive,
  republish,
  rebuild,
  erase,
];
