import { expect, test } from '@jest/globals';
import { adversarialTexts, repeats } from '../support/adversarial-texts.ts';
import { listedPatterns } from '../support/listed-patterns.ts';
import { sliceOf, whole } from '../support/slice.ts';

/** Length of the longest body, in characters. */
const LONG = 32 * 1024;
const SHORT = 1024;
/** If the search of a short text exceeds this time, a long text is also searched. Milliseconds. */
const SUSPECT_MS = 0.15;
/** Time in milliseconds that a search of a few dozen characters exceeds only if the search is exponential. */
const ENDLESS_MS = 5;
/** Time that any search of a long text is allowed to take, in milliseconds. A quadratic search takes about a second. */
const FLOOR_MS = 20;
const PLAIN = 'Two shirts and a hat for order 6735. ';

test('every regular expression takes linear time on adversarial texts', async () => {
  const distinct = new Map(
    (await listedPatterns((files) => sliceOf(files, 4))).map((each) => [String(forAll(each.pattern)), each]),
  );
  expect(distinct.size).toBeGreaterThan(whole(150, { slice: 25 }));
  const slow = [...distinct.values()].flatMap(({ file, pattern }) => {
    const text = repeats(pattern.source) ? slowText(pattern, LONG) : undefined;
    return text === undefined ? [] : [`${file} ${pattern} ${JSON.stringify(text.slice(0, 60))}`];
  });
  expect(slow).toEqual([]);
});

const BACKTRACKING: readonly (readonly [over: string, pattern: RegExp])[] = [
  ['a suffix', /\/+$/],
  ['an overlap with its own beginning', /(?<![A-Za-z0-9])eyJ[\w-]{8,}\.eyJ/],
  ['an unclosed quote', /(?:"(?:[^"\\]|\\.)*"|[^,])+/g],
  ['two adjacent overlapping ranges', /^[^\n]*[^\n\s][^\n]*$/],
  ['a high bound', /a{1,30000}b/],
  ['nested repetition', /^(?:a+)+$/],
  ['a lookbehind', /(?<=(?:^|,)[\s']*)(?==)/g],
];

test.each(sliceOf(BACKTRACKING, 3))(
  'the check finds a regular expression that backtracks over %s',
  (_over, pattern) => {
    expect(slowText(pattern, LONG / 8)).toBeDefined();
  },
);

/**
 * Returns a text of this length on which the pattern takes more than ten times the CPU time of plain text, and more
 * than `FLOOR_MS` allows for this length; undefined if none is found. If the search is exponential, the text is
 * shorter.
 */
function slowText(given: RegExp, length: number): string | undefined {
  const pattern = forAll(given);
  const texts = adversarialTexts(pattern);
  const endless = texts.find((text) => leastMs(pattern, text(24), ENDLESS_MS) > ENDLESS_MS);
  if (endless !== undefined) return endless(24);
  const suspects = texts
    .map((text) => ({ text, ms: leastMs(pattern, text(SHORT), SUSPECT_MS) }))
    .filter(({ ms }) => ms > SUSPECT_MS)
    .toSorted((one, other) => other.ms - one.ms)
    .slice(0, 3);
  const plain = PLAIN.repeat(length / PLAIN.length);
  return suspects
    .map(({ text }) => text(length))
    .find((text) => {
      const floorMs = (FLOOR_MS * length) / LONG;
      const allowed = Math.max(floorMs, 10 * leastMs(pattern, plain, floorMs / 10));
      return leastMs(pattern, text, allowed) > allowed;
    });
}

function forAll({ source, flags }: RegExp): RegExp {
  return new RegExp(source, flags.includes('g') ? flags : `${flags}g`);
}

/** A result above the limit may be noise, so the search is measured up to three times. */
function leastMs(pattern: RegExp, text: string, limitMs: number): number {
  let least = Number.POSITIVE_INFINITY;
  for (let attempt = 0; attempt < 3 && least > limitMs; attempt += 1) {
    const began = process.cpuUsage();
    text.replaceAll(pattern, '');
    const { user, system } = process.cpuUsage(began);
    least = Math.min(least, (user + system) / 1000);
  }
  return least;
}
