/**
 * Environment variable with the number of the slice, starting at 0. It is set by hand or derived from the content of
 * the tree.
 */
export const SLICE = 'PAYONCE_SLICE';

/** True in `npm run prove`, which runs enumerations completely. */
export const IS_PROOF_RUN = process.env['PAYONCE_PROVE'] === '1';

/** Number of turns of the costly test files (test/run/turns.ts). */
export const TURNS = 10;

/**
 * Slice of the enumerations that this run covers. {@link TURNS} successive values of {@link SLICE} select the same
 * slice, each with a different turn, so that every pair of slice and turn occurs.
 */
export const SLICE_OF_CASES = Math.floor(sliceOfRun() / TURNS);

const PLAYED = { slice: SLICE_OF_CASES, proving: IS_PROOF_RUN };

export function sliceOfRun(): number {
  const text = process.env[SLICE] ?? '0';
  const slice = Number(text);
  if (text !== '' && Number.isSafeInteger(slice) && slice >= 0) return slice;
  throw new Error(`${SLICE} is "${text}" and must be a whole number, 0 or more`);
}

export function whole<Extent>(all: Extent, { slice }: { readonly slice: Extent }): Extent {
  return IS_PROOF_RUN ? all : slice;
}

/**
 * Use it for the costliest tests that are not enumerations.
 *
 * @param place the test runs in the slices whose number modulo `of` is this number (0 to `of` - 1); tests with the same
 * `of` and different places run in different slices
 */
export function inTurn<Test>(
  test: Test,
  { place, of, otherwise }: { readonly place: number; readonly of: number; readonly otherwise: Test },
  { slice, proving }: { readonly slice: number; readonly proving: boolean } = PLAYED,
): Test {
  return proving || slice % of === place ? test : otherwise;
}

/**
 * All slices together cover all cases.
 *
 * @param parts must have no common factor with the number of kinds if the kinds of cases alternate; otherwise a slice
 * contains only some kinds
 */
export function sliceOf<Case>(
  all: readonly Case[],
  parts: number,
  { slice, proving }: { readonly slice: number; readonly proving: boolean } = PLAYED,
): readonly Case[] {
  return proving ? all : all.filter((_, index) => index % parts === slice % parts);
}
