import { describe, expect, test } from '@jest/globals';
import { sliceOf } from '../../support/slice.ts';
import { ACTS } from './acts/all-acts.ts';
import type { History, Step } from './contract.ts';
import { describeHistory } from './describe-history.ts';
import { generate } from './generate.ts';
import { FEATURES, PROFILES, type ProfileName, profileNamed } from './profiles.ts';
import { Dice, fractionOf } from './random.ts';

const NAMES = Object.keys(PROFILES) as readonly ProfileName[];
const PART = sliceOf(NAMES, 3);
const SEEDS = 1_000;

const histories = new Map<string, History[]>();

function historiesOf(profile: string, count: number): readonly History[] {
  const known = histories.get(profile) ?? [];
  histories.set(profile, known);
  while (known.length < count) known.push(generate(known.length, profile));
  return known.slice(0, count);
}

const firstOf = (profile: string): readonly History[] => historiesOf(profile, 60);

describe('random decisions', () => {
  test('are evenly distributed, and depend on the seed and the whole label', () => {
    const tenths = Array.from({ length: 10 }, () => 0);
    for (let draw = 0; draw < 20_000; draw += 1) {
      const tenth = Math.floor(fractionOf(draw % 7, `label ${draw}`) * 10);
      tenths[tenth] = (tenths[tenth] ?? 0) + 1;
    }
    for (const count of tenths) expect(Math.abs(count - 2_000)).toBeLessThan(200);
    const some = new Set([fractionOf(1, 'a b'), fractionOf(2, 'a b'), fractionOf(1, 'a c'), fractionOf(1, 'a b ')]);
    expect(some.size).toBe(4);
    expect(fractionOf(1, 'a b')).toBe(fractionOf(1, 'a b'));
  });

  test('made with `dice.named(…)` do not depend on earlier draws from `dice`, and magnitudes include both limits', () => {
    const drawn = new Dice(5, 'one');
    drawn.fraction();
    expect(drawn.named('two').whole(1, 1_000_000)).toBe(new Dice(5, 'one').named('two').whole(1, 1_000_000));
    expect(Math.min(...Array.from({ length: 500 }, () => drawn.magnitude(1, 8)))).toBe(1);
    expect(Math.max(...Array.from({ length: 500 }, () => drawn.magnitude(1, 8)))).toBe(8);
  });
});

describe('the generator', () => {
  test.each(PART)(
    'writes deterministic, time-ordered histories of the profile %s, with each step after the step to which it refers',
    (profile) => {
      for (const { seed, steps } of firstOf(profile)) {
        expect(JSON.stringify(generate(seed, profile).steps)).toBe(JSON.stringify(steps));
        expect(steps.some(({ act }) => /^(?:pay|order|request)$/.test(act))).toBe(true);
        expect(steps.map(({ atMs }) => atMs)).toEqual(steps.map(({ atMs }) => atMs).toSorted((a, b) => a - b));
        expect(new Set(steps.map(({ id }) => id)).size).toBe(steps.length);
        const isEarly = ({ of, atMs }: Step): boolean =>
          of !== undefined && !steps.some((step) => step.id === of && step.atMs < atMs);
        expect(steps.filter(isEarly)).toEqual([]);
      }
    },
  );

  test('draws each act and uses each feature in at least one profile', () => {
    const drawn = new Set(NAMES.flatMap(firstOf).flatMap(({ steps }) => steps.map(({ act }) => act)));
    expect([...drawn].toSorted()).toEqual(ACTS.map(({ name }) => name).toSorted());
    expect(FEATURES.filter((feature) => !NAMES.some((name) => feature in profileNamed(name).features))).toEqual([]);
  });

  test('rejects an unknown profile with a list of the known profiles', () => {
    expect(() => generate(1, 'quiet')).toThrow('There is no profile quiet. Use one of calm, clients, ');
  });

  test('writes histories whose steps can all be described, in one sentence each', () => {
    for (const history of PART.flatMap(firstOf)) {
      const described = describeHistory(history);
      expect(described.split('\n')).toHaveLength(history.steps.length + 1);
      expect(described).not.toMatch(/undefined|NaN|\[object|an object that was not created/);
    }
  });
});

type Needed = readonly (readonly [act: string, isLike?: (step: Step, root: Step) => boolean])[];

const isHeld = ({ capture }: Step): boolean => capture === 'manual';
const failsFirst = ({ source }: Step): boolean => /declined|late/.test(String(source));

/**
 * Acts about one payment, in order, and acts of the environment. Crashes, lost callbacks and resolver runs are decided
 * only when the history is played.
 */
const FINDINGS: Readonly<
  Record<string, { readonly in: ProfileName; readonly acts: Needed; readonly world?: readonly string[] }>
> = {
  B01: { in: 'bank', acts: [['pay', failsFirst], ['late_success'], ['dispute']] },
  B02: { in: 'crashes', acts: [['pay'], ['refund'], ['dispute']], world: ['faults'] },
  B03: { in: 'bank', acts: [['pay', failsFirst], ['late_success'], ['fail_refund']] },
  B04: { in: 'orders', acts: [['order'], ['refund'], ['fail_refund'], ['refund']] },
  B05: { in: 'orders', acts: [['order'], ['dispute']], world: ['party_outage'] },
  'B06 wrong amount': {
    in: 'operators',
    acts: [['pay'], ['wrong_amount'], ['decide', ({ outcome }) => outcome === 'failed']],
  },
  'B06 refunded before the decision': {
    in: 'operators',
    acts: [['pay'], ['wrong_amount'], ['foreign_refund'], ['decide', ({ outcome }) => outcome === 'succeeded']],
  },
  'B06 names a stray charge': {
    in: 'operators',
    acts: [['pay'], ['stray'], ['decide', ({ outcome, charge }) => outcome === 'succeeded' && charge === 1]],
  },
  B07: { in: 'bank', acts: [['pay'], ['foreign_refund', ({ begins }) => begins === 'pending'], ['fail_refund']] },
  B08: { in: 'bank', acts: [['pay'], ['flood', ({ count }) => Number(count) > 230], ['refund']] },
  B09: { in: 'outage', acts: [['pay', ({ currency }) => currency === 'USD']], world: ['processor_outage', 'deploy'] },
  B10: { in: 'deploys', acts: [['pay'], ['retry']], world: ['deploy', 'deploy'] },
  B11: { in: 'bank', acts: [['pay', failsFirst], ['late_success'], ['flood']] },
  B12: { in: 'orders', acts: [['order']], world: ['party_outage', 'redrive'] },
  B13: { in: 'everything', acts: [['pay', isHeld], ['foreign_capture'], ['capture']] },
  B14: { in: 'bank', acts: [['pay'], ['flood'], ['dispute']] },
};

function holds({ steps }: History, acts: Needed, world: readonly string[]): boolean {
  const left = steps.map(({ act }) => act);
  const isAround = world.every((name) => left.includes(name) && left.splice(left.indexOf(name), 1).length === 1);
  return isAround && steps.some((root) => follows(steps, root, acts));
}

function follows(steps: readonly Step[], root: Step, acts: Needed): boolean {
  const own = steps.filter(({ id, of }) => id === root.id || of === root.id);
  let next = 0;
  for (const step of own) {
    const [act, isLike = () => true] = acts[next] ?? [];
    if (step.act === act && isLike(step, root)) next += 1;
  }
  return next === acts.length;
}

describe('the generator writes histories with the acts that reveal the past defect', () => {
  test.each(sliceOf(Object.entries(FINDINGS), 3))('%s', (_finding, { in: profile, acts, world = [] }) => {
    const found = historiesOf(profile, SEEDS).filter((history) => holds(history, acts, world)).length;
    expect(found / SEEDS).toBeGreaterThan(0.002);
  });
});
