import { describe, expect, test } from '@jest/globals';
import { setClock } from '../../console/clock.ts';
import { inSequence } from '../../console/in-sequence.ts';
import { daysShown, scaleOf } from '../../console/scale.ts';
import {
  amountToEnter,
  callResult,
  count,
  dayToSend,
  enteredAmount,
  limitText,
  localTime,
  money,
  relativeTime,
  sentDay,
  usualRanges,
  utcTime,
} from '../../console/show.ts';

test('a change that the processor accepted is not shown as applied, because it may be pending', () => {
  expect([callResult('send', 'applied'), callResult('look', 'applied')]).toEqual(['accepted', 'found']);
  expect(callResult('send', 'no_response')).toBe('no response');
});

test.each([
  [600, 'EUR', 'en-US', '6.00 EUR'],
  [-5, 'EUR', 'en-US', '-0.05 EUR'],
  [123_456_789, 'EUR', 'en-US', '1,234,567.89 EUR'],
  [123_456_789, 'EUR', 'de-DE', '1.234.567,89 EUR'],
  [123_456_789, 'INR', 'en-IN', '12,34,567.89 INR'],
  [600, 'JPY', 'en-US', '600 JPY'],
  // The browser's locale data has no decimals for these currencies.
  [600, 'HUF', 'en-US', '6.00 HUF'],
  [600, 'IQD', 'en-US', '0.600 IQD'],
  // A JavaScript number could not represent this amount in major units.
  [Number.MAX_SAFE_INTEGER, 'EUR', 'en-US', '90,071,992,547,409.91 EUR'],
  [null, 'EUR', 'en-US', '–'],
] as const)('%p minor units of %s are shown in %s as %s', (minor, currency, locale, shown) => {
  expect(money(minor, currency, locale)).toBe(shown);
});

test.each([
  ['12.5', 'EUR', 'en-US', 1250],
  ['12,50', 'EUR', 'de-DE', 1250],
  ['12.50', 'EUR', 'de-DE', 1250],
  ['1,250', 'JPY', 'en-US', undefined],
  ['1.250', 'EUR', 'de-DE', undefined],
  ['12,50', 'EUR', 'en-US', 1250],
  ['12,5', 'EUR', 'en-US', 1250],
  ['1,500', 'EUR', 'en-US', undefined],
  ['1,500', 'IQD', 'en-US', undefined],
  ['1,250,50', 'EUR', 'en-US', undefined],
  ['12,5', 'JPY', 'en-US', undefined],
] as const)('%p is read as an amount of %s in %s: %p', (text, currency, locale, minor) => {
  expect(enteredAmount(text, currency, locale)).toBe(minor);
  if (minor !== undefined) expect(enteredAmount(amountToEnter(minor, currency, locale), currency, locale)).toBe(minor);
});

test('a number is shown with the thousands separators of the locale', () => {
  expect([count(1_234_567, 'en-US'), count(1_234_567, 'de-DE')]).toEqual(['1,234,567', '1.234.567']);
});

test('a range of days includes its last day', () => {
  const [from, to] = [dayToSend('2026-03-01', 'first'), dayToSend('2026-03-03', 'last')];
  expect([utcTime(from), utcTime(to)]).toEqual(['2026-03-01 00:00:00 UTC', '2026-03-04 00:00:00 UTC']);
  expect([sentDay(from, 'first'), sentDay(to, 'last')]).toEqual(['2026-03-01', '2026-03-03']);
});

const LIMITS: readonly (readonly [above: Readonly<Record<string, number>>, text: string])[] = [
  [{}, 'zero'],
  [{ EUR: 5000 }, '50.00 EUR, and all in other currencies,'],
  [{ EUR: 5000, JPY: 7000 }, '50.00 EUR or 7,000 JPY, and all in other currencies,'],
  [
    { '*': 5000 },
    '50.00 in currencies with two decimals, 5,000 in those without decimals, or 5.000 in those with three decimals',
  ],
  [
    { EUR: 5000, '*': 100 },
    '50.00 EUR, 1.00 in other currencies with two decimals, 100 in those without decimals, or 0.100 in those with three decimals',
  ],
];
test.each(LIMITS)('the limits %p are described as: above %s', (above, text) => {
  expect(limitText(above, 'en-US')).toBe(text);
});

describe('a time', () => {
  const at = Date.UTC(2026, 2, 1, 23, 30, 5) / 1000;
  test("is shown in the browser's time zone and in UTC", () => {
    expect(localTime(at, { locale: 'en-GB', timeZone: 'Asia/Tokyo' })).toBe('2 Mar 2026, 08:30:05');
    expect(utcTime(at)).toBe('2026-03-01 23:30:05 UTC');
    expect(utcTime(at + 0.25)).toBe('2026-03-01 23:30:05.250 UTC');
  });
  test.each([
    [0, 'now'],
    [59, '59 seconds ago'],
    [3 * 3_600, '3 hours ago'],
    [-3_600, 'in 1 hour'],
    [26 * 3_600, 'yesterday'],
    [400 * 86_400, 'last year'],
  ])('%p seconds ago is shown as %p', (seconds, shown) => {
    expect(relativeTime(at, (at + seconds) * 1000, 'en')).toBe(shown);
  });
  test('is relative to the time of the API, which can be days ahead of the browser', () => {
    const apiMs = Date.now() + 3 * 86_400_000;
    setClock(new Date(apiMs).toUTCString());
    setClock(null);
    expect(relativeTime(apiMs / 1000 - 7_200, undefined, 'en')).toMatch(/^[12] hours? ago$/);
    setClock(new Date().toUTCString());
  });
});

test("the usual ranges of an export follow the API's clock", () => {
  setClock('Fri, 01 Jan 2027 00:00:05 GMT');
  expect(usualRanges()).toEqual([
    ['Last month', '2026-12-01', '2026-12-31'],
    ['This month', '2027-01-01', '2027-01-01'],
    ['Yesterday', '2026-12-31', '2026-12-31'],
  ]);
  setClock(new Date().toUTCString());
});

test('the timeline is ordered by time, but keeps the order of the transitions even if the clocks of two processes differ', () => {
  const entry = (seconds: number, kind: string, sequence: number | null) => ({
    at: new Date(seconds * 1000).toISOString(),
    kind,
    sequence,
  });
  const entries = [
    entry(1, 'transition', 1),
    // The clock of this process is one second behind.
    entry(2, 'transition', 3),
    entry(2, 'event', 3),
    entry(3, 'transition', 2),
    entry(4, 'transition', 4),
    // A look-up of the change that transition 2 began.
    entry(5, 'call', 2),
    entry(6, 'act', null),
    entry(7, 'transition', 5),
  ];
  expect(inSequence(entries).map(({ at, kind, sequence }) => `${at.slice(18, 19)} ${kind} ${sequence}`)).toEqual([
    '1 transition 1',
    '3 transition 2',
    '2 transition 3',
    '2 event 3',
    '4 transition 4',
    '5 call 2',
    '6 act null',
    '7 transition 5',
  ]);
});

test.each([
  [0, [0, 1, 2, 3, 4]],
  [3, [0, 1, 2, 3, 4]],
  [7, [0, 2, 4, 6, 8]],
  [1999, [0, 500, 1000, 1500, 2000]],
  [2001, [0, 500, 1000, 1500, 2000, 2500]],
  [98_000, [0, 20_000, 40_000, 60_000, 80_000, 100_000]],
])('the axis for values up to %p has the lines %p', (largest, lines) => {
  expect(scaleOf(largest)).toEqual(lines);
});

test('the axis of days shows at most seven dates, including the newest', () => {
  const days = Array.from({ length: 31 }, (_day, index) => `2026-03-${String(index + 1).padStart(2, '0')}`);
  expect(daysShown(days)).toEqual(['01', '06', '11', '16', '21', '26', '31'].map((day) => `2026-03-${day}`));
  expect(daysShown(days.slice(0, 7))).toHaveLength(7);
});
