/** Which part of each enumeration this run plays, from 0 on. Set by `PAYONCE_SLICE`, or by the content of the tree. */
export const SLICE = 'PAYONCE_SLICE';

/** Set by `npm run prove`: enumerations are run whole. */
export const PROVING = process.env['PAYONCE_PROVE'] === '1';

const PLAYED = { slice: sliceOfRun(), proving: PROVING };

/** @throws Error for a number that would play nothing */
export function sliceOfRun(): number {
  const text = process.env[SLICE] ?? '0';
  const slice = Number(text);
  if (text !== '' && Number.isSafeInteger(slice) && slice >= 0) return slice;
  throw new Error(`${SLICE} is "${text}" and must be a whole number, 0 or more`);
}

/** How far a test goes: whole in `npm run prove`, and less of it, by the same code, in `npm test`. */
export function whole<Extent>(all: Extent, { slice }: { readonly slice: Extent }): Extent {
  return PROVING ? all : slice;
}

/**
 * A test, or what leaves it out: each `npm run prove` plays it, and one of so many runs of `npm test`. For the costliest tests that are not
 * an enumeration.
 *
 * @param place from 0 on; tests of one `of` that have different places take turns
 */
export function inTurn<Test>(
  test: Test,
  { place, of, otherwise }: { readonly place: number; readonly of: number; readonly otherwise: Test },
  { slice, proving }: { readonly slice: number; readonly proving: boolean } = PLAYED,
): Test {
  return proving || slice % of === place ? test : otherwise;
}

/**
 * The cases that this run plays: all of them in `npm run prove`, and one of `parts` in `npm test`, evenly spread. Other runs play other
 * parts, and together they play all.
 *
 * @param parts has no factor in common with the number of kinds that follow each other; otherwise a part has one kind only
 */
export function sliceOf<Case>(
  all: readonly Case[],
  parts: number,
  { slice, proving }: { readonly slice: number; readonly proving: boolean } = PLAYED,
): readonly Case[] {
  return proving ? all : all.filter((_, index) => index % parts === slice % parts);
}
