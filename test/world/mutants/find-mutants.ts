import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface, type Interface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { generate } from '../simulator/generate.ts';
import { STORIES, storyNamed } from '../stories/story.ts';
import type { Hunted } from './hunted.ts';
import { hasNeeded, type Mutant } from './mutant.ts';
import { MUTANTS } from './mutants.ts';

const HUNTED = fileURLToPath(new URL('./hunted.ts', import.meta.url));
const APPLY = fileURLToPath(new URL('./apply-mutant.ts', import.meta.url));

export interface Hunt {
  readonly mutant: string;
  readonly finding: string | undefined;
  /**
   * Number of histories until each series found the fault, including skipped histories, in ascending order. Undefined
   * for a series that did not find the fault.
   */
  readonly histories: readonly (number | undefined)[];
  /** Oracle that found the fault in the last successful series. `seed` and `profile` identify the history. */
  readonly oracle: string | undefined;
  readonly seed: number | undefined;
  readonly profile: string | undefined;
  /** Number of histories, in all series, that ran the replaced code. */
  readonly reached: number;
}

export interface HuntOptions {
  /** Number before the first seed of each series of histories. The histories of a series have consecutive seeds. */
  readonly seeds: readonly number[];
  /** Per series, including skipped histories. */
  readonly most: number;
  readonly only: readonly string[];
  /** Profiles that the histories use in turn. */
  readonly profiles: readonly string[];
  readonly atOnce: number;
  readonly onEnded: (hunt: Hunt) => void;
}

/**
 * Each history is first played without a fault, and a violation counts only if the same oracle is not violated without
 * the fault. A history is skipped for a mutant if it does not run the replaced code, or if it lacks steps that the
 * fault needs.
 */
export async function findMutants(options: HuntOptions): Promise<readonly Hunt[]> {
  const { only, atOnce, onEnded } = options;
  const left = MUTANTS.filter(({ name }) => only.includes(name));
  const hunts: Hunt[] = [];
  using sound = new SoundPlayer();
  const work = async (): Promise<void> => {
    for (let mutant = left.shift(); mutant !== undefined; mutant = left.shift()) {
      const ended = { mutant: mutant.name, finding: mutant.finding, ...(await hunt(mutant, sound, options)) };
      hunts.push(ended);
      onEnded(ended);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return hunts.toSorted((one, other) => one.mutant.localeCompare(other.mutant));
}

async function hunt(
  mutant: Mutant,
  sound: SoundPlayer,
  { seeds, most, profiles }: HuntOptions,
): Promise<Omit<Hunt, 'mutant' | 'finding'>> {
  using faulty = new Player(mutant.name);
  const histories: (number | undefined)[] = [];
  let found: Pick<Hunt, 'oracle' | 'seed' | 'profile'> = { oracle: undefined, seed: undefined, profile: undefined };
  let reached = 0;
  for (const first of seeds) {
    let count: number | undefined;
    for (let played = 1; played <= most && count === undefined; played += 1) {
      const seed = first + played;
      const profile = profiles[seed % profiles.length] ?? 'everything';
      if (!hasNeeded(mutant, generate(seed, profile))) continue;
      const known = await sound.play(`${seed} ${profile}`);
      if (!known.reached.includes(mutant.name)) continue;
      reached += 1;
      const { violated } = await faulty.play(`${seed} ${profile}`);
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

export interface StoryFinding {
  readonly mutant: string;
  /** First story that violates an oracle only with the mutant. */
  readonly story: string | undefined;
  readonly oracle: string | undefined;
}

export async function findInStories(
  only: readonly string[],
  onFound: (found: StoryFinding) => void,
): Promise<readonly StoryFinding[]> {
  using sound = new SoundPlayer();
  const all: StoryFinding[] = [];
  for (const mutant of MUTANTS.filter(({ name }) => only.includes(name))) {
    const found = { mutant: mutant.name, ...(await storyOf(mutant, sound)) };
    all.push(found);
    onFound(found);
  }
  return all;
}

async function storyOf(mutant: Mutant, sound: SoundPlayer): Promise<Omit<StoryFinding, 'mutant'>> {
  using faulty = new Player(mutant.name);
  for (const story of STORIES) {
    if (!hasNeeded(mutant, storyNamed(story).history)) continue;
    const known = await sound.play(`story ${story}`);
    if (!known.reached.includes(mutant.name)) continue;
    const { violated } = await faulty.play(`story ${story}`);
    const oracle = violated.find((name) => !known.violated.includes(name));
    if (oracle !== undefined) return { story, oracle };
  }
  return { story: undefined, oracle: undefined };
}

/** Returns undefined if most series did not find the fault. */
export function medianOf({ histories }: Pick<Hunt, 'histories'>): number | undefined {
  return histories[Math.floor(histories.length / 2)];
}

class SoundPlayer {
  readonly #player = new Player();
  readonly #played = new Map<string, Promise<Hunted>>();
  #last: Promise<unknown> = Promise.resolve();

  play(history: string): Promise<Hunted> {
    const known = this.#played.get(history);
    if (known !== undefined) return known;
    // A player accepts one history at a time.
    const played = this.#last.then(() => this.#player.play(history));
    this.#last = played;
    this.#played.set(history, played);
    return played;
  }

  [Symbol.dispose](): void {
    this.#player[Symbol.dispose]();
  }
}

/** Starts on demand, and restarts after the process exits. */
class Player {
  readonly #mutant: string | undefined;
  #child: ChildProcess | undefined;
  #lines: Interface | undefined;

  constructor(mutant?: string) {
    this.#mutant = mutant;
  }

  /** An exit of the process is reported as a violated oracle. */
  async play(history: string): Promise<Hunted> {
    const { child, lines } = this.#started();
    const answer = Promise.withResolvers<Hunted | undefined>();
    lines.once('line', (line) => answer.resolve(JSON.parse(line) as Hunted));
    lines.once('close', () => answer.resolve(undefined));
    child.stdin?.write(`${history}\n`);
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
    // Ignore write errors after the child exited: the exit itself is the result.
    child.stdin.on('error', () => {});
    const lines = createInterface({ input: child.stdout });
    this.#child = child;
    this.#lines = lines;
    return { child, lines };
  }
}
