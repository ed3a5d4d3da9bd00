import { JOBS } from '../../../../lambdas/kernel/contract/jobs.ts';
import { type Act, type Arguments, act } from './act.ts';
import { ask, changeOf, chargesOf, endOf, keyOf, orderOf, paymentOf } from './objects.ts';

/** What operators do, also what they should not do. */

const WHO = { operator: 'Ada Example', reason: 'Seen on the statement' } as const;
const HOUR_MS = 3_600_000;

interface Decision extends Arguments {
  readonly outcome: 'succeeded' | 'failed';
  /** The charge that is named, by its ordinal. @default none */
  readonly charge?: number;
  readonly amount?: number;
  readonly dry: boolean;
}

const decide = act<Decision>({
  name: 'decide',
  actor: 'operator',
  feature: 'decisions',
  about: 'payment',
  weight: 6,
  pace: ['minutes', 'hours', 'days'],
  draw: ({ dice, root }) => {
    const outcome = dice.pick(['succeeded', 'failed'] as const);
    const amount = Math.max(1, Math.round(Number(root?.['amount'] ?? 1000) * dice.pick([1, 0.999, 0.5])));
    return {
      outcome,
      dry: dice.chance(0.1),
      ...(dice.chance(0.6) ? { charge: dice.whole(0, 1) } : {}),
      ...(outcome === 'succeeded' && dice.chance(0.5) ? { amount } : {}),
    };
  },
  play: async (scene, step) => {
    const paymentId = paymentOf(scene, step);
    if (paymentId === undefined) return 'nothing';
    const found = step.charge === undefined ? undefined : chargesOf(scene, step)[step.charge];
    const body = {
      outcome: step.outcome,
      ...WHO,
      ...(found === undefined ? {} : { charge_id: found.charge.chargeId }),
      ...(step.amount === undefined ? {} : { amount: step.amount }),
      ...(step.dry ? { dry_run: true } : {}),
    };
    const path = `/v1/admin/payments/${paymentId}/resolve`;
    return endOf(await ask(scene, step, { method: 'POST', path, key: keyOf(step), body, as: 'operator' }));
  },
  tell: ({ of, outcome, charge, amount, dry }, { name, money }) =>
    `an operator ${dry ? 'tries to resolve' : 'resolves'} ${name(of)} as ${outcome}` +
    `${charge === undefined ? '' : `, naming charge ${charge + 1}`}${amount === undefined ? '' : `, with ${money(amount, of)}`}`,
});

interface ChangeDecision extends Arguments {
  /** The step that asked for the change. */
  readonly of: number;
  readonly outcome: 'succeeded' | 'failed';
}

const decideChange = act<ChangeDecision>({
  name: 'decide_change',
  actor: 'operator',
  feature: 'decisions',
  about: 'payment',
  weight: 3,
  pace: ['minutes', 'hours', 'days'],
  draw: ({ dice, earlier }) => {
    const changes = earlier.filter(({ act: name }) => name === 'refund' || name === 'capture' || name === 'cancel');
    return changes.length === 0
      ? undefined
      : { of: dice.pick(changes).id, outcome: dice.pick(['succeeded', 'failed'] as const) };
  },
  play: async (scene, step) => {
    const asked = scene.stepOf(step.of);
    const change = asked === undefined ? undefined : changeOf(scene, asked);
    const paymentId = paymentOf(scene, step);
    if (change === undefined || paymentId === undefined) return 'nothing';
    const body = { outcome: step.outcome, change: change.id, ...WHO };
    const path = `/v1/admin/payments/${paymentId}/resolve`;
    return endOf(await ask(scene, step, { method: 'POST', path, key: keyOf(step), body, as: 'operator' }));
  },
  tell: ({ of, outcome }, { name }) => `an operator resolves ${name(of)} as ${outcome}`,
});

interface Correction extends Arguments {
  /** The accounts of the two legs: never the processor’s, whose balance must stay what the processor holds. */
  readonly debit: string;
  readonly credit: string;
  readonly amount: number;
  /** Only shown. Then it reverses the transition of this sequence. */
  readonly dryReverses?: number;
}

const ACCOUNTS = ['merchant_payable', 'fees', 'corrections'] as const;

const correct = act<Correction>({
  name: 'correct',
  actor: 'operator',
  feature: 'corrections',
  about: 'payment',
  weight: 3,
  pace: ['hours', 'days'],
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
  tell: ({ of, debit, credit, amount, dryReverses }, { name, money }) =>
    dryReverses === undefined
      ? `an operator posts ${money(amount, of)} of ${name(of)} from ${credit} to ${debit}`
      : `an operator looks at what reversing transition ${dryReverses} of ${name(of)} would do`,
});

interface Job extends Arguments {
  readonly job: string;
}

const runJob = act<Job>({
  name: 'run_job',
  actor: 'operator',
  feature: 'jobs',
  about: 'nothing',
  weight: 4,
  pace: ['seconds', 'hours', 'days'],
  draw: ({ dice }) => ({ job: dice.pick(JOBS).id }),
  play: async ({ system }, { job }) => {
    await system.runJob(job);
    return 'done';
  },
  tell: ({ job }) => `an operator starts the job ${job}`,
});

interface Redrive extends Arguments {
  readonly what: 'queues' | 'letters';
}

const redrive = act<Redrive>({
  name: 'redrive',
  actor: 'operator',
  feature: 'redrives',
  about: 'nothing',
  weight: 4,
  pace: ['hours', 'days'],
  draw: ({ dice }) => ({ what: dice.pick(['queues', 'letters'] as const) }),
  play: async ({ system }, { what }) => {
    if (what === 'letters') {
      await system.redriveLetters();
      return 'done';
    }
    const left = Object.entries(system.queues).filter(([name, count]) => count > 0 && /dead|park|dlq/i.test(name));
    for (const [name] of left) system.redrive(name);
    return left.length === 0 ? 'nothing' : 'done';
  },
  tell: ({ what }) =>
    `an operator redrives the dead ${what === 'letters' ? 'letters of shop and mail' : 'letters of the queues'}`,
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
  pace: ['hours', 'days'],
  draw: ({ dice }) => ({ lastHours: dice.pick([1, 24, 240]) }),
  play: async ({ system }, { lastHours }) => {
    await system.republish(system.nowMs - lastHours * HOUR_MS, system.nowMs);
    return 'done';
  },
  tell: ({ lastHours }) => `an operator publishes the events of the last ${lastHours} h again`,
});

const rebuild = act<Arguments>({
  name: 'rebuild',
  actor: 'operator',
  feature: 'rebuilds',
  about: 'nothing',
  weight: 3,
  pace: ['hours', 'days'],
  draw: () => ({}),
  play: async ({ system }) => {
    await system.rebuildViews();
    return 'done';
  },
  tell: () => 'an operator rebuilds the Views',
});

const erase = act<Arguments>({
  name: 'erase',
  actor: 'operator',
  feature: 'erasures',
  about: 'payment',
  weight: 2,
  pace: ['minutes', 'days'],
  draw: () => ({}),
  play: async (scene, step) => {
    const ids = [paymentOf(scene, step), orderOf(scene, step)].filter((id) => id !== undefined);
    for (const id of ids) await scene.system.erase(id);
    return ids.length === 0 ? 'nothing' : 'done';
  },
  tell: ({ of }, { name }) => `an operator erases the personal data of ${name(of)}`,
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
