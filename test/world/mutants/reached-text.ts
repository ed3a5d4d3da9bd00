import { readFileSync } from 'node:fs';
import { type Profiler, Session } from 'node:inspector';
import { setFlagsFromString } from 'node:v8';
import type { Mutant } from './mutant.ts';
import { MUTANTS } from './mutants.ts';

interface Place {
  readonly mutant: string;
  /** Of the first replaced character that differs. Types are stripped without moving what follows them. */
  readonly offset: number;
}

/** V8 counts no calls of a function that it has optimized, which it does to those that are called often. */
const NOT_OPTIMIZED = ['--no-opt', '--no-maglev'];

/**
 * Which of the texts that mutants replace were run, by the coverage that V8 counts. It is made before the product is loaded, because
 * V8 counts only in what is compiled later.
 */
export class ReachedText {
  readonly #session = new Session();
  readonly #places = new Map<string, Place[]>();
  /** Mutants of text outside of functions, for example of a constant. */
  readonly #always = new Set<string>();

  constructor() {
    NOT_OPTIMIZED.forEach(setFlagsFromString);
    for (const mutant of MUTANTS) for (const [url, place] of placesOf(mutant)) this.#add(url, place);
    this.#session.connect();
    this.#session.post('Profiler.enable');
    this.#session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  }

  /** @returns the mutants of which some text was run since the last call */
  take(): readonly string[] {
    const reached = new Set<string>();
    // The session belongs to this thread, so it answers before `post` returns.
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

/** The innermost counted block around the text. That of a whole file begins with it. */
function blockAround(
  functions: readonly Profiler.FunctionCoverage[],
  offset: number,
): Profiler.CoverageRange | undefined {
  const around = functions
    .flatMap(({ ranges }) => ranges)
    .filter(({ startOffset, endOffset }) => startOffset <= offset && offset < endOffset);
  return around.toSorted((one, other) => one.endOffset - one.startOffset - (other.endOffset - other.startOffset))[0];
}
