import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface, type Interface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { PROFILES } from '../simulator/profiles.ts';
import type { Hunted } from './hunted.ts';
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
  /** The oracle that found it most recently, and the history that did. */
  readonly oracle: string | undefined;
  readonly seed: number | undefined;
  readonly profile: string | undefined;
  /** Histories of all rows in which the product runs the text that the fault replaces. */
  readonly reached: number;
}

export interface HuntOptions {
  /** The first seeds of the rows of histories. */
  readonly seeds: readonly number[];
  /** Histories of one row. */
  readonly most: number;
  /** Names of mutants. @default all */
  readonly only?: readonly string[];
  /** Histories of these profiles in turn. @default all but `calm` */
  readonly profiles?: readonly string[];
  /** Mutants that are hunted at the same time. */
  readonly atOnce: number;
  readonly told: (hunt: Hunt) => void;
}

/**
 * Hunts every mutant. A history counts only if the product without the fault does not violate the same oracle in it. The product
 * without a fault plays each history first, once for all mutants: a history in which it does not run the text that a fault
 * replaces cannot show the fault, and is not played with it.
 */
export async function findMutants(options: HuntOptions): Promise<readonly Hunt[]> {
  const { only, atOnce, told } = options;
  const left = MUTANTS.filter(({ name }) => only === undefined || only.includes(name));
  const hunts: Hunt[] = [];
  using sound = new SoundPlayer();
  const work = async (): Promise<void> => {
    for (let mutant = left.shift(); mutant !== undefined; mutant = left.shift()) {
      const ended = { mutant: mutant.name, finding: mutant.finding, ...(await hunt(mutant.name, sound, options)) };
      hunts.push(ended);
      told(ended);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return hunts.toSorted((one, other) => one.mutant.localeCompare(other.mutant));
}

async function hunt(
  mutant: string,
  sound: SoundPlayer,
  { seeds, most, profiles = NAMES }: HuntOptions,
): Promise<Omit<Hunt, 'mutant' | 'finding'>> {
  using faulty = new Player(mutant);
  const histories: (number | undefined)[] = [];
  let found: Pick<Hunt, 'oracle' | 'seed' | 'profile'> = { oracle: undefined, seed: undefined, profile: undefined };
  let reached = 0;
  for (const first of seeds) {
    let count: number | undefined;
    for (let played = 1; played <= most && count === undefined; played += 1) {
      const seed = first + played;
      const profile = profiles[seed % profiles.length] ?? 'everything';
      const known = await sound.play(seed, profile);
      if (!known.reached.includes(mutant)) continue;
      reached += 1;
      const { violated } = await faulty.play(seed, profile);
      const oracle = violated.find((name) => !known.violated.includes(name));
      if (oracle === undefined) continue;
      count = played;
      found = { oracle, seed, profile };
    }
    histories.push(count);
  }
  histories.sort((one, other) => (one ?? most + 1) - (other ?? most + 1));
  return { histories, ...found, reached };
}

/** The median; undefined when more than half were not found. */
export function medianOf({ histories }: Pick<Hunt, 'histories'>): number | undefined {
  return histories[Math.floor(histories.length / 2)];
}

/** Plays histories without a fault, each once. */
class SoundPlayer {
  readonly #player = new Player();
  readonly #played = new Map<string, Promise<Hunted>>();
  #last: Promise<unknown> = Promise.resolve();

  play(seed: number, profile: string): Promise<Hunted> {
    const name = `${seed} ${profile}`;
    const known = this.#played.get(name);
    if (known !== undefined) return known;
    // One after the other: a player takes one history at a time.
    const played = this.#last.then(() => this.#player.play(seed, profile));
    this.#last = played;
    this.#played.set(name, played);
    return played;
  }

  [Symbol.dispose](): void {
    this.#player[Symbol.dispose]();
  }
}

/** A process that plays histories with a planted fault, or without one. It is started when it is needed, and again when it ends. */
class Player {
  readonly #mutant: string | undefined;
  #child: ChildProcess | undefined;
  #lines: Interface | undefined;

  constructor(mutant?: string) {
    this.#mutant = mutant;
  }

  /** That the process has ended counts as a violated oracle. */
  async play(seed: number, profile: string): Promise<Hunted> {
    const { child, lines } = this.#started();
    const answer = Promise.withResolvers<Hunted | undefined>();
    lines.once('line', (line) => answer.resolve(JSON.parse(line) as Hunted));
    lines.once('close', () => answer.resolve(undefined));
    child.stdin?.write(`${seed} ${profile}\n`);
    const played = await answer.promise;
    lines.removeAllListeners('line').removeAllListeners('close');
    if (played !== undefined) return played;
    this[Symbol.dispose]();
    return { violated: ['the simulator ends'], reached: [] };
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
