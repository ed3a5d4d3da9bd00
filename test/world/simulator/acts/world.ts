import type { FaultRates } from '../contract.ts';
import type { Feature } from '../profiles.ts';
import { type Act, type Arguments, act, type CallbackHabits, type Draft } from './act.ts';
import { deedAt } from './objects.ts';

/** What surrounds a deployment: its faults, the habits and the outages of other systems, and new deployments. */

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

const PROCESSORS = ['sandbox', 'second'] as const;
type ProcessorName = (typeof PROCESSORS)[number];

const FAULTS = {
  crashes: ['crash_before', 'crash_after'],
  throttles: ['throttle'],
  conflicts: ['conflict'],
  doubt: ['ambiguous_applied', 'ambiguous_lost'],
  slowness: ['slow'],
} as const satisfies Partial<Record<Feature, readonly (keyof FaultRates)[]>>;

interface Faults extends Arguments {
  readonly rates: FaultRates;
  readonly clockSkewMs: number;
}

/** At the beginning of a history. */
const faults = act<Faults>({
  name: 'faults',
  actor: 'machine',
  about: 'nothing',
  weight: 0,
  pace: ['instant'],
  draw: ({ dice, has }) => {
    const kinds = (Object.keys(FAULTS) as (keyof typeof FAULTS)[]).filter(has).flatMap((feature) => FAULTS[feature]);
    if (kinds.length === 0 && !has('skew')) return undefined;
    return {
      rates: Object.fromEntries(kinds.map((kind) => [kind, dice.pick([0.003, 0.01, 0.03, 0.06])])),
      clockSkewMs: has('skew') ? dice.pick([5_000, 2 * MINUTE_MS, 5 * MINUTE_MS]) : 0,
    };
  },
  play: async ({ system }, { rates, clockSkewMs }) => {
    system.deploy({ faults: rates, clockSkewMs });
    return 'done';
  },
  tell: ({ rates, clockSkewMs }) =>
    `from here on there are faults: ${Object.entries(rates)
      .map(([kind, rate]) => `${kind} ${rate}`)
      .join(', ')}${clockSkewMs === 0 ? '' : `, clocks that differ by ${clockSkewMs / 1000} s`}`,
});

interface Habits extends Arguments, CallbackHabits {
  readonly processor: ProcessorName;
}

/** At the beginning of a history, and sometimes later. */
const habits = act<Habits>({
  name: 'habits',
  actor: 'bank',
  about: 'nothing',
  weight: 3,
  pace: ['seconds', 'minutes', 'hours', 'days'],
  draw: ({ dice, has }) => ({
    processor: has('second_processor') && dice.chance(0.5) ? 'second' : 'sandbox',
    lost: has('lost_callbacks') ? dice.pick([0.2, 0.5, 0.8, 1]) : 0,
    doubled: has('doubled_callbacks') ? dice.pick([0.2, 0.5]) : 0,
    late: has('late_callbacks') ? dice.pick([0.2, 0.5, 0.8]) : 0,
    lateMs: dice.pick([10_000, 10 * MINUTE_MS, 5 * HOUR_MS, 72 * HOUR_MS]),
    slow: has('async') || has('dashboard') ? dice.pick([0, 0.5, 1]) : 0,
  }),
  play: async ({ habits: known }, { processor, lost, doubled, late, lateMs, slow }) => {
    known.set(processor, { lost, doubled, late, lateMs, slow });
    return 'done';
  },
  tell: ({ processor, lost, doubled, late, lateMs, slow }) =>
    `from here on, of the callbacks of ${processor}, ${percent(lost)} are lost, ${percent(doubled)} doubled, ` +
    `${percent(late)} late by up to ${duration(lateMs)}; ${percent(slow)} of what it ends by itself is late too`,
});

interface ProcessorOutage extends Arguments {
  readonly processor: ProcessorName;
  readonly forMs: number;
}

const OUTAGES_MS = [30_000, 5 * MINUTE_MS, 20 * MINUTE_MS, 2 * HOUR_MS, 30 * HOUR_MS] as const;

const processorOutage = act<ProcessorOutage>({
  name: 'processor_outage',
  actor: 'world',
  feature: 'processor_outages',
  about: 'nothing',
  weight: 8,
  pace: ['instant', 'seconds', 'minutes', 'hours', 'days'],
  draw: ({ dice, has }) => ({
    processor: has('second_processor') ? dice.pick(PROCESSORS) : 'sandbox',
    forMs: dice.pick(OUTAGES_MS),
  }),
  play: async ({ system }, { id, processor, forMs }) => {
    system.processorUp(processor, false);
    system.at(system.nowMs + forMs, `step ${id} ends`, () => system.processorUp(processor, true));
    return 'done';
  },
  tell: ({ processor, forMs }) => `the processor ${processor} is down for ${duration(forMs)}`,
});

interface PartyOutage extends Arguments {
  readonly party: 'stock' | 'referrals' | 'mail';
  readonly forMs: number;
}

const partyOutage = act<PartyOutage>({
  name: 'party_outage',
  actor: 'world',
  feature: 'party_outages',
  about: 'nothing',
  weight: 8,
  pace: ['instant', 'seconds', 'minutes', 'hours'],
  draw: ({ dice }) => ({
    party: dice.pick(['stock', 'stock', 'referrals', 'mail'] as const),
    forMs: dice.pick([...OUTAGES_MS, 96 * HOUR_MS]),
  }),
  leadsTo: ({ dice, has }, { forMs }): readonly Draft[] =>
    has('redrives') && forMs > DAY_MS && dice.chance(0.7)
      ? [{ act: 'redrive', pace: ['days'], given: { what: 'letters' } }]
      : [],
  play: async ({ system }, { id, party, forMs }) => {
    system.partyUp(party, false);
    system.at(system.nowMs + forMs, `step ${id} ends`, () => system.partyUp(party, true));
    return 'done';
  },
  tell: ({ party, forMs }) => `${party} is down for ${duration(forMs)}`,
});

interface Trouble extends Arguments {
  readonly processor: ProcessorName;
  readonly calls: 'charges' | 'changes';
  readonly count: number;
  readonly source: string;
}

const TROUBLES = [
  'tok_timeout_charged',
  'tok_timeout_not_charged',
  'tok_malformed',
  'tok_flaky',
  'tok_rate_limited',
  'tok_unauthorized',
  'tok_declined',
  'tok_async',
  'tok_async_declined',
] as const;

const trouble = act<Trouble>({
  name: 'trouble',
  actor: 'bank',
  feature: 'silence',
  about: 'nothing',
  weight: 8,
  pace: ['instant', 'seconds', 'minutes', 'hours', 'days'],
  draw: ({ dice, has }) => ({
    processor: has('second_processor') ? dice.pick(PROCESSORS) : 'sandbox',
    calls: dice.pick(['charges', 'changes', 'changes'] as const),
    count: dice.magnitude(1, 5),
    source: dice.pick(TROUBLES),
  }),
  play: (scene, { processor, calls, count, source }) =>
    deedAt(scene, processor, (inside) =>
      calls === 'charges' ? inside.failNext(count, source) : inside.failNextChange(count, source),
    ),
  tell: ({ processor, calls, count, source }) => `the next ${count} ${calls} at ${processor} go as ${source}`,
});

interface Deploy extends Arguments {
  readonly defaultProcessor: ProcessorName;
  /** Which processor takes payments in USD. @default the default one */
  readonly dollars?: ProcessorName;
  readonly cron: boolean;
}

const deploy = act<Deploy>({
  name: 'deploy',
  actor: 'operator',
  feature: 'deploys',
  about: 'nothing',
  weight: 8,
  pace: ['instant', 'seconds', 'minutes', 'hours', 'days'],
  draw: ({ dice, has }) => ({
    defaultProcessor: has('second_processor') ? dice.pick(PROCESSORS) : 'sandbox',
    ...(has('second_processor') && dice.chance(0.5) ? { dollars: dice.pick(PROCESSORS) } : {}),
    cron: has('cron'),
  }),
  play: async ({ system }, { defaultProcessor, dollars, cron }) => {
    const routes = dollars === undefined ? [] : [{ currency: 'USD', processor: dollars }];
    system.deploy({ defaultProcessor, routes, cron });
    return 'done';
  },
  tell: ({ defaultProcessor, dollars, cron }) =>
    `an operator deploys: payments go to ${defaultProcessor}${dollars === undefined ? '' : `, in USD to ${dollars}`}` +
    (cron ? '; jobs run by the schedule' : ''),
});

function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}

function duration(ms: number): string {
  if (ms < 2 * MINUTE_MS) return `${ms / 1000} s`;
  return ms < 2 * HOUR_MS ? `${ms / MINUTE_MS} min` : `${ms / HOUR_MS} h`;
}

export const WORLD_ACTS: readonly Act[] = [faults, habits, processorOutage, partyOutage, trouble, deploy];
