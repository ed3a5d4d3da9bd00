/** Acts of the environment: faults, behavior and outages of other systems, and new deployments. */
import type { FaultRates } from '../contract.ts';
import type { Feature } from '../profiles.ts';
import { type Act, type Arguments, act, type CallbackHabits, type Draft, type Drawing } from './act.ts';
import { type AtProcessor, processorOf } from './charges.ts';
import { actAt } from './objects.ts';

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

/** Sets the rates of faults and the maximum clock difference, in most histories only at the beginning. */
const faults = act<Faults>({
  name: 'faults',
  actor: 'machine',
  about: 'nothing',
  weight: 0,
  delay: ['instant'],
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
  describe: ({ rates, clockSkewMs }) =>
    `from here on these faults occur: ${Object.entries(rates)
      .map(([kind, rate]) => `${kind} ${rate}`)
      .join(', ')}${clockSkewMs === 0 ? '' : `, clocks that differ by ${clockSkewMs / 1000} s`}`,
});

interface Storm extends Arguments {
  readonly rates: FaultRates;
  readonly forMs: number;
}

function drawStorm({ dice }: Drawing): Storm {
  return { rates: dice.pick(STORMS), forMs: dice.pick([2, 120, 120]) * MINUTE_MS };
}

const STORMS: readonly FaultRates[] = [
  { throttle: 0.9 },
  { crash_before: 0.3, crash_after: 0.3 },
  { ambiguous_applied: 0.4 },
];

/** Makes many calls fail for some time, so that messages can become dead letters. */
const storm = act<Storm>({
  name: 'storm',
  actor: 'machine',
  feature: 'storms',
  about: 'nothing',
  weight: 0,
  delay: ['instant'],
  draw: drawStorm,
  leadsTo: ({ dice, has }, { atMs, forMs }): readonly Draft[] =>
    has('redrives') && forMs > HOUR_MS && dice.chance(0.8)
      ? [{ act: 'redrive', delay: ['minutes'], given: { what: 'queues' }, fromMs: atMs + forMs }]
      : [],
  play: async ({ system, steps }, { id, rates, forMs }) => {
    const usual = steps.find(({ act: name }) => name === faults.name)?.['rates'] as FaultRates | undefined;
    system.deploy({ faults: rates });
    system.at(system.nowMs + forMs, `step ${id} ends`, () => system.deploy({ faults: usual ?? {} }));
    return 'done';
  },
  describe: ({ rates, forMs }) =>
    `for ${duration(forMs)} these faults occur: ${Object.entries(rates)
      .map(([kind, rate]) => `${kind} ${rate}`)
      .join(', ')}`,
});

interface Habits extends Arguments, CallbackHabits {
  readonly processor: AtProcessor;
}

/**
 * Sets how callbacks are delivered and how late the processor’s own actions are, at the beginning of a history and
 * sometimes later.
 */
const habits = act<Habits>({
  name: 'habits',
  actor: 'bank',
  about: 'nothing',
  weight: 3,
  delay: ['seconds', 'minutes', 'hours', 'days'],
  draw: ({ dice, has }) => ({
    processor: has('second_processor') && dice.chance(0.5) ? 'second' : 'sandbox',
    lost: has('lost_callbacks') ? dice.pick([0.2, 0.5, 0.8, 1]) : 0,
    doubled: has('doubled_callbacks') ? dice.pick([0.2, 0.5]) : 0,
    late: has('late_callbacks') ? dice.pick([0.2, 0.5, 0.8]) : 0,
    lateMs: dice.pick([10_000, 10 * MINUTE_MS, 5 * HOUR_MS, 72 * HOUR_MS]),
    slow: has('async') || has('dashboard') ? dice.pick([0, 0.5, 1]) : 0,
  }),
  play: async (scene, step) => {
    const { lost, doubled, late, lateMs, slow } = step;
    scene.habits.set(processorOf(scene, step), { lost, doubled, late, lateMs, slow });
    return 'done';
  },
  describe: ({ processor, lost, doubled, late, lateMs, slow }) =>
    `from here on, ${percent(lost)} of the callbacks of ${at(processor)} are lost, ${percent(doubled)} doubled, ` +
    `${percent(late)} late by up to ${duration(lateMs)}; ${percent(slow)} of the processor’s own actions are also late`,
});

interface ProcessorOutage extends Arguments {
  readonly processor: AtProcessor;
  readonly forMs: number;
  /**
   * Most of the calls hang until the caller's timeout.
   *
   * @default no call hangs: the processor cannot be reached
   */
  readonly hangs?: keyof typeof HANGING;
}

const HANGING = {
  requests: 'does not receive requests, which time out,',
  answers: 'performs requests, but its responses time out',
  reads: 'lets all reads time out',
  writes: 'performs writes, but their responses time out',
  'lost writes': 'does not receive writes, which time out,',
  'slow calls': 'responds after some seconds',
} as const;

const TIMING_OUT = ['requests', 'answers', 'reads', 'writes', 'lost writes'] as const;

const OUTAGES_MS = [30_000, 5 * MINUTE_MS, 20 * MINUTE_MS, 2 * HOUR_MS, 30 * HOUR_MS] as const;

const processorOutage = act<ProcessorOutage>({
  name: 'processor_outage',
  actor: 'world',
  feature: 'processor_outages',
  about: 'nothing',
  weight: 8,
  delay: ['instant', 'seconds', 'minutes', 'hours', 'days'],
  draw: ({ dice, has }) => ({
    processor: has('second_processor') ? dice.pick(PROCESSORS) : 'sandbox',
    forMs: dice.pick(OUTAGES_MS),
    ...(has('timeouts') && dice.named('silent').chance(0.8)
      ? { hangs: dice.named('slow').chance(0.2) ? ('slow calls' as const) : dice.named('hangs').pick(TIMING_OUT) }
      : {}),
  }),
  play: async (scene, step) => {
    const { system } = scene;
    const { id, forMs, hangs } = step;
    const processor = processorOf(scene, step);
    const turn = (isUp: boolean): void =>
      hangs === undefined ? system.processorUp(processor, isUp) : system.mishap(`${hangs} of ${processor}`, isUp);
    turn(false);
    system.at(system.nowMs + forMs, `step ${id} ends`, () => turn(true));
    return 'done';
  },
  describe: ({ processor, forMs, hangs }) =>
    `${at(processor)} ${hangs === undefined ? 'is down' : HANGING[hangs]} for ${duration(forMs)}`,
});

interface PartyOutage extends Arguments {
  readonly party: 'stock' | 'referrals' | 'mail';
  readonly forMs: number;
  /** The party performs the requests, but its responses are lost. @default false: the party cannot be reached */
  readonly losesAnswers?: true;
}

const partyOutage = act<PartyOutage>({
  name: 'party_outage',
  actor: 'world',
  feature: 'party_outages',
  about: 'nothing',
  weight: 8,
  delay: ['instant', 'seconds', 'minutes'],
  near: ({ act: name, receipt, affiliate }) => name === 'order' || receipt !== undefined || affiliate !== undefined,
  draw: ({ dice }) => {
    const party = dice.pick(['stock', 'stock', 'referrals', 'mail'] as const);
    const forMs = dice.pick([...OUTAGES_MS, 96 * HOUR_MS]);
    return { party, forMs, ...(party !== 'mail' && dice.chance(0.4) ? { losesAnswers: true } : {}) };
  },
  leadsTo: ({ dice, has, earlier }, { atMs, forMs }): readonly Draft[] =>
    has('redrives') && forMs > 3 * DAY_MS && earlier.some(({ act: name }) => name === 'order') && dice.chance(0.7)
      ? [{ act: 'redrive', delay: ['minutes', 'hours'], given: { what: 'letters' }, fromMs: atMs + forMs }]
      : [],
  play: async ({ system }, { id, party, forMs, losesAnswers }) => {
    const turn = (isOver: boolean): void =>
      losesAnswers && party !== 'mail' ? system.setPartyAnswers(party, isOver) : system.partyUp(party, isOver);
    turn(false);
    system.at(system.nowMs + forMs, `step ${id} ends`, () => turn(true));
    return 'done';
  },
  describe: ({ party, forMs, losesAnswers }) =>
    losesAnswers
      ? `the responses of ${party} are lost for ${duration(forMs)}`
      : `${party} is down for ${duration(forMs)}`,
});

interface BusOutage extends Arguments {
  readonly forMs: number;
}

/** After a long outage, some events are published only after their day has closed. */
const busOutage = act<BusOutage>({
  name: 'bus_outage',
  actor: 'world',
  feature: 'storms',
  about: 'nothing',
  weight: 8,
  delay: ['instant', 'seconds', 'minutes'],
  draw: ({ dice }) => ({ forMs: dice.pick([30_000, 20 * MINUTE_MS, 30 * HOUR_MS, 60 * HOUR_MS]) }),
  play: async ({ system }, { id, forMs }) => {
    system.partyUp('bus', false);
    system.at(system.nowMs + forMs, `step ${id} ends`, () => system.partyUp('bus', true));
    return 'done';
  },
  describe: ({ forMs }) => `the bus accepts no events for ${duration(forMs)}`,
});

interface Trouble extends Arguments {
  readonly processor: AtProcessor;
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
  delay: ['instant', 'seconds', 'minutes', 'hours', 'days'],
  draw: ({ dice, has }) => ({
    processor: has('second_processor') ? dice.pick(PROCESSORS) : 'sandbox',
    calls: dice.pick(['charges', 'changes', 'changes'] as const),
    count: dice.magnitude(1, 5),
    source: dice.pick(TROUBLES),
  }),
  play: (scene, step) => {
    const { calls, count, source } = step;
    return actAt(scene, processorOf(scene, step), (inside) =>
      calls === 'charges' ? inside.failNext(count, source) : inside.failNextChange(count, source),
    );
  },
  describe: ({ processor, calls, count, source }) =>
    `the next ${count} ${calls} at ${at(processor)} behave like ${source}`,
});

interface Deploy extends Arguments {
  readonly defaultProcessor: ProcessorName;
  /** @default the default processor */
  readonly dollars?: ProcessorName;
  readonly cron: boolean;
}

const deploy = act<Deploy>({
  name: 'deploy',
  actor: 'operator',
  feature: 'deploys',
  about: 'nothing',
  weight: 8,
  delay: ['instant', 'seconds', 'minutes', 'hours', 'days'],
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
  describe: ({ defaultProcessor, dollars, cron }) =>
    `an operator deploys: payments go to ${defaultProcessor}${dollars === undefined ? '' : `, payments in USD to ${dollars}`}` +
    (cron ? '; jobs run by schedule' : ''),
});

function at(processor: AtProcessor): string {
  return processor === 'its' ? 'its processor' : `the processor ${processor}`;
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}

export function duration(ms: number): string {
  if (ms < 2 * MINUTE_MS) return `${ms / 1000} s`;
  return ms < 2 * HOUR_MS ? `${ms / MINUTE_MS} min` : `${ms / HOUR_MS} h`;
}

/** @param more earliest time of the burst. By default the burst begins soon after the request */
export function stormAfter(drawing: Drawing, more: Pick<Draft, 'fromMs'> = {}): readonly Draft[] {
  if (!drawing.has('storms') || !drawing.dice.chance(0.5)) return [];
  return [{ act: storm.name, delay: ['instant', 'instant', 'seconds'], given: drawStorm(drawing), ...more }];
}

interface Abilities extends Arguments {
  readonly without: string;
}

const abilities = act<Abilities>({
  name: 'abilities',
  actor: 'operator',
  feature: 'fewer_abilities',
  about: 'nothing',
  weight: 0,
  delay: ['instant'],
  draw: ({ dice }) => ({
    without: dice.pick(['refunds', 'partial-refunds', 'holds', 'partial-captures', 'partial-captures,partial-refunds']),
  }),
  play: async ({ system }, { without }) => {
    system.deploy({ without });
    return 'done';
  },
  describe: ({ without }) => `the processors have no ${without.replaceAll('-', ' ').replace(',', ' and no ')}`,
});

export const WORLD_ACTS: readonly Act[] = [
  abilities,
  faults,
  storm,
  habits,
  processorOutage,
  partyOutage,
  busOutage,
  trouble,
  deploy,
];
