/** Runs commands concurrently, reports their progress, and lists each failure with the command that repeats it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setPriority } from 'node:os';
import { createInterface } from 'node:readline';

export interface Step {
  readonly name: string;
  /** Script of package.json, followed by its arguments. */
  readonly script: readonly [string, ...string[]];
  readonly environment?: Readonly<Record<string, string>>;
  /**
   * Whether the step runs at lower priority, because it is CPU-bound while the other steps mostly wait.
   * @default false
   */
  readonly yields?: boolean;
}

interface EndedStep {
  readonly name: string;
  readonly seconds: number;
  readonly hasPassed: boolean;
  /** Line of totals that the suite printed, or an empty string. */
  readonly tests: string;
}

/** Nice value of a step with lower priority: it gets about a third of the CPU share of a normal process. */
const YIELDING = 5;
const TOTALS = /^(\d+) passed, (\d+) failed$/;
/** All other lines are shown only after a failure. */
const PROGRESS = /^(?:▸ |(?=\d+ histories, ))/;

export const PROGRESS_REPORTER = '--reporters=<rootDir>/test/run/progress-reporter.js';

/** Omits the progress reporter. */
export function commandOf([script, ...values]: readonly [string, ...string[]]): string {
  const shown = values
    .filter((value) => value !== PROGRESS_REPORTER)
    .map((value) => (/^[\w./:=-]+$/.test(value) ? value : `'${value}'`));
  return `npm run ${script}${shown.length === 0 ? '' : ` -- ${shown.join(' ')}`}`;
}

const children = new Set<ChildProcess>();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => process.exit(1));
process.once('exit', () => {
  for (const child of children) child.kill();
});

function lowerPriority(pid: number): void {
  try {
    setPriority(pid, YIELDING);
  } catch {
    // The child has already exited.
  }
}

export class StepRun {
  readonly #begunMs = performance.now();
  readonly #ended: EndedStep[] = [];
  readonly #environment: Readonly<Record<string, string>>;

  constructor(environment: Readonly<Record<string, string>> = {}) {
    this.#environment = environment;
  }

  get hasFailed(): boolean {
    return this.#ended.some(({ hasPassed }) => !hasPassed);
  }

  /** Returns undefined if `work` failed. */
  async work<Made>(name: string, work: () => Promise<Made>): Promise<Made | undefined> {
    const begunMs = performance.now();
    try {
      const made = await work();
      this.#end({ name, begunMs, hasPassed: true });
      return made;
    } catch (error) {
      this.#say(name, error instanceof Error ? error.message : String(error));
      this.#end({ name, begunMs, hasPassed: false });
      return undefined;
    }
  }

  async run({ name, script: [script, ...values], environment = {}, yields = false }: Step): Promise<boolean> {
    const begunMs = performance.now();
    const child = spawn('npm', ['run', '--silent', script, ...(values.length === 0 ? [] : ['--', ...values])], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...this.#environment, ...environment },
      // On Windows, npm is a batch file, which needs a shell.
      shell: process.platform === 'win32',
    });
    children.add(child);
    if (yields && child.pid !== undefined) lowerPriority(child.pid);
    const lines: string[] = [];
    let tests = '';
    for (const stream of [child.stdout, child.stderr])
      createInterface({ input: stream }).on('line', (line) => {
        if (PROGRESS.test(line)) this.#say(name, line.replace(PROGRESS, ''));
        else lines.push(line);
        const [totals] = TOTALS.exec(line) ?? [];
        if (totals !== undefined) tests = totals;
      });
    const code = await once(child, 'close').then(
      ([exit]) => exit as number | null,
      (error: unknown) => {
        lines.push(String(error));
        return null;
      },
    );
    children.delete(child);
    const hasPassed = code === 0;
    if (!hasPassed) {
      this.#say(name, `FAILED. To repeat: ${this.#repeat([script, ...values])}`);
      console.log(lines.join('\n'));
    }
    this.#end({ name, begunMs, hasPassed, tests });
    return hasPassed;
  }

  /** The step could not start. */
  skip(name: string, reason: string): void {
    this.#say(name, reason);
    this.#end({ name, begunMs: performance.now(), hasPassed: false });
  }

  summary(): void {
    console.log(`\n${'step'.padEnd(20)}${'seconds'.padStart(8)}`);
    for (const { name, seconds, hasPassed, tests } of this.#ended)
      console.log(
        `${name.padEnd(20)}${seconds.toFixed(0).padStart(8)}  ${hasPassed ? '' : 'FAILED '}${tests}`.trimEnd(),
      );
    console.log(`${'in all'.padEnd(20)}${this.#seconds(this.#begunMs).toFixed(0).padStart(8)}`);
    const counts = this.#ended.map(({ tests, hasPassed }) => countsOf(tests, hasPassed));
    const sum = (index: 0 | 1): number => counts.reduce((total, each) => total + each[index], 0);
    console.log(`${sum(0)} passed, ${sum(1)} failed`);
  }

  #end({
    name,
    begunMs,
    hasPassed,
    tests = '',
  }: {
    readonly name: string;
    readonly begunMs: number;
    readonly hasPassed: boolean;
    readonly tests?: string;
  }): void {
    const seconds = this.#seconds(begunMs);
    this.#ended.push({ name, seconds, hasPassed, tests });
    this.#say(
      name,
      `${hasPassed ? 'passed' : 'failed'} after ${seconds.toFixed(0)} s${tests === '' ? '' : `: ${tests}`}`,
    );
  }

  #seconds(begunMs: number): number {
    return (performance.now() - begunMs) / 1_000;
  }

  #say(name: string, text: string): void {
    const at = this.#seconds(this.#begunMs).toFixed(0).padStart(5);
    console.log(`${at} s  ${name}: ${text}`);
  }

  #repeat([script, ...values]: readonly [string, ...string[]]): string {
    const variables = Object.entries(this.#environment).filter(([name]) =>
      /^PAYONCE_(?:SLICE|CHANGED_ROOMS|PROVE)$/.test(name),
    );
    const set = variables.map(([name, value]) => `${name}=${value} `).join('');
    return `${set}${commandOf([script, ...values])}`;
  }
}

/** A step without a line of totals counts as one test, passed or failed. */
function countsOf(tests: string, hasPassed: boolean): readonly [passed: number, failed: number] {
  const [, passed, failed] = TOTALS.exec(tests) ?? [];
  if (passed === undefined) return hasPassed ? [1, 0] : [0, 1];
  return [Number(passed), hasPassed ? Number(failed) : Math.max(1, Number(failed))];
}
