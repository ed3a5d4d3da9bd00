import { randomBytes, randomUUID } from 'node:crypto';
import { invariant } from '../lambdas/kernel/invariant.ts';
import type { LocalAws } from '../local/local-aws.ts';
import { countAtRest, countRepeatedly, type Subject } from './counts.ts';
import { type DeployedDemo, demoIsDeployed, deployDemo, removeDemo } from './deployed.ts';
import { type Scenario, TooLate } from './scenarios.ts';
import type { Side } from './side.ts';
import { type Sides, withSides } from './sides.ts';
import type { Counts, Finding } from './verdict.ts';

type SideName = keyof Sides;

export interface Watch {
  readonly step: (text: string) => void;
  readonly deploying?: (stack: string) => void;
  readonly caused?: (side: SideName, payment: string) => void;
  readonly counted?: (side: SideName, counts: Counts) => void;
}

/** The naive shop is deployed for the first run. */
export class Runner {
  readonly #aws: LocalAws;
  readonly #directory: string;
  readonly #isOwn: boolean;
  readonly #ended = Promise.withResolvers<never>();
  #demo: DeployedDemo | undefined;
  #running: Promise<unknown> = Promise.resolve();

  /**
   * @param demo the naive shop, if it is already deployed
   * @default this runner deploys the naive shop, and removes it at the end
   */
  constructor(aws: LocalAws, directory: string, demo?: DeployedDemo) {
    this.#aws = aws;
    this.#directory = directory;
    this.#demo = demo;
    this.#isOwn = demo === undefined;
    this.#ended.promise.catch(() => undefined);
  }

  /** @throws Error when a failure could not be caused, its results could not be counted, or the runner ends */
  run(scenarios: readonly Scenario[], watch: Watch): Promise<readonly Finding[]> {
    const findings = this.#run(scenarios, watch);
    this.#running = findings.catch(() => undefined);
    return findings;
  }

  async deploy({ step, deploying }: Watch): Promise<DeployedDemo> {
    // Check again: `npm run demo` removes the naive shop when it is done.
    if (this.#demo !== undefined && (await demoIsDeployed(this.#aws))) return this.#demo;
    step('deploying the naive shop and two consumers next to Payonce');
    let current = '';
    this.#demo = await deployDemo(this.#aws, this.#directory, (line) => {
      const [, stack = current] = /^(Payonce\w+) \|/.exec(line) ?? [];
      if (stack !== current) deploying?.(stack);
      current = stack;
    });
    return this.#demo;
  }

  async end(): Promise<void> {
    this.#ended.reject(new Error('the lab was stopped'));
    await this.#running;
    if (this.#isOwn && this.#demo !== undefined) await removeDemo(this.#aws);
  }

  async #run(scenarios: readonly Scenario[], watch: Watch): Promise<readonly Finding[]> {
    const demo = await this.deploy(watch);
    return withSides(this.#aws, demo, async (sides) => {
      const counting = new AbortController();
      const loops: Promise<void>[] = [];
      const caused = (name: SideName, subject: Subject): void => {
        const { counted } = watch;
        watch.caused?.(name, subject.payment);
        if (counted === undefined) return;
        loops.push(countRepeatedly(sides[name], subject, (counts) => counted(name, counts), counting.signal));
      };
      try {
        return await Promise.race([sideBySide(sides, scenarios, watch.step, caused), this.#ended.promise]);
      } finally {
        counting.abort();
        await Promise.all(loops);
      }
    });
  }
}

const SIDES = [
  ['naive', 'naive'],
  ['payonce', 'Payonce'],
] as const;
const LAST_TURN = 3;

/**
 * @param step called with a description of each step
 * @param caused called after the failure was caused on a side, with the subject to count on that side
 */
export async function sideBySide(
  sides: Sides,
  scenarios: readonly Scenario[],
  step: Watch['step'],
  caused: (name: SideName, subject: Subject) => void = () => undefined,
): Promise<readonly Finding[]> {
  const run = randomBytes(4).toString('hex');
  const failures = { naive: new Map<Scenario, Failure>(), payonce: new Map<Scenario, Failure>() };
  for (const scenario of scenarios.toSorted(byTurn)) {
    for (const [name, title] of SIDES) {
      step(`${title}: ${scenario.trouble}`);
      const failure = await causeFailure(sides[name], scenario, `demo-${run}-${scenario.id}`);
      failures[name].set(scenario, failure);
      caused(name, failure.subject);
    }
  }
  step('waiting until all counts are stable');
  const countsOf = async (name: SideName, scenario: Scenario): Promise<Counts> => {
    const failure = failures[name].get(scenario);
    invariant(failure !== undefined, 'the scenario has not run');
    return countAtRest(sides[name], failure.subject, await failure.ended);
  };
  return Promise.all(
    scenarios.map(async (scenario) => {
      const [naive, payonce] = await Promise.all([countsOf('naive', scenario), countsOf('payonce', scenario)]);
      return { ...scenario, naive, payonce };
    }),
  );
}

function byTurn(left: Scenario, right: Scenario): number {
  return (left.turn ?? LAST_TURN) - (right.turn ?? LAST_TURN);
}

interface Failure {
  readonly subject: Subject;
  /** Resolves when the failure and its consequences have ended, with the time of `performance.now()`. */
  readonly ended: Promise<number>;
}

/** A slow charge takes seconds and is polled every 20 ms, so one of the attempts succeeds even on a busy machine. */
const MAX_ATTEMPTS = 20;

/**
 * @param name part of the idempotency keys
 * @throws Error when the failure could not be caused, or every response arrived before the failure
 */
export async function causeFailure(side: Side, scenario: Scenario, name: string): Promise<Failure> {
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
    const { key, payment } = requestOf(side, scenario, attempt === 1 ? name : `${name}-${attempt}`);
    try {
      await scenario.provoke(side, key, payment);
    } catch (error) {
      if (error instanceof TooLate) continue;
      throw error;
    }
    const ended = Promise.resolve(scenario.retry?.(side, key, payment)).then(() => performance.now());
    // Prevents an unhandled rejection, because the promise is awaited later.
    ended.catch(() => undefined);
    return { subject: { ...scenario, payment }, ended };
  }
  throw new Error(
    `${name}: the response arrived before the failure ${MAX_ATTEMPTS} times; this machine is too busy for this scenario`,
  );
}

function requestOf({ config }: Side, { isByEvent }: Scenario, name: string) {
  const key = isByEvent === true ? randomUUID() : name;
  return { key, payment: isByEvent === true ? config.paymentOfEvent(key) : config.paymentOf(key) };
}
