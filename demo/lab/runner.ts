import { setTimeout as sleep } from 'node:timers/promises';
import type { LocalAws } from '../../local/local-aws.ts';
import { count, type Subject } from '../counts.ts';
import { type DeployedDemo, demoIsDeployed, deployDemo, removeDemo } from '../deployed.ts';
import type { Scenario } from '../scenarios.ts';
import { type Sides, sideBySide } from '../side-by-side.ts';
import { withSides } from '../sides.ts';
import type { Finding } from '../verdict.ts';
import type { Runner, Watch } from './lab.ts';

const POLL_INTERVAL_MS = 500;

/** Runs scenarios on a local AWS. The naive shop is deployed for the first one. */
export class LabRunner {
  readonly #aws: LocalAws;
  readonly #directory: string;
  #demo: DeployedDemo | undefined;

  readonly #isOwn: boolean;
  readonly #ended = Promise.withResolvers<never>();
  #running: Promise<unknown> = Promise.resolve();

  /**
   * @param directory of the CDK's files
   * @param demo the naive shop, if it is already deployed. @default it is deployed here
   */
  constructor(aws: LocalAws, directory: string, demo?: DeployedDemo) {
    this.#aws = aws;
    this.#directory = directory;
    this.#demo = demo;
    this.#isOwn = demo === undefined;
    this.#ended.promise.catch(() => undefined);
  }

  /** The counts equal those of `npm run demo`, because the same function computes them. */
  readonly run: Runner = (scenario, watch) => {
    const finding = this.#run(scenario, watch);
    this.#running = finding.catch(() => undefined);
    return finding;
  };

  /** Ends the run, if there is one, and removes the naive shop, if it was deployed here. */
  async end(): Promise<void> {
    this.#ended.reject(new Error('the lab was stopped'));
    await this.#running;
    if (this.#isOwn && this.#demo !== undefined) await removeDemo(this.#aws);
  }

  async #run(scenario: Scenario, watch: Watch): Promise<Finding> {
    const demo = await this.#deployed(watch);
    return withSides(this.#aws, demo, async (sides) => {
      const counting = new LiveCounts(sides, watch);
      try {
        const found = sideBySide(sides, [scenario], watch.step, (name, subject) => {
          watch.caused(name, subject.payment);
          counting.begin(name, subject);
        });
        const [finding] = await Promise.race([found, this.#ended.promise]);
        return finding as Finding;
      } finally {
        await counting.end();
      }
    });
  }

  async #deployed({ step }: Watch): Promise<DeployedDemo> {
    // `npm run demo` removes the naive shop when it is done.
    if (this.#demo !== undefined && (await demoIsDeployed(this.#aws))) return this.#demo;
    step('deploying the naive shop and two consumers next to Payonce');
    let deploying = '';
    this.#demo = await deployDemo(this.#aws, this.#directory, (line) => {
      const [, stack = deploying] = /^(Payonce\w+) \|/.exec(line) ?? [];
      if (stack !== deploying) step(`deploying the stack ${stack}`);
      deploying = stack;
    });
    return this.#demo;
  }
}

/** Counts both sides repeatedly, for display. */
class LiveCounts {
  readonly #sides: Sides;
  readonly #watch: Watch;
  readonly #ended = new AbortController();
  readonly #loops: Promise<void>[] = [];

  constructor(sides: Sides, watch: Watch) {
    this.#sides = sides;
    this.#watch = watch;
  }

  begin(name: keyof Sides, subject: Subject): void {
    this.#loops.push(this.#loop(name, subject));
  }

  async end(): Promise<void> {
    this.#ended.abort();
    await Promise.all(this.#loops);
  }

  async #loop(name: keyof Sides, subject: Subject): Promise<void> {
    const { signal } = this.#ended;
    while (!signal.aborted) {
      // A failed count is not a result. The final counts are computed elsewhere.
      const found = await count(this.#sides[name], subject).catch(() => undefined);
      if (found !== undefined && !signal.aborted) this.#watch.counted(name, found.counts);
      await sleep(POLL_INTERVAL_MS, undefined, { signal }).catch(() => undefined);
    }
  }
}
