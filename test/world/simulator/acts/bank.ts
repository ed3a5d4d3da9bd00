import type { Charge, Refund } from '../../../../lambdas/kernel/contract/sandbox-api.ts';
import type { ProcessorCharge } from '../../../../lambdas/payments/domain/processor-charge.ts';
import { type Act, type Arguments, act, type Draft, type Drawing } from './act.ts';
import { chargeOf, deedAt, leftOf, onCharge, paymentOf } from './objects.ts';

/** What payers, their banks, and other users of the processor’s account do. Payonce learns of it by callbacks, or not at all. */

interface OfCharge extends Arguments {
  /** Which of the payment’s charges. @default the first */
  readonly charge?: number;
}

interface Amount extends OfCharge {
  /** Minor units. */
  readonly amount: number;
}

const amountOf = ({ root }: Drawing): number => Number(root?.['amount'] ?? 1000);
const sourceOf = ({ root }: Drawing): string => String(root?.['source']);
const isHeld = ({ root }: Drawing): boolean => root?.['capture'] === 'manual';

function share(drawing: Drawing, shares: readonly number[]): number {
  return Math.max(1, Math.round(amountOf(drawing) * drawing.dice.pick(shares)));
}

/** The second charge, if a stray was made before, half of the time. */
function which({ dice, earlier }: Drawing): OfCharge {
  return earlier.some(({ act: name }) => name === 'stray') && dice.chance(0.5) ? { charge: 1 } : {};
}

const isIn =
  (...statuses: readonly ProcessorCharge['status'][]) =>
  ({ status }: ProcessorCharge): boolean =>
    statuses.includes(status);
const isHold = isIn('authorized');
const awaitsPayer = isIn('requires_action');
/** What can be disputed, also when it was refunded before. Minor units. */
const undisputedOf = (charge: ProcessorCharge): number => leftOf({ ...charge, refunds: [] });
const hasLeft = (charge: ProcessorCharge): boolean => leftOf(charge) > 0;

const ordinal = (charge: number | undefined): string => (charge === undefined ? '' : ` (charge ${charge + 1})`);

const approve = act<OfCharge>({
  name: 'approve',
  actor: 'payer',
  feature: 'actions',
  about: 'payment',
  weight: 10,
  pace: ['seconds', 'minutes', 'hours', 'days'],
  draw: (drawing) => (sourceOf(drawing) === 'tok_action' ? {} : undefined),
  play: (scene, step) => onCharge(scene, step, awaitsPayer, (inside, { chargeId }) => inside.approve(chargeId)),
  tell: ({ of }, { name }) => `the payer approves ${name(of)}`,
});

const refuse = act<OfCharge>({
  name: 'refuse',
  actor: 'payer',
  feature: 'actions',
  about: 'payment',
  weight: 3,
  pace: ['seconds', 'minutes', 'hours'],
  draw: (drawing) => (sourceOf(drawing) === 'tok_action' ? {} : undefined),
  play: (scene, step) => onCharge(scene, step, awaitsPayer, (inside, { chargeId }) => inside.decline(chargeId)),
  tell: ({ of }, { name }) => `the payer refuses ${name(of)}`,
});

const lateSuccess = act<OfCharge>({
  name: 'late_success',
  actor: 'bank',
  feature: 'late_success',
  about: 'payment',
  weight: 12,
  pace: ['seconds', 'minutes', 'hours', 'days'],
  draw: (drawing) =>
    /declined|action|late/.test(sourceOf(drawing)) && !drawing.earlier.some(({ act: name }) => name === 'late_success')
      ? {}
      : undefined,
  leadsTo: ({ dice, has }): readonly Draft[] => [
    ...(has('disputes') && dice.chance(0.5)
      ? [{ act: 'dispute', pace: ['instant', 'minutes', 'days'], given: { amount: 0 } } as const]
      : []),
    ...(has('refund_failures') && dice.chance(0.4)
      ? [{ act: 'fail_refund', pace: ['days'], given: { which: 'newest' } } as const]
      : []),
    ...(has('floods') && dice.chance(0.5)
      ? [{ act: 'flood', pace: ['instant', 'minutes'], given: { count: 120 } } as const]
      : []),
  ],
  play: (scene, step) =>
    onCharge(scene, step, isIn('declined', 'pending', 'requires_action'), (inside, { chargeId }) =>
      inside.approve(chargeId),
    ),
  tell: ({ of }, { name }) => `the bank confirms the charge of ${name(of)} after all`,
});

const dispute = act<Amount>({
  name: 'dispute',
  actor: 'payer',
  feature: 'disputes',
  about: 'payment',
  weight: 6,
  pace: ['instant', 'seconds', 'minutes', 'hours', 'days'],
  draw: (drawing) => ({ amount: share(drawing, [1, 1, 0.5, 0.3]), ...which(drawing) }),
  leadsTo: ({ dice }, { charge }): readonly Draft[] =>
    dice.chance(0.6)
      ? [
          {
            act: 'close_dispute',
            pace: ['instant', 'hours', 'days'],
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
  tell: ({ of, amount, charge }, { name, money }) =>
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
  pace: ['hours', 'days'],
  draw: ({ dice }) => ({ outcome: dice.pick(['won', 'lost']) }),
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
  tell: ({ of, outcome, charge }, { name }) => `the dispute of ${name(of)}${ordinal(charge)} is ${outcome}`,
});

interface EndRefund extends OfCharge {
  /** `own`: one that Payonce made; `newest`: any. */
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
  pace: ['minutes', 'hours', 'days'],
  draw: (drawing) =>
    drawing.earlier.some(({ act: name }) => /refund|late_success|stray|order/.test(name))
      ? { which: 'newest', ...which(drawing) }
      : undefined,
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
  tell: ({ of, which: refund, charge }, { name }) =>
    `the bank fails the newest ${refund === 'own' ? 'own ' : ''}refund of ${name(of)}${ordinal(charge)}`,
});

const finishRefund = act<OfCharge>({
  name: 'finish_refund',
  actor: 'bank',
  feature: 'refund_failures',
  about: 'payment',
  weight: 1,
  pace: ['hours', 'days'],
  draw: (drawing) => (drawing.earlier.some(({ act: name }) => name.includes('refund')) ? which(drawing) : undefined),
  play: (scene, step) =>
    onCharge(
      scene,
      step,
      ({ refunds }) => refunds.some(({ status }) => status === 'pending'),
      async (inside, { refunds }) => {
        const found = refunds.find(({ status }) => status === 'pending');
        return found === undefined ? 'nothing' : inside.endRefund(found.refundId, 'succeeded');
      },
    ),
  tell: ({ of, charge }, { name }) => `the bank completes the pending refund of ${name(of)}${ordinal(charge)}`,
});

const expire = act<OfCharge>({
  name: 'expire',
  actor: 'bank',
  feature: 'dashboard',
  about: 'payment',
  weight: 3,
  pace: ['hours', 'days'],
  draw: (drawing) => (isHeld(drawing) || sourceOf(drawing) === 'tok_action' ? {} : undefined),
  play: (scene, step) =>
    onCharge(scene, step, isIn('authorized', 'requires_action'), (inside, { chargeId }) => inside.expire(chargeId)),
  tell: ({ of }, { name }) => `the bank releases the hold of ${name(of)}`,
});

interface ForeignRefund extends Amount {
  readonly begins: 'pending' | 'succeeded';
}

const foreignRefund = act<ForeignRefund>({
  name: 'foreign_refund',
  actor: 'dashboard',
  feature: 'dashboard',
  about: 'payment',
  weight: 4,
  pace: ['seconds', 'minutes', 'hours', 'days'],
  draw: (drawing) => ({
    amount: share(drawing, [1, 1, 0.5, 0.3]),
    begins: drawing.dice.chance(0.5) ? 'pending' : 'succeeded',
    ...which(drawing),
  }),
  leadsTo: ({ dice, has }): readonly Draft[] =>
    has('refund_failures') && dice.chance(0.6)
      ? [{ act: 'fail_refund', pace: ['minutes', 'days'], given: { which: 'newest' } }]
      : [],
  play: (scene, step) =>
    onCharge(scene, step, hasLeft, (inside, charge) =>
      inside.refund(charge.chargeId, Math.min(step.amount, leftOf(charge)), step.begins),
    ),
  tell: ({ of, amount, begins, charge }, { name, money }) =>
    `someone refunds ${money(amount, of)} of ${name(of)}${ordinal(charge)} at the processor` +
    (begins === 'pending' ? '; it is pending' : ''),
});

/** After these a hold is rarely left. */
const ENDS_HOLD = new Set(['capture', 'cancel', 'expire', 'foreign_capture', 'foreign_void']);

const foreignCapture = act<Amount>({
  name: 'foreign_capture',
  actor: 'dashboard',
  feature: 'dashboard',
  about: 'payment',
  weight: 4,
  pace: ['seconds', 'minutes', 'hours'],
  draw: (drawing) =>
    isHeld(drawing) && !drawing.earlier.some(({ act: name }) => ENDS_HOLD.has(name))
      ? { amount: share(drawing, [1, 0.5, 0.999]) }
      : undefined,
  play: (scene, step) =>
    onCharge(scene, step, isHold, (inside, { chargeId, amountMinor }) =>
      inside.capture(chargeId, Math.min(step.amount, amountMinor)),
    ),
  tell: ({ of, amount }, { name, money }) => `someone captures ${money(amount, of)} of ${name(of)} at the processor`,
});

const foreignVoid = act<OfCharge>({
  name: 'foreign_void',
  actor: 'dashboard',
  feature: 'dashboard',
  about: 'payment',
  weight: 2,
  pace: ['seconds', 'minutes', 'hours'],
  draw: (drawing) => (isHeld(drawing) ? {} : undefined),
  play: (scene, step) => onCharge(scene, step, isHold, (inside, { chargeId }) => inside.void(chargeId)),
  tell: ({ of }, { name }) => `someone voids ${name(of)} at the processor`,
});

interface Stray extends Arguments {
  readonly amount: number;
  /** Whether its metadata name the payment’s own operation too. */
  readonly named: boolean;
  readonly source: string;
}

const stray = act<Stray>({
  name: 'stray',
  actor: 'dashboard',
  feature: 'strays',
  about: 'payment',
  weight: 4,
  pace: ['instant', 'seconds', 'minutes', 'hours', 'days'],
  draw: (drawing) => ({
    amount: share(drawing, [1, 1, 0.5]),
    named: drawing.dice.chance(0.3),
    source: drawing.dice.weighted(['tok_ok', 'tok_async', 'tok_declined'], (source) => (source === 'tok_ok' ? 6 : 1)),
  }),
  play: async (scene, step) => {
    const paymentId = paymentOf(scene, step);
    if (paymentId === undefined) return 'nothing';
    const processor = chargeOf(scene, step)?.processor ?? scene.system.settings.defaultProcessor;
    const { amount, source, named } = step;
    const operation = named ? { operationId: paymentId } : {};
    return deedAt(scene, processor, (inside) =>
      inside.charge({ paymentId, ...operation, amountMinor: amount, source }),
    );
  },
  tell: ({ of, amount, source }, { name, money }) =>
    `another charge of ${money(amount, of)} from ${source} appears for ${name(of)}`,
});

/** The processor’s books show another amount than was requested. No callback tells of it. */
const wrongAmount = act<Amount>({
  name: 'wrong_amount',
  actor: 'bank',
  feature: 'wrong_amounts',
  about: 'payment',
  weight: 5,
  pace: ['instant'],
  draw: (drawing) =>
    isHeld(drawing) || /async|action|timeout_charged|malformed/.test(sourceOf(drawing))
      ? { amount: share(drawing, [0.999, 0.5, 1.5]) }
      : undefined,
  leadsTo: ({ dice, has, root }): readonly Draft[] => [
    ...(has('strays') && dice.chance(0.3)
      ? [
          {
            act: 'stray',
            pace: ['minutes'],
            given: { amount: Number(root?.['amount'] ?? 1000), named: false, source: 'tok_ok' },
          } as const,
          {
            act: 'decide',
            pace: ['minutes', 'hours'],
            given: { outcome: 'succeeded', charge: 1, amount: 'taken', dry: false },
          } as const,
        ]
      : []),
    ...(has('dashboard') && dice.chance(0.3)
      ? [{ act: 'foreign_refund', pace: ['minutes'], given: { amount: 1, begins: 'succeeded' } } as const]
      : []),
    ...(has('decisions') && dice.chance(0.6)
      ? [
          {
            act: 'decide',
            pace: ['hours', 'days'],
            given: { outcome: dice.pick(['succeeded', 'failed']), charge: 0, amount: 'taken', dry: false },
          } as const,
        ]
      : []),
  ],
  play: (scene, step) =>
    onCharge(
      scene,
      step,
      ({ status, refunds, disputes }) =>
        status !== 'declined' && status !== 'voided' && refunds.length === 0 && disputes.length === 0,
      (inside, { chargeId }) => inside.correct(chargeId, { status: 'succeeded', amount_captured: step.amount }),
    ),
  tell: ({ of, amount }, { name, money }) => `the processor captures ${money(amount, of)} for ${name(of)}`,
});

interface Contradiction extends OfCharge {
  readonly what: 'declined' | 'voided' | 'refund_succeeds' | 'dispute_won' | 'dispute_lost';
  readonly isTold: boolean;
}

/** The processor says the opposite of what it said before. */
const contradict = act<Contradiction>({
  name: 'contradict',
  actor: 'bank',
  feature: 'contradictions',
  about: 'payment',
  weight: 4,
  pace: ['minutes', 'hours', 'days'],
  draw: (drawing) => ({
    what: drawing.dice.pick(['declined', 'voided', 'refund_succeeds', 'dispute_won', 'dispute_lost'] as const),
    isTold: drawing.dice.chance(0.7),
    ...which(drawing),
  }),
  play: (scene, step) =>
    onCharge(scene, step, canContradict(step.what), async (inside, { chargeId }) => {
      const charge = await inside.read(chargeId);
      const changes = contradictionOf(charge, step.what);
      return changes === undefined
        ? 'nothing'
        : inside.correct(chargeId, changes, step.isTold ? `charge.${changes.status ?? charge.status}` : undefined);
    }),
  tell: ({ of, what, isTold, charge }, { name }) =>
    `the processor’s books show ${what.replaceAll('_', ' ')} for ${name(of)}${ordinal(charge)}, against what they showed` +
    (isTold ? '' : '; no callback tells'),
});

const canContradict =
  (what: Contradiction['what']) =>
  ({ status, refunds, disputes }: ProcessorCharge): boolean => {
    if (what === 'refund_succeeds') return refunds.some((refund) => refund.status === 'failed');
    if (what === 'dispute_won') return disputes.some((each) => each.status === 'lost');
    if (what === 'dispute_lost') return disputes.some((each) => each.status === 'won');
    return status !== what && refunds.length === 0 && disputes.length === 0;
  };

/** @returns undefined when there is nothing to contradict */
function contradictionOf(charge: Charge, what: Contradiction['what']): Partial<Charge> | undefined {
  const { status, refunds, disputes } = charge;
  switch (what) {
    case 'declined':
    case 'voided':
      return status === what || refunds.length > 0 || disputes.length > 0
        ? undefined
        : { status: what, amount_captured: 0 };
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

interface Flood extends Arguments {
  readonly count: number;
}

/** The sandbox writes a row for each new refund, in one transaction. */
const MOST_AT_ONCE = 80;

const canFlood = ({ capturedMinor, refunds }: ProcessorCharge): boolean => capturedMinor > 1 && refunds.length === 0;

/** Many refunds of one minor unit, made at the processor. */
const flood = act<Flood>({
  name: 'flood',
  actor: 'dashboard',
  feature: 'floods',
  about: 'payment',
  weight: 8,
  pace: ['minutes', 'hours'],
  draw: ({ dice }) => ({ count: dice.pick([120, 300]) }),
  leadsTo: ({ dice, has, root }): readonly Draft[] => [
    ...(has('silence') && dice.chance(0.5)
      ? [
          {
            act: 'trouble',
            pace: ['seconds'],
            given: {
              processor: root?.['currency'] === 'USD' && has('second_processor') ? 'second' : 'sandbox',
              calls: 'changes',
              count: 1,
              source: dice.pick(['tok_timeout_charged', 'tok_timeout_not_charged']),
            },
          } as const,
        ]
      : []),
    ...(has('refunds') && dice.chance(0.6)
      ? [{ act: 'refund', pace: ['minutes'], given: { amount: 1 } } as const]
      : []),
    ...(has('disputes') && dice.chance(0.6)
      ? [{ act: 'dispute', pace: ['hours'], given: { amount: 0 } } as const]
      : []),
  ],
  play: (scene, step) =>
    onCharge(scene, step, canFlood, async (inside, { chargeId, capturedMinor }) => {
      const count = Math.min(step.count, capturedMinor) - 1;
      const made = Array.from({ length: count }, (_, index): Refund => {
        const id = `re_${chargeId}_${index}`;
        return { id, object: 'refund', charge: chargeId, amount: 1, status: 'succeeded', metadata: {} };
      });
      for (let known = 0; known < count; known += MOST_AT_ONCE) {
        const shown = made.slice(0, known + MOST_AT_ONCE);
        await inside.correct(chargeId, { refunds: shown, amount_refunded: shown.length });
      }
      // One callback tells of all of them.
      return inside.refund(chargeId, 1);
    }),
  tell: ({ of, count }, { name, money }) =>
    `someone makes ${count} refunds of ${money(1, of)} of ${name(of)} at the processor`,
});

export const BANK_ACTS: readonly Act[] = [
  approve,
  refuse,
  lateSuccess,
  dispute,
  closeDispute,
  failRefund,
  finishRefund,
  expire,
  foreignRefund,
  foreignCapture,
  foreignVoid,
  stray,
  wrongAmount,
  contradict,
  flood,
];
