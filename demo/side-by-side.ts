import { randomBytes } from 'node:crypto';
import { defined } from '../lambdas/kernel/defined.ts';
import { invariant } from '../lambdas/kernel/invariant.ts';
import { countAtRest, type Subject } from './counts.ts';
import type { Scenario } from './scenarios.ts';
import type { Side } from './side.ts';
import type { Counts, Finding } from './verdict.ts';

export interface Sides {
  readonly naive: Side;
  readonly payonce: Side;
}

const LAST_TURN = 3;

interface Provoked {
  readonly subject: Subject;
  /** Resolves with the end of the failure and of its consequences, by the clock of `performance`. */
  readonly ended: Promise<number>;
}

/**
 * Runs every scenario on both sides, waits until all counts are stable, and returns them.
 *
 * @param report called with a description of each step
 * @param caused called with the subject to count on a side, once the failure was caused there
 */
export async function sideBySide(
  sides: Sides,
  scenarios: readonly Scenario[],
  report: (text: string) => void,
  caused: (name: keyof Sides, subject: Subject) => void = () => undefined,
): Promise<readonly Finding[]> {
  const run = randomBytes(4).toString('hex');
  const provoked = new Map<Scenario, { readonly naive: Provoked; readonly payonce: Provoked }>();
  for (const scenario of scenarios.toSorted(byTurn)) {
    const key = `demo-${run}-${scenario.id}`;
    report(`naive: ${scenario.trouble}`);
    const naive = await provokeOn(sides.naive, scenario, key);
    caused('naive', naive.subject);
    report(`Payonce: ${scenario.trouble}`);
    const payonce = await provokeOn(sides.payonce, scenario, key);
    caused('payonce', payonce.subject);
    provoked.set(scenario, { naive, payonce });
  }
  report('waiting until all counts are stable');
  return Promise.all(
    scenarios.map(async (scenario) => {
      const subjects = provoked.get(scenario);
      invariant(subjects !== undefined, 'every scenario has run');
      const [naive, payonce] = await Promise.all([
        finish(sides.naive, subjects.naive),
        finish(sides.payonce, subjects.payonce),
      ]);
      const { trouble, moves, expected } = scenario;
      return { trouble, moves, ...defined({ expected }), naive, payonce };
    }),
  );
}

function byTurn(left: Scenario, right: Scenario): number {
  return (left.turn ?? LAST_TURN) - (right.turn ?? LAST_TURN);
}

async function provokeOn(side: Side, { provoke, expected }: Scenario, key: string): Promise<Provoked> {
  const { rest, ...subject } = await provoke(side, key);
  const ended = Promise.resolve(rest).then(() => performance.now());
  // The promise is awaited later. Until then a rejection must not be unhandled.
  ended.catch(() => undefined);
  return { subject: { ...subject, ...defined({ expected }) }, ended };
}

async function finish(side: Side, { subject, ended }: Provoked): Promise<Counts> {
  return countAtRest(side, subject, await ended);
}
