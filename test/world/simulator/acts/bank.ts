/**
 * Acts of payers, their banks and the processor. Payonce learns of these acts only if a callback reports them or a
 * function reads the charge.
 */
import type { ProcessorCharge } from '../../../../lambdas/payments/domain/processor-charge.ts';
import type { Charge } from '../../../../lambdas/processors/sandbox/sandbox-api.ts';
import {
  type Act,
  act,
  type Draft,
  type Drawing,
  hasHold,
  hasMoney,
  type Scene,
  sourceOf,
  waitsForPayer,
} from './act.ts';
import {
  type Amount,
  awaitsPayer,
  hasLeft,
  isIn,
  type OfCharge,
  ordinal,
  pickCharge,
  share,
  undisputedOf,
} from './charges.ts';
import { onCharge } from './objects.ts';

const approve = act<OfCharge>({
  name: 'approve',
  actor: 'payer',
  feature: 'actions',
  about: 'payment',
  weight: 10,
  delay: ['seconds', 'minutes', 'hours'],
  draw: (drawing) => (waitsForPayer(drawing) ? {} : undefined),
  play: (scene, step) => onCharge(scene, step, awaitsPayer, (inside, { chargeId }) => inside.approve(chargeId)),
  describe: ({ of }, { name }) => `the payer approves ${name(of)}`,
});

const refuse = act<OfCharge>({
  name: 'refuse',
  actor: 'payer',
  feature: 'actions',
  about: 'payment',
  weight: 7,
  delay: ['seconds', 'minutes', 'hours'],
  draw: (drawing) => (waitsForPayer(drawing) ? {} : undefined),
  play: (scene, step) => onCharge(scene, step, awaitsPayer, (inside, { chargeId }) => inside.decline(chargeId)),
  describe: ({ of }, { name }) => `the payer refuses ${name(of)}`,
});

/** Duration of the processor outage that delays the refund of a late success, in milliseconds. */
const RETURN_WAITS_MS = 2 * 3_600_000;

const lateSuccess = act<OfCharge>({
  name: 'late_success',
  actor: 'bank',
  feature: 'late_success',
  about: 'payment',
  weight: 12,
  delay: ['seconds', 'minutes', 'hours', 'days'],
  draw: (drawing) =>
    /declined|action|late/.test(sourceOf(drawing)) && !drawing.earlier.some(({ act: name }) => name === 'late_success')
      ? {}
      : undefined,
  leadsTo: ({ dice, has }, { atMs }): readonly Draft[] => [
    // An outage delays the refund, and the processor's books change in the meantime.
    ...(has('contradictions') && dice.chance(0.4)
      ? [
          {
            act: 'processor_outage',
            delay: ['instant'],
            given: { processor: 'its', forMs: RETURN_WAITS_MS },
            fromMs: atMs + 500,
          } as const,
          { act: 'contradict', delay: ['minutes'], given: { what: 'declined', hasCallback: false } } as const,
        ]
      : []),
    ...(has('disputes') && dice.chance(0.5)
      ? [{ act: 'dispute', delay: ['instant', 'minutes', 'days'], given: { amount: 0 } } as const]
      : []),
    ...(has('refund_failures') && dice.chance(0.4)
      ? [{ act: 'fail_refund', delay: ['days'], given: { which: 'newest' } } as const]
      : []),
    ...(has('floods') && dice.chance(0.5)
      ? [{ act: 'flood', delay: ['instant', 'minutes'], given: { count: 120 } } as const]
      : []),
  ],
  play: (scene, step) =>
    onCharge(scene, step, isIn('declined', 'pending', 'requires_action'), (inside, { chargeId }) =>
      inside.approve(chargeId),
    ),
  describe: ({ of }, { name }) => `the bank later confirms the charge of ${name(of)}`,
});

const dispute = act<Amount>({
  name: 'dispute',
  actor: 'payer',
  feature: 'disputes',
  about: 'payment',
  weight: 6,
  delay: ['instant', 'seconds', 'minutes', 'hours', 'days'],
  draw: (drawing) =>
    hasMoney(drawing) ? { amount: share(drawing, [1, 1, 0.5, 0.3]), ...pickCharge(drawing) } : undefined,
  leadsTo: ({ dice }, { charge }): readonly Draft[] =>
    dice.chance(0.7)
      ? [
          {
            act: 'close_dispute',
            delay: ['instant', 'hours', 'days'],
            given: { outcome: dice.pick(['won', 'lost']), ...(charge === undefined ? {} : { charge }) },
          },
        ]
      : [],
  play: (scene, step) =>
    onCharge(
      scene,
      step,
      (charge) => undisputedOf(charge) > 0,
      (inside, charge) => {
        const mostMinor = undisputedOf(charge);
        return inside.dispute(charge.chargeId, step.amount === 0 ? mostMinor : Math.min(step.amount, mostMinor));
      },
    ),
  describe: ({ of, amount, charge }, { name, money }) =>
    `the payer disputes ${amount === 0 ? 'all' : money(amount, of)} of ${name(of)}${ordinal(charge)}`,
});

interface Close extends OfCharge {
  readonly outcome: 'won' | 'lost';
}

const closeDispute = act<Close>({
  name: 'close_dispute',
  actor: 'bank',
  feature: 'disputes',
  about: 'payment',
  weight: 0,
  delay: ['hours', 'days'],
  draw: ({ dice }) => ({ outcome: dice.pick(['won', 'lost']) }),
  leadsTo: ({ dice, has }, { outcome, charge }): readonly Draft[] => {
    const what = outcome === 'won' ? 'dispute_lost' : 'dispute_won';
    const given = { what, hasCallback: true, ...(charge === undefined ? {} : { charge }) };
    return has('contradictions') && dice.chance(0.5) ? [{ act: 'contradict', delay: ['hours', 'days'], given }] : [];
  },
  play: (scene, step) =>
    onCharge(
      scene,
      step,
      ({ disputes }) => disputes.some(({ status }) => status === 'open'),
      async (inside, { disputes }) => {
        const open = disputes.find(({ status }) => status === 'open');
        return open === undefined ? 'nothing' : inside.closeDispute(open.disputeId, step.outcome);
      },
    ),
  describe: ({ of, outcome, charge }, { name }) => `the dispute of ${name(of)}${ordinal(charge)} is ${outcome}`,
});

interface EndRefund extends OfCharge {
  /**
   * `own`: the newest refund by Payonce that has not failed. `newest`: the newest refund of any origin that has not
   * failed.
   */
  readonly which: 'own' | 'newest';
}

function refundToFail({ refunds }: ProcessorCharge, { which: named }: Pick<EndRefund, 'which'>) {
  const isOwn = ({ refundId }: { readonly refundId: string }): boolean => !refundId.startsWith('re_');
  return refunds.findLast((each) => each.status !== 'failed' && (named === 'newest' || isOwn(each)));
}

const failRefund = act<EndRefund>({
  name: 'fail_refund',
  actor: 'bank',
  feature: 'refund_failures',
  about: 'payment',
  weight: 3,
  delay: ['minutes', 'hours', 'days'],
  draw: (drawing) =>
    drawing.earlier.some(({ act: name }) => /refund|late_success|stray|order/.test(name))
      ? { which: 'newest', ...pickCharge(drawing) }
      : undefined,
  leadsTo: ({ dice, has }): readonly Draft[] =>
    has('contradictions') && dice.chance(0.4)
      ? [{ act: 'contradict', delay: ['hours', 'days'], given: { what: 'refund_succeeds', hasCallback: true } }]
      : [],
  play: (scene, step) =>
    onCharge(
      scene,
      step,
      (charge) => refundToFail(charge, step) !== undefined,
      async (inside, charge) => {
        const found = refundToFail(charge, step);
        return found === undefined ? 'nothing' : inside.endRefund(found.refundId, 'failed');
      },
    ),
  describe: ({ of, which: refund, charge }, { name }) =>
    `the newest refund ${refund === 'own' ? 'by Payonce ' : ''}of ${name(of)}${ordinal(charge)} fails at the bank`,
});

const finishRefund = act<OfCharge>({
  name: 'finish_refund',
  actor: 'bank',
  feature: 'refund_failures',
  about: 'payment',
  weight: 2,
  delay: ['seconds', 'minutes', 'hours'],
  draw: (drawing) => (drawing.earlier.some(({ begins }) => begins === 'pending') ? pickCharge(drawing) : undefined),
  play: async (scene, step) => {
    const end = await onCharge(
      scene,
      step,
      ({ refunds }) => refunds.some(({ status }) => status === 'pending'),
      async (inside, { refunds }) => {
        const found = refunds.find(({ status }) => status === 'pending');
        return found === undefined ? 'nothing' : inside.endRefund(found.refundId, 'succeeded');
      },
    );
    if (end !== 'nothing') return end;
    // There is no pending refund, so another user of the processor's account creates one.
    return onCharge(scene, step, hasLeft, async (inside, { chargeId }) =>
      inside.endRefund(await inside.refund(chargeId, 1, 'pending'), 'succeeded'),
    );
  },
  describe: ({ of, charge }, { name }) => `the bank completes the pending refund of ${name(of)}${ordinal(charge)}`,
});

const expire = act<OfCharge>({
  name: 'expire',
  actor: 'bank',
  feature: 'dashboard',
  about: 'payment',
  weight: 5,
  delay: ['seconds', 'minutes'],
  draw: (drawing) => (hasHold(drawing) || waitsForPayer(drawing) ? {} : undefined),
  play: (scene, step) =>
    onCharge(scene, step, isIn('authorized', 'requires_action'), (inside, { chargeId }) => inside.expire(chargeId)),
  describe: ({ of }, { name }) => `the bank releases the hold of ${name(of)}`,
});

interface WrongAmount extends Amount {
  /** @default no callback */
  readonly hasCallback?: true;
}

const wrongAmount = act<WrongAmount>({
  name: 'wrong_amount',
  actor: 'bank',
  feature: 'wrong_amounts',
  about: 'payment',
  weight: 5,
  delay: ['seconds'],
  draw: (drawing) =>
    hasHold(drawing) || waitsForPayer(drawing) || sourceOf(drawing) === 'tok_async'
      ? // A capture may be lower than its hold, so for a hold only a higher amount is wrong.
        {
          amount: share(drawing, hasHold(drawing) ? [1.001, 1.5] : [0.999, 0.5, 1.5]),
          ...(drawing.dice.chance(0.4) ? { hasCallback: true } : {}),
        }
      : undefined,
  leadsTo: (drawing): readonly Draft[] => [
    // Payonce notices the wrong amount of a hold when the merchant captures the hold.
    ...(hasHold(drawing) && drawing.dice.chance(0.7)
      ? [{ act: 'capture', delay: ['minutes'], given: {} } as const]
      : []),
    ...afterWrongAmount(drawing),
  ],
  play: async (scene, step) => {
    const correct = (fits: (charge: ProcessorCharge) => boolean): Promise<string> =>
      onCharge(scene, step, fits, (inside, { chargeId }) =>
        inside.correct(
          chargeId,
          { status: 'succeeded', amount_captured: step.amount },
          step.hasCallback ? 'charge.succeeded' : undefined,
        ),
      );
    const end = await correct(isIn('pending', 'requires_action', 'authorized'));
    if (end !== 'nothing') return end;
    return correct((charge) => charge.status === 'succeeded' && isUntouched(charge));
  },
  describe: ({ of, amount, hasCallback }, { name, money }) =>
    `the processor captures ${money(amount, of)} for ${name(of)}${hasCallback ? ', and sends a callback' : ''}`,
});

function afterWrongAmount({ dice, has, root, earlier }: Drawing): readonly Draft[] {
  const isDecided = earlier.some(({ act: name }) => name === 'decide');
  const withStray = has('strays') && !isDecided && dice.chance(0.3);
  return [
    ...(withStray
      ? [
          {
            act: 'stray',
            delay: ['minutes'],
            given: { amount: Number(root?.['amount'] ?? 1000), named: false, source: 'tok_ok' },
          } as const,
          {
            act: 'decide',
            delay: ['minutes', 'hours'],
            given: { outcome: 'succeeded', charge: 1, amount: 'taken', dry: false },
          } as const,
        ]
      : []),
    ...(has('dashboard') && dice.chance(0.3)
      ? [{ act: 'foreign_refund', delay: ['minutes'], given: { amount: 1, begins: 'succeeded' } } as const]
      : []),
    ...(has('contradictions') && dice.chance(0.3)
      ? [
          {
            act: 'contradict',
            delay: ['minutes'],
            given: { what: dice.pick(['voided', 'right_amount']), hasCallback: true },
          } as const,
        ]
      : []),
    ...(has('decisions') && !withStray && !isDecided && dice.chance(0.8)
      ? [
          {
            act: 'decide',
            delay: ['hours', 'days'],
            given: { outcome: dice.pick(['succeeded', 'failed']), charge: 0, amount: 'taken', dry: dice.chance(0.1) },
          } as const,
        ]
      : []),
  ];
}

interface LateFee extends OfCharge {
  /** In minor units. Negative if the processor pays back more for a dispute than it deducted. */
  readonly fee: number;
  /** @default the currency of the charge */
  readonly currency?: string;
  /**
   * Whether the fee is for each dispute of the charge instead of the charge itself. Without disputes, the fee is always
   * for the charge.
   */
  readonly ofDispute: boolean;
  readonly hasCallback: boolean;
}

const bookFee = act<LateFee>({
  name: 'book_fee',
  actor: 'bank',
  feature: 'late_fees',
  about: 'payment',
  weight: 8,
  delay: ['seconds', 'minutes', 'hours', 'days'],
  draw: (drawing) => {
    const { dice } = drawing;
    if (!hasMoney(drawing)) return undefined;
    const drawn = {
      fee: dice.pick([0, 1, 30, 59]),
      ...(dice.chance(0.4) ? { currency: 'USD' } : {}),
      ofDispute: dice.chance(0.4),
      hasCallback: dice.chance(0.7),
      ...pickCharge(drawing),
    };
    return drawn.ofDispute && dice.named('paid back').chance(0.3) ? { ...drawn, fee: -90 } : drawn;
  },
  play: (scene, step) =>
    onCharge(scene, step, isIn('succeeded'), async (inside, { chargeId }) => {
      const { disputes } = await inside.read(chargeId);
      const settled = step.currency === undefined ? {} : { fee_currency: step.currency };
      const changes =
        step.ofDispute && disputes.length > 0
          ? { disputes: disputes.map((each) => ({ ...each, fee: step.fee })) }
          : { fee: Math.max(0, step.fee) };
      await inside.correct(chargeId, { ...changes, ...settled }, step.hasCallback ? 'charge.succeeded' : undefined);
    }),
  describe: ({ of, fee, currency, ofDispute, hasCallback, charge }, { name, money }) =>
    `the processor books a fee of ${currency === undefined ? money(fee, of) : `${(fee / 100).toFixed(2)} ${currency}`} for ` +
    `${ofDispute ? 'the disputes of ' : ''}${name(of)}${ordinal(charge)}${hasCallback ? '' : '; no callback reports it'}`,
});

const CONTRADICTIONS = [
  'declined',
  'voided',
  'captured',
  'right_amount',
  'other_amount',
  'refund_succeeds',
  'dispute_won',
  'dispute_lost',
] as const;

interface Contradiction extends OfCharge {
  readonly what: (typeof CONTRADICTIONS)[number];
  readonly hasCallback: boolean;
}

const contradict = act<Contradiction>({
  name: 'contradict',
  actor: 'bank',
  feature: 'contradictions',
  about: 'payment',
  weight: 4,
  delay: ['minutes', 'hours', 'days'],
  draw: (drawing) => ({
    what: drawing.dice.pick(CONTRADICTIONS),
    hasCallback: drawing.dice.chance(0.7),
    ...pickCharge(drawing),
  }),
  play: (scene, step) =>
    onCharge(
      scene,
      step,
      (charge) => contradictionFor(scene, step, charge) !== undefined,
      async (inside, found) => {
        const { chargeId } = found;
        const charge = await inside.read(chargeId);
        const changes = contradictionOf(charge, contradictionFor(scene, step, found) ?? step.what);
        return changes === undefined
          ? 'nothing'
          : inside.correct(
              chargeId,
              changes,
              step.hasCallback ? `charge.${changes.status ?? charge.status}` : undefined,
            );
      },
    ),
  describe: ({ of, what, hasCallback, charge }, { name }) =>
    `the processor’s books of ${name(of)}${ordinal(charge)} show a contradiction: ${what.replaceAll('_', ' ')}, or another one if that is impossible` +
    (hasCallback ? '' : '; no callback reports it'),
});

const isUntouched = ({ refunds, disputes }: ProcessorCharge): boolean => refunds.length === 0 && disputes.length === 0;

/** Returns the drawn contradiction if it is possible for the charge; otherwise a random possible one. */
function contradictionFor(
  { system }: Scene,
  { id, what }: { readonly id: number; readonly what: Contradiction['what'] },
  charge: ProcessorCharge,
): Contradiction['what'] | undefined {
  const fitting = CONTRADICTIONS.filter((each) => canContradict(each, charge));
  if (fitting.includes(what)) return what;
  return fitting[Math.floor(system.decide(`step ${id} contradicts`) * fitting.length)];
}

function canContradict(what: Contradiction['what'], charge: ProcessorCharge): boolean {
  const { status, amountMinor, capturedMinor, refunds, disputes } = charge;
  if (what === 'refund_succeeds') return refunds.some((refund) => refund.status === 'failed');
  if (what === 'dispute_won') return disputes.some((each) => each.status === 'lost');
  if (what === 'dispute_lost') return disputes.some((each) => each.status === 'won');
  if (!isUntouched(charge)) return false;
  if (what === 'captured') return status === 'voided';
  if (what === 'other_amount') return status === 'voided' || status === 'declined';
  if (what === 'right_amount') return status === 'succeeded' && capturedMinor > amountMinor;
  return status !== what;
}

/** Returns undefined if the contradiction is not possible for the charge. */
function contradictionOf(charge: Charge, what: Contradiction['what']): Partial<Charge> | undefined {
  const { status, refunds, disputes } = charge;
  switch (what) {
    case 'declined':
    case 'voided':
      return status === what || refunds.length > 0 || disputes.length > 0
        ? undefined
        : { status: what, amount_captured: 0 };
    case 'captured':
    case 'right_amount':
      return { status: 'succeeded', amount_captured: charge.amount };
    case 'other_amount':
      return { status: 'succeeded', amount_captured: charge.amount + 1 };
    case 'refund_succeeds': {
      const found = refunds.find((refund) => refund.status === 'failed');
      if (found === undefined) return undefined;
      const ended = { ...found, status: 'succeeded' as const };
      return {
        refunds: refunds.map((refund) => (refund === found ? ended : refund)),
        amount_refunded: charge.amount_refunded + found.amount,
      };
    }
    case 'dispute_won':
    case 'dispute_lost': {
      const [from, to] = what === 'dispute_won' ? (['lost', 'won'] as const) : (['won', 'lost'] as const);
      const found = disputes.find((each) => each.status === from);
      if (found === undefined) return undefined;
      return { disputes: disputes.map((each) => (each === found ? { ...found, status: to } : each)) };
    }
  }
}

export const BANK_ACTS: readonly Act[] = [
  approve,
  refuse,
  lateSuccess,
  dispute,
  closeDispute,
  failRefund,
  finishRefund,
  expire,
  wrongAmount,
  bookFee,
  contradict,
];
