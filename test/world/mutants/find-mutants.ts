import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface, type Interface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { PROFILES } from '../simulator/profiles.ts';
import { MUTANTS } from './mutants.ts';

const HUNTED = fileURLToPath(new URL('./hunted.ts', import.meta.url));
const APPLY = fileURLToPath(new URL('./apply-mutant.ts', import.meta.url));
const NAMES = Object.keys(PROFILES).filter((name) => name !== 'calm');

/** How many histories it took until an oracle was violated. */
export interface Hunt {
  readonly mutant: string;
  readonly finding: string | undefined;
  /** One for each first seed; undefined when it was not found. Sorted. */
  readonly histories: readonly (number | undefined)[];
  /** The oracle that found it most recently. */
  readonly oracle: string | undefined;
}

export interface HuntOptions {
  /** The first seeds of the rows of histories. */
  readonly seeds: readonly number[];
  /** Histories of one row. */
  readonly most: number;
  /** Names of mutants. @default all */
  readonly only?: readonly string[];
  /** Mutants that are hunted at the same time. */
  readonly atOnce: number;
  readonly told: (hunt: Hunt) => void;
}

/** Hunts every mutant. A history counts only if the product without the fault does not violate the same oracle in it. */
export async function findMutants({ seeds, most, only, atOnce, told }: HuntOptions): Promise<readonly Hunt[]> {
  const left = MUTANTS.filter(({ name }) => only === undefined || only.includes(name));
  const hunts: Hunt[] = [];
  const work = async (): Promise<void> => {
    using sound = new Player();
    for (let mutant = left.shift(); mutant !== undefined; mutant = left.shift()) {
      using faulty = new Player(mutant.name);
      const histories: (number | undefined)[] = [];
      let oracle: string | undefined;
      for (const first of seeds) {
        const found = await hunt(faulty, sound, first, most);
        histories.push(found?.histories);
        oracle = found?.oracle ?? oracle;
      }
      histories.sort((one, other) => (one ?? most + 1) - (other ?? most + 1));
      const ended = { mutant: mutant.name, finding: mutant.finding, histories, oracle };
      hunts.push(ended);
      told(ended);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return hunts.toSorted((one, other) => one.mutant.localeCompare(other.mutant));
}

async function hunt(faulty: Player, sound: Player, first: number, most: number) {
  for (let histories = 1; histories <= most; histories += 1) {
    const seed = first + histories;
    const profile = NAMES[seed % NAMES.length] ?? 'everything';
    const violated = await faulty.play(seed, profile);
    if (violated.length === 0) continue;
    const known = await sound.play(seed, profile);
    const oracle = violated.find((name) => !known.includes(name));
    if (oracle !== undefined) return { histories, oracle };
  }
  return undefined;
}

/** The median; undefined when more than half were not found. */
export function medianOf({ histories }: Hunt): number | undefined {
  return histories[Math.floor(histories.length / 2)];
}

/** A process that plays histories with a planted fault, or without one. It is started again when it ends. */
class Player {
  readonly #mutant: string | undefined;
  #child: ChildProcess | undefined;
  #lines: Interface | undefined;

  constructor(mutant?: string) {
    this.#mutant = mutant;
  }

  /** @returns the violated oracles; that the process has ended counts as one */
  async play(seed: number, profile: string): Promise<readonly string[]> {
    const { child, lines } = this.#started();
    const answer = Promise.withResolvers<readonly string[]>();
    lines.once('line', (line) => answer.resolve(JSON.parse(line) as readonly string[]));
    lines.once('close', () => answer.resolve(['the simulator ends']));
    child.stdin?.write(`${seed} ${profile}\n`);
    const violated = await answer.promise;
    lines.removeAllListeners('line').removeAllListeners('close');
    if (violated.includes('the simulator ends')) this[Symbol.dispose]();
    return violated;
  }

  [Symbol.dispose](): void {
    this.#child?.kill();
    this.#child = undefined;
  }

  #started(): { readonly child: ChildProcess; readonly lines: Interface } {
    if (this.#child !== undefined && this.#lines !== undefined) return { child: this.#child, lines: this.#lines };
    const planted = this.#mutant === undefined ? [] : ['--import', APPLY];
    const environment = { ...process.env, PAYONCE_MUTANT: this.#mutant };
    const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', ...planted, HUNTED], {
      stdio: ['pipe', 'pipe', 'ignore'],
      env: environment,
    });
    // A child that has ended takes no input; its end is the answer.
    child.stdin.on('error', () => {});
    const lines = createInterface({ input: child.stdout });
    this.#child = child;
    this.#lines = lines;
    return { child, lines };
  }
}
