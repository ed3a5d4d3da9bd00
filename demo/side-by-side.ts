import { randomBytes } from 'node:crypto';
import { invariant } from '../lambdas/core/invariant.ts';
import { countAtRest, type Subject } from './counts.ts';
import type { Scenario } from './scenarios.ts';
import type { Side } from './side.ts';
import type { Counts, Finding } from './verdict.ts';

interface Sides {
  readonly naive: Side;
  readonly payonce: Side;
}

type Provoked = Subject & { readonly rest?: Promise<unknown> };

/**
 * Brings every trouble about on both sides, waits until nothing moves any more, and counts. A killed consumer takes along
 * whatever it holds of others, so it dies when the naive side's others are counted; Payonce's may be struck at any time.
 */
export async function sideBySide(
  sides: Sides,
  scenarios: readonly Scenario[],
  report: (text: string) => void,
): Promise<readonly Finding[]> {
  const run = randomBytes(4).toString('hex');
  const inTurn = (wanted: 'first' | 'between' | 'last'): readonly Scenario[] =>
    scenarios.filter(({ turn = 'between' }) => turn === wanted);
  const provoke = async (scenario: Scenario) => {
    const key = `demo-${run}-${scenario.id}`;
    report(`${scenario.trouble}: naive`);
    const naive = await provokeOn(sides.naive, scenario, key);
    report(`${scenario.trouble}: Payonce`);
    const payonce = await provokeOn(sides.payonce, scenario, key);
    return { scenario, naive, payonce };
  };

  const together = [];
  for (const scenario of [...inTurn('first'), ...inTurn('between')]) together.push(await provoke(scenario));
  report('waiting until nothing moves any more');
  const naiveCounts = await Promise.all(together.map(({ naive }) => finish(sides.naive, naive)));
  const others = Promise.all(
    together.map(async ({ scenario, payonce }, index) =>
      findingOf(scenario, naiveCounts[index], await finish(sides.payonce, payonce)),
    ),
  );
  const last = async (): Promise<readonly Finding[]> => {
    const findings = [];
    for (const scenario of inTurn('last')) {
      const { naive, payonce } = await provoke(scenario);
      const counts = await Promise.all([finish(sides.naive, naive), finish(sides.payonce, payonce)]);
      findings.push(findingOf(scenario, ...counts));
    }
    return findings;
  };
  const found = (await Promise.all([others, last()])).flat();
  const place = ({ trouble }: Finding): number => scenarios.findIndex((scenario) => scenario.trouble === trouble);
  return found.toSorted((left, right) => place(left) - place(right));
}

async function provokeOn(side: Side, { provoke }: Scenario, key: string): Promise<Provoked> {
  const provoked = await provoke(side, key);
  // It is waited for later; until then its failure has nobody to hear it.
  provoked.rest?.catch(() => undefined);
  return provoked;
}

async function finish(side: Side, { rest, ...subject }: Provoked): Promise<Counts> {
  await rest;
  return countAtRest(side, subject);
}

function findingOf({ trouble, moves }: Scenario, naive: Counts | undefined, payonce: Counts): Finding {
  invariant(naive !== undefined, 'both sides are counted');
  return { trouble, moves, naive, payonce };
}
