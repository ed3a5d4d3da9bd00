import { randomUUID } from 'node:crypto';
import type { LabRun, LabSide, LabState, LabTrouble } from '../../console/lab/answers.ts';
import type { Authority } from '../../lambdas/authority/contract.ts';
import type { Runner, Watch } from '../runner.ts';
import type { Scenario } from '../scenarios.ts';
import { cells, isExact, verdict } from '../verdict.ts';

export interface LabRefusal {
  readonly status: 404 | 409;
  readonly code: 'unknown_trouble' | 'lab_is_busy';
  readonly detail: string;
}

const MAX_RUNS = 20;

export interface LabStack {
  readonly runner: Pick<Runner, 'run'>;
  /** Without a trailing slash. */
  readonly consoleUrl: string;
}

export interface LabOptions extends LabStack {
  readonly scenarios: readonly Scenario[];
  /** The authority of the local AWS to which the lab belongs. */
  readonly authority: Authority;
  /** Returns a local AWS with the other authority. It is started for the first run that needs it. */
  readonly other: (step: Watch['step']) => Promise<LabStack>;
}

export class Lab {
  readonly #options: LabOptions;
  #runs: readonly LabRun[] = [];

  constructor(options: LabOptions) {
    this.#options = options;
  }

  state(): LabState {
    const { authority, consoleUrl, scenarios } = this.#options;
    const [head = []] = cells([]);
    return { console: consoleUrl, authority, troubles: scenarios.map(troubleOf), head, runs: this.#runs };
  }

  run(id: string): LabRun | undefined {
    return this.#runs.find((run) => run.id === id);
  }

  /**
   * A run that fails is reported as failed and does not block the next run.
   *
   * @param authority Payonce's system of record @default the authority of the lab's local AWS
   */
  begin(troubleId: string, authority: Authority = this.#options.authority): LabRun | LabRefusal {
    const scenario = this.#options.scenarios.find(({ id }) => id === troubleId);
    if (scenario === undefined) {
      const detail = `trouble is ${JSON.stringify(troubleId)}, but must be an id that GET /lab lists.`;
      return { status: 404, code: 'unknown_trouble', detail };
    }
    const busy = this.#runs.find(({ state }) => state === 'running');
    if (busy !== undefined) {
      const detail = `The lab runs one failure scenario at a time. Wait for this one to finish: ${busy.trouble.trouble}.`;
      return { status: 409, code: 'lab_is_busy', detail };
    }
    const begun: LabRun = {
      id: randomUUID(),
      trouble: troubleOf(scenario),
      authority,
      state: 'running',
      steps: [],
      naive: {},
      payonce: {},
    };
    this.#runs = [begun, ...this.#runs].slice(0, MAX_RUNS);
    void this.#play(begun, scenario);
    return begun;
  }

  async #play({ id, authority }: LabRun, scenario: Scenario): Promise<void> {
    const change = (how: (run: LabRun) => Partial<LabRun>): void => {
      this.#runs = this.#runs.map((run) => (run.id === id ? { ...run, ...how(run) } : run));
    };
    const note = (name: 'naive' | 'payonce', side: LabSide): void =>
      change((run) => ({ [name]: { ...run[name], ...side } }));
    const step = (text: string): void => change(({ steps }) => ({ steps: [...steps, text] }));
    try {
      const isOwn = authority === this.#options.authority;
      const { runner, consoleUrl } = isOwn ? this.#options : await this.#options.other(step);
      const watch: Watch = {
        step,
        deploying: (stack) => step(`deploying the stack ${stack}`),
        caused: (name, payment) => {
          const timeline = `${consoleUrl}/#/payments/${encodeURIComponent(payment)}`;
          note(name, name === 'payonce' ? { payment, timeline } : { payment });
        },
        counted: (name, counts) => note(name, { counts }),
      };
      const findings = await runner.run([scenario], watch);
      for (const finding of findings) {
        for (const name of ['naive', 'payonce'] as const) {
          const counts = finding[name];
          note(name, { counts, verdict: verdict(counts, finding), isExact: isExact(counts, finding) });
        }
      }
      const [, row = []] = cells(findings);
      change(() => ({ state: 'done', row }));
    } catch (error) {
      change(() => ({ state: 'failed', error: error instanceof Error ? error.message : String(error) }));
    }
  }
}

function troubleOf({ id, trouble, moves, isOnlyInLab }: Scenario): LabTrouble {
  return { id, trouble, moves, isInDemo: isOnlyInLab !== true };
}
