import { expect, test } from '@jest/globals';
import { fc } from '../../support/properties.ts';
import type { History } from './contract.ts';
import { generate } from './generate.ts';
import { type Shown, shrink } from './shrink.ts';

/**
 * Simulates a run that reports a violation if a payment is disputed and then refunded, and if two particular faults
 * happen.
 */
async function artificial({ steps, muted }: History): Promise<Shown> {
  const faults = Array.from({ length: 40 }, (_, index) => `step 1/${index}`).filter((name) => !muted.includes(name));
  const violates = steps.some(
    ({ id, act }, index) =>
      act === 'pay' &&
      steps
        .slice(index)
        .some(
          (dispute, later) =>
            dispute.act === 'dispute' &&
            dispute['of'] === id &&
            steps.slice(index + later).some((step) => step.act === 'refund' && step['of'] === id),
        ),
  );
  return { violates: violates && faults.includes('step 1/3') && faults.includes('step 1/33'), faults };
}

test('shrinking leaves only the relevant steps and faults, with simple arguments', async () => {
  const seed = Array.from({ length: 200 }, (_, each) => each).find(
    (each) => generate(each, 'disputes').steps.length > 15 && isViolated(each),
  );
  const { history, runs } = await shrink(generate(seed ?? 0, 'disputes'), artificial);
  expect(history.steps.map(({ act }) => act)).toEqual(['pay', 'dispute', 'refund']);
  expect(history.steps[0]).toMatchObject({ tenant: 'shop', amount: 1000, source: 'tok_ok', copies: 1 });
  expect(history.muted).toHaveLength(38);
  expect((await artificial(history)).violates).toBe(true);
  expect(runs).toBeLessThan(400);
});

function isViolated(seed: number): boolean {
  const { steps } = generate(seed, 'disputes');
  const ofPayments = steps.filter(({ act }) => act === 'pay').map(({ id }) => id);
  return ofPayments.some((id) => {
    const own = steps.filter(({ of }) => of === id).map(({ act }) => act);
    return own.includes('dispute') && own.lastIndexOf('refund') > own.indexOf('dispute');
  });
}

test('shrinking never loses the violation, and never exceeds the maximum number of runs', async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat(300), fc.nat(8), fc.integer({ min: 1, max: 60 }), async (seed, needed, most) => {
      const history = generate(seed, 'everything');
      const ids = history.steps.filter(({ id }) => id % 9 === needed).map(({ id }) => id);
      const run = async ({ steps }: History): Promise<Shown> => ({
        violates: ids.every((id) => steps.some((step) => step.id === id)),
        faults: [],
      });
      const shrunk = await shrink(history, run, most);
      expect(shrunk.runs).toBeLessThanOrEqual(most);
      expect((await run(shrunk.history)).violates).toBe(true);
    }),
    { numRuns: 40 },
  );
});

test('shrinking rejects a history that violates no oracle', async () => {
  await expect(shrink(generate(1, 'calm'), async () => ({ violates: false, faults: [] }))).rejects.toThrow(
    'the history violates no oracle',
  );
});
