import { readFileSync } from 'node:fs';
import { type Profiler, Session } from 'node:inspector';
import { setFlagsFromString } from 'node:v8';
import type { Mutant } from './mutant.ts';
import { MUTANTS } from './mutants.ts';

interface Place {
  readonly mutant: string;
  /**
   * Offset of the first character at which the replacement differs from the original. Type stripping replaces types
   * with spaces, so later offsets stay the same.
   */
  readonly offset: number;
}

/** V8 flags that disable optimization, because V8 does not count calls of optimized functions. */
const NOT_OPTIMIZED = ['--no-opt', '--no-maglev'];

/**
 * Reports the mutants whose replaced code was run, based on V8's coverage. Must be created before production code is
 * loaded, because V8 counts only code that it compiles afterwards.
 */
export class ReachedText {
  readonly #session = new Session();
  readonly #places = new Map<string, Place[]>();
  /** Names of the mutants that change code outside of functions, for example a constant. */
  readonly #always = new Set<string>();

  constructor() {
    NOT_OPTIMIZED.forEach(setFlagsFromString);
    for (const mutant of MUTANTS) for (const [url, place] of placesOf(mutant)) this.#add(url, place);
    this.#session.connect();
    this.#session.post('Profiler.enable');
    this.#session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  }

  /** The names of mutants that change code outside of functions are returned by every call. */
  take(): readonly string[] {
    const reached = new Set<string>();
    // The session inspects its own thread, so the callback runs before `post` returns.
    this.#session.post('Profiler.takePreciseCoverage', (error, answer) => {
      if (error !== null) throw error;
      for (const { url, functions } of answer.result)
        for (const { mutant, offset } of this.#places.get(url) ?? []) {
          const block = blockAround(functions, offset);
          if (block?.startOffset === 0) this.#always.add(mutant);
          else if (block !== undefined && block.count > 0) reached.add(mutant);
        }
    });
    return [...new Set([...reached, ...this.#always])];
  }

  #add(url: string, place: Place): void {
    const known = this.#places.get(url);
    if (known === undefined) this.#places.set(url, [place]);
    else known.push(place);
  }
}

function placesOf({ name, edits }: Mutant): readonly (readonly [url: string, place: Place])[] {
  return edits.map(({ file, find, replace }) => {
    const url = new URL(`../../../${file}`, import.meta.url);
    const same = find.split('').findIndex((letter, index) => letter !== replace[index]);
    const offset = readFileSync(url, 'utf8').indexOf(find) + Math.max(0, same);
    return [url.href, { mutant: name, offset }];
  });
}

/** Only the block of a whole file begins at offset 0. */
function blockAround(
  functions: readonly Profiler.FunctionCoverage[],
  offset: number,
): Profiler.CoverageRange | undefined {
  const around = functions
    .flatMap(({ ranges }) => ranges)
    .filter(({ startOffset, endOffset }) => startOffset <= offset && offset < endOffset);
  return around.toSorted((one, other) => one.endOffset - one.startOffset - (other.endOffset - other.startOffset))[0];
}
