import type { History, Step } from './contract.ts';

export interface Shown {
  /** Whether the run violates the oracle for which the history is shrunk. */
  readonly violates: boolean;
  readonly faults: readonly string[];
}

export interface Shrunk {
  readonly history: History;
  readonly runs: number;
}

/**
 * @param most maximum number of runs
 *
 * @throws Error when the history violates no oracle
 */
export async function shrink(
  history: History,
  run: (history: History) => Promise<Shown>,
  most = 2_000,
): Promise<Shrunk> {
  const shrinker = new Shrinker(history, run, most);
  return shrinker.shrink();
}

class Shrinker {
  #best: History;
  readonly #run: (history: History) => Promise<Shown>;
  readonly #most: number;
  #faults: readonly string[] = [];
  #runs = 0;

  constructor(history: History, run: (history: History) => Promise<Shown>, most: number) {
    this.#best = history;
    this.#run = run;
    this.#most = most;
  }

  async shrink(): Promise<Shrunk> {
    if (!(await this.#accepts(this.#best))) throw new Error('the history violates no oracle');
    for (let before: History | undefined; before !== this.#best && this.#runs < this.#most; ) {
      before = this.#best;
      await this.#withoutSubjects();
      await this.#withoutSteps();
      await this.#withoutFaults();
      await this.#withSimplerArguments();
    }
    return { history: this.#best, runs: this.#runs };
  }

  async #accepts(history: History): Promise<boolean> {
    if (this.#runs >= this.#most) return false;
    this.#runs += 1;
    const { violates, faults } = await this.#run(history);
    if (!violates) return false;
    this.#best = history;
    this.#faults = faults;
    return true;
  }

  async #withoutSubjects(): Promise<void> {
    for (const { id, ...step } of this.#best.steps) {
      if (step['of'] !== undefined) continue;
      const { steps } = this.#best;
      await this.#accepts({ ...this.#best, steps: steps.filter((each) => !isAbout(steps, each, id)) });
    }
  }

  async #withoutSteps(): Promise<void> {
    await without(
      () => this.#best.steps,
      (steps) => this.#accepts({ ...this.#best, steps }),
    );
  }

  async #withoutFaults(): Promise<void> {
    const mute = (faults: readonly string[]): Promise<boolean> => {
      const muted = this.#faults.filter((name) => !faults.includes(name));
      return this.#accepts({ ...this.#best, muted: [...new Set([...this.#best.muted, ...muted])] });
    };
    if (this.#faults.length > 0 && (await mute([]))) return;
    await without(() => this.#faults, mute);
  }

  async #withSimplerArguments(): Promise<void> {
    for (let index = 0; index < this.#best.steps.length; index += 1)
      for (const argument of Object.keys(this.#best.steps[index] ?? {}))
        for (const simpler of simplerSteps(this.#best.steps, index, argument))
          if (await this.#accepts({ ...this.#best, steps: this.#best.steps.with(index, simpler) })) break;
  }
}

/** The chunks shrink from half of all items to single items. */
async function without<Item>(
  items: () => readonly Item[],
  accepts: (left: readonly Item[]) => Promise<boolean>,
): Promise<void> {
  for (let size = Math.ceil(items().length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2))
    for (let from = 0; from < items().length; ) {
      const before = items();
      const left = before.toSpliced(from, size);
      const isTaken = await accepts(left);
      // Suppressing a fault can cause further faults. If the list is not shorter, continue with the next chunk.
      if (!isTaken || items().length >= before.length) from += size;
    }
}

function isAbout(steps: readonly Step[], step: Step, root: number): boolean {
  let found: Step | undefined = step;
  while (found !== undefined && found.id !== root) found = steps.find(({ id }) => id === found?.['of']);
  return found !== undefined;
}

const FIXED = new Set(['id', 'actor', 'act', 'of']);
const SHARES = new Set(['lost', 'doubled', 'late', 'slow']);
const OPTIONAL = new Set(['reference', 'wait', 'stranger', 'referrer', 'charge', 'dollars', 'receipt', 'affiliate']);
const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** The simplest first. */
function simplerSteps(steps: readonly Step[], index: number, argument: string): readonly Step[] {
  const step = steps[index];
  if (step === undefined || FIXED.has(argument)) return [];
  const value = step[argument];
  const withValue = (simpler: unknown): Step => ({ ...step, [argument]: simpler });
  if (argument === 'atMs') return simplerTimes(step.atMs, steps[index - 1]?.atMs ?? 0).map(withValue);
  const { [argument]: _gone, ...rest } = step;
  const shorter = OPTIONAL.has(argument) ? [rest as Step] : [];
  return [
    ...shorter,
    ...simplerValues(argument, value)
      .filter((simpler) => simpler !== value)
      .map(withValue),
  ];
}

/** The order of the steps must stay the same. */
function simplerTimes(atMs: number, afterMs: number): readonly number[] {
  const soon = [SECOND_MS, MINUTE_MS, HOUR_MS, DAY_MS].map((unit) => (Math.floor(afterMs / unit) + 1) * unit);
  const rounded = [DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS].map((unit) => Math.round(atMs / unit) * unit);
  const isSimpler = (ms: number): boolean => ms >= afterMs && digits(ms) < digits(atMs);
  return [...soon.filter((ms) => ms < atMs), ...rounded].filter(isSimpler);
}

/**
 * Returns the number of units needed to write a time: 1 for whole days, 2 for whole hours, 3 for whole minutes, 4 for
 * whole seconds, or else 5.
 */
function digits(ms: number): number {
  const units = [DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS];
  const place = units.findIndex((unit) => ms % unit === 0);
  return place === -1 ? units.length + 1 : place + 1;
}

function simplerValues(argument: string, value: unknown): readonly unknown[] {
  if (SHARES.has(argument)) return value === 0 || value === 1 ? (value === 1 ? [0] : []) : [0, 1];
  switch (argument) {
    case 'amount':
      return value === 0 ? [] : [1000];
    case 'copies':
    case 'count':
      return [1];
    case 'source':
      return ['tok_ok'];
    case 'sku':
      return ['sku_tea'];
    case 'email':
      return ['ada@example.com'];
    case 'tenant':
      return ['shop'];
    case 'currency':
      return ['EUR'];
    case 'capture':
      return ['automatic'];
    default:
      return [];
  }
}
