/**
 * Acts of other users and programs at the processor, and large numbers of disputes. Payonce learns of these acts only
 * if a callback reports them or a function reads the charge.
 */
import type { ProcessorCharge } from '../../../../lambdas/payments/domain/processor-charge.ts';
import type { Refund } from '../../../../lambdas/processors/sandbox/sandbox-api.ts';
import { type Act, type Arguments, act, type Draft, type Drawing, hasHold, hasMoney, sourceOf } from './act.ts';
import {
  type Amount,
  delayBank,
  hasLeft,
  type OfCharge,
  ordinal,
  pickCharge,
  SOURCES_OF_STRAYS,
  share,
  undisputedOf,
} from './charges.ts';
import { actAt, chainOf, chargeOf, leftOf, onCharge, onHold, paymentOf } from './objects.ts';

interface ForeignRefund extends Amount {
  readonly begins: 'pending' | 'succeeded';
}

const foreignRefund = act<ForeignRefund>({
  name: 'foreign_refund',
  actor: 'dashboard',
  feature: 'dashboard',
  about: 'payment',
  weight: 4,
  delay: ['seconds', 'minutes', 'hours', 'days'],
  draw: (drawing) =>
    hasMoney(drawing)
      ? {
          amount: share(drawing, [1, 1, 0.5, 0.3]),
          begins: drawing.dice.chance(0.5) ? 'pending' : 'succeeded',
          ...pickCharge(drawing),
        }
      : undefined,
  leadsTo: (drawing, step): readonly Draft[] => {
    const { dice, has } = drawing;
    const isPending = step.begins === 'pending';
    const isLong = isPending && dice.chance(0.7);
    const end = isLong && dice.chance(0.5) ? 'finish_refund' : 'fail_refund';
    return [
      ...(isLong ? [delayBank(drawing, step.atMs)] : []),
      ...(has('refund_failures') && dice.chance(0.6)
        ? [{ act: end, delay: ['minutes', 'hours'], given: end === 'fail_refund' ? { which: 'newest' } : {} } as const]
        : []),
    ];
  },
  play: (scene, step) =>
    onCharge(scene, step, hasLeft, (inside, charge) =>
      inside.refund(charge.chargeId, Math.min(step.amount, leftOf(charge)), step.begins),
    ),
  describe: ({ of, amount, begins, charge }, { name, money }) =>
    `another user refunds ${money(amount, of)} of ${name(of)}${ordinal(charge)} at the processor` +
    (begins === 'pending' ? '; it is pending' : ''),
});

const foreignCapture = act<Amount>({
  name: 'foreign_capture',
  actor: 'dashboard',
  feature: 'dashboard',
  about: 'payment',
  weight: 4,
  delay: ['seconds', 'minutes', 'hours'],
  draw: (drawing) => (hasHold(drawing) ? { amount: share(drawing, [1, 0.5, 0.999]) } : undefined),
  play: (scene, step) =>
    onHold(scene, step, (inside, { chargeId, amountMinor }) =>
      inside.capture(chargeId, Math.min(step.amount, amountMinor)),
    ),
  describe: ({ of, amount }, { name, money }) =>
    `another user captures ${money(amount, of)} of ${name(of)} at the processor`,
});

const foreignVoid = act<OfCharge>({
  name: 'foreign_void',
  actor: 'dashboard',
  feature: 'dashboard',
  about: 'payment',
  weight: 8,
  delay: ['seconds', 'minutes'],
  draw: (drawing) => (hasHold(drawing) ? {} : undefined),
  leadsTo: ({ dice }, { atMs }): readonly Draft[] =>
    dice.chance(0.2)
      ? [
          {
            act: 'edit_metadata',
            delay: ['instant'],
            given: { what: 'operation', hasCallback: false },
            fromMs: atMs - 1_000,
          },
        ]
      : [],
  play: (scene, step) => onHold(scene, step, (inside, { chargeId }) => inside.void(chargeId)),
  describe: ({ of }, { name }) => `another user voids ${name(of)} at the processor`,
});

interface Stray extends Arguments {
  readonly amount: number;
  /** Whether the charge's metadata also names the payment’s own operation. */
  readonly named: boolean;
  readonly source: string;
  /**
   * If set, the charge is created where no payment records it: at the other processor (`elsewhere`), without the
   * payment’s id (`nameless`), or in the books of the other mode (`other_mode`).
   */
  readonly lost?: 'elsewhere' | 'nameless' | 'other_mode';
  /** @default EUR */
  readonly currency?: string;
}

const stray = act<Stray>({
  name: 'stray',
  actor: 'dashboard',
  feature: 'strays',
  about: 'payment',
  weight: 4,
  delay: ['instant', 'seconds', 'minutes', 'hours', 'days'],
  draw: (drawing) => {
    const { dice, has } = drawing;
    // If the payment has no charge, a charge that names the payment’s operation may be treated as the payment’s own
    // charge.
    const isUncharged = /rate_limited|not_charged/.test(sourceOf(drawing));
    const lost = has('modes')
      ? dice.pick(['other_mode', 'other_mode', 'nameless'] as const)
      : has('second_processor')
        ? dice.pick(['elsewhere', 'nameless'] as const)
        : 'nameless';
    return {
      amount: share(drawing, [1, 1, 0.5]),
      named: dice.chance(isUncharged ? 0.8 : 0.3),
      source: dice.weighted(SOURCES_OF_STRAYS, (source) => (source === 'tok_ok' && !isUncharged ? 6 : 1)),
      ...(dice.chance(has('modes') ? 0.5 : 0.15) ? { lost } : {}),
    };
  },
  play: async (scene, step) => {
    const paymentId = paymentOf(scene, step);
    if (paymentId === undefined) return 'nothing';
    const own = chargeOf(scene, step)?.processor ?? scene.system.settings.defaultProcessor;
    const { amount, source, named, lost, currency } = step;
    const processor = lost === undefined || lost === 'nameless' ? own : (OTHERS[lost][own] ?? 'second');
    const about = lost === 'nameless' ? {} : { paymentId, ...(named ? { operationId: paymentId } : {}) };
    const money = { amountMinor: amount, ...(currency === undefined ? {} : { currency }) };
    return actAt(scene, processor, (inside) => inside.charge({ ...about, ...money, source }));
  },
  describe: ({ of, amount, source, lost, currency }, { name, money }) =>
    `a further charge of ${currency === undefined ? money(amount, of) : `${(amount / 100).toFixed(2)} ${currency}`} from ${source} appears ` +
    `${lost === 'nameless' ? 'and names no payment' : `for ${name(of)}`}${lost === 'elsewhere' ? ' at the other processor' : lost === 'other_mode' ? ' in the other mode' : ''}`,
});

/**
 * Maps the books of the payment's own processor to the books in which a lost charge appears.
 * @default the second processor
 */
const OTHERS: Readonly<Record<'elsewhere' | 'other_mode', Readonly<Record<string, string>>>> = {
  elsewhere: { second: 'sandbox' },
  other_mode: { sandbox: 'live', second: 'live' },
};

interface Edit extends OfCharge {
  /**
   * `payment` and `operation`: this entry of the charge's metadata. `refunds`: the metadata of all refunds of the
   * charge, which the edit removes.
   */
  readonly what: 'payment' | 'operation' | 'refunds';
  /** @default an id that Payonce does not know */
  readonly to?: number;
  readonly hasCallback: boolean;
}

const editMetadata = act<Edit>({
  name: 'edit_metadata',
  actor: 'dashboard',
  feature: 'dashboard',
  about: 'payment',
  weight: 0,
  delay: ['hours', 'days'],
  draw: () => undefined,
  play: async (scene, step) => {
    const [found, own] = [chargeOf(scene, step), paymentOf(scene, step)];
    const other = step.to === undefined ? undefined : scene.stepOf(step.to);
    const named = other === undefined ? 'by-hand' : paymentOf(scene, other);
    if (found === undefined || own === undefined || named === undefined) return 'nothing';
    const { chargeId } = found.charge;
    // Do not edit before the payment has recorded the charge's id: until then Payonce finds the charge only by its
    // metadata.
    if (!chainOf(scene, own).some(({ payment }) => payment.chargeId === chargeId)) return 'nothing';
    return actAt(scene, found.processor, async (inside) => {
      const { metadata, refunds } = await inside.read(chargeId);
      const changes =
        step.what === 'refunds'
          ? { refunds: refunds.map((refund) => ({ ...refund, metadata: {} })) }
          : { metadata: { ...metadata, [step.what]: named } };
      await inside.correct(chargeId, changes, step.hasCallback ? 'charge.succeeded' : undefined);
    });
  },
  describe: ({ of, what, to }, { name }) =>
    what === 'refunds'
      ? `another user removes the metadata of the refunds of ${name(of)}`
      : `another user edits the metadata of ${name(of)}: its ${what} is ${to === undefined ? 'unknown to Payonce' : name(to)}`,
});

interface Flood extends Arguments {
  readonly count: number;
}

/** The sandbox writes a row for each refund in one transaction. */
const MAX_AT_ONCE = 80;

const canFlood = ({ capturedMinor, refunds }: ProcessorCharge): boolean => capturedMinor > 1 && refunds.length === 0;

function floodedBy(drawing: Drawing): readonly Draft[] {
  const { dice, has } = drawing;
  return [
    ...(dice.chance(0.1)
      ? [{ act: 'foreign_charges', delay: ['seconds'], given: { count: dice.pick([100, 1_000]) } } as const]
      : []),
    ...(has('disputes') && dice.named('foreign disputes').chance(0.03)
      ? [{ act: 'foreign_disputes', delay: ['minutes'], given: { count: 1_000 } } as const]
      : []),
    ...(has('silence') && dice.chance(0.5)
      ? [
          {
            act: 'trouble',
            delay: ['seconds'],
            given: {
              processor: 'its',
              calls: 'changes',
              count: 1,
              source: dice.pick(['tok_timeout_charged', 'tok_timeout_not_charged']),
            },
          } as const,
        ]
      : []),
    ...(has('refunds') && dice.chance(0.6)
      ? [{ act: 'refund', delay: ['minutes'], given: { amount: 1 } } as const]
      : []),
    ...(has('disputes') && dice.chance(0.6)
      ? [{ act: 'dispute', delay: ['hours'], given: { amount: 0 } } as const]
      : []),
  ];
}

const flood = act<Flood>({
  name: 'flood',
  actor: 'dashboard',
  feature: 'floods',
  about: 'payment',
  weight: 8,
  delay: ['minutes', 'hours'],
  draw: (drawing) => (hasMoney(drawing) ? { count: drawing.dice.pick([120, 300]) } : undefined),
  leadsTo: (drawing): readonly Draft[] => floodedBy(drawing),
  play: (scene, step) =>
    onCharge(scene, step, canFlood, async (inside, { chargeId, capturedMinor }) => {
      const count = Math.min(step.count, capturedMinor) - 1;
      const made = Array.from({ length: count }, (_, index): Refund => {
        const id = `re_${chargeId}_${index}`;
        return { id, object: 'refund', charge: chargeId, amount: 1, status: 'succeeded', metadata: {} };
      });
      for (let known = 0; known < count; known += MAX_AT_ONCE) {
        const shown = made.slice(0, known + MAX_AT_ONCE);
        await inside.correct(chargeId, { refunds: shown, amount_refunded: shown.length });
      }
      // The single callback of this last refund reports all refunds.
      return inside.refund(chargeId, 1);
    }),
  describe: ({ of, count }, { name, money }) =>
    `another user creates ${count} refunds of ${money(1, of)} of ${name(of)} at the processor`,
});

const foreignCharges = act<Flood>({
  name: 'foreign_charges',
  actor: 'dashboard',
  feature: 'floods',
  about: 'payment',
  weight: 0,
  delay: ['instant', 'seconds', 'minutes'],
  draw: () => undefined,
  play: async (scene, step) => {
    const processor = chargeOf(scene, step)?.processor ?? scene.system.settings.defaultProcessor;
    return actAt(scene, processor, async (inside) => {
      for (let number = 0; number < step.count; number += 1) await inside.charge({ amountMinor: 1 });
    });
  },
  describe: ({ of, count }, { name }) => `another program creates ${count} charges at the processor of ${name(of)}`,
});

const disputeFlood = act<Flood>({
  name: 'dispute_flood',
  actor: 'payer',
  feature: 'floods',
  about: 'payment',
  weight: 2,
  delay: ['minutes', 'hours'],
  draw: (drawing) => (drawing.has('disputes') && hasMoney(drawing) ? { count: 60 } : undefined),
  leadsTo: ({ dice }): readonly Draft[] =>
    dice.chance(0.5)
      ? [{ act: 'close_dispute', delay: ['days'], given: { outcome: dice.pick(['won', 'lost'] as const) } }]
      : [],
  play: (scene, step) =>
    onCharge(
      scene,
      step,
      (charge) => undisputedOf(charge) >= step.count,
      async (inside, { chargeId }) => {
        for (let count = 0; count < step.count; count += 1) await inside.dispute(chargeId, 1);
      },
    ),
  describe: ({ of, count }, { name, money }) => `the payer disputes ${money(1, of)} of ${name(of)} ${count} times`,
});

const foreignDisputes = act<Flood>({
  name: 'foreign_disputes',
  actor: 'payer',
  feature: 'floods',
  about: 'payment',
  weight: 0,
  delay: ['minutes'],
  draw: () => undefined,
  play: async (scene, step) => {
    const processor = chargeOf(scene, step)?.processor ?? scene.system.settings.defaultProcessor;
    return actAt(scene, processor, async (inside) => {
      for (let number = 0; number < step.count; number += 1) {
        const { chargeId } = await inside.charge({ amountMinor: 1 });
        await inside.dispute(chargeId, 1);
      }
    });
  },
  describe: ({ of, count }, { name }) =>
    `another program creates ${count} charges at the processor of ${name(of)}, and their payers dispute them`,
});

export const DASHBOARD_ACTS: readonly Act[] = [
  foreignRefund,
  foreignCapture,
  foreignVoid,
  stray,
  editMetadata,
  flood,
  foreignCharges,
  disputeFlood,
  foreignDisputes,
];
