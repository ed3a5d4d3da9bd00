import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { page } from '../../demo/page.ts';
import { SCENARIOS } from '../../demo/scenarios.ts';
import { type Counts, cells, exitCode, type Finding, plainTable, verdict } from '../../demo/verdict.ts';

const ONCE: Counts = { atProcessor: 1, postings: 1, events: 1, effects: 1 };
const found = (payonce: Partial<Counts> = {}): Finding => ({
  trouble: 'two posts at once',
  moves: 'charge',
  naive: { atProcessor: 2, postings: 2, events: 2, effects: 2 },
  payonce: { ...ONCE, ...payonce },
});

describe('the demonstration', () => {
  test('succeeds when Payonce was always correct, regardless of the naive side', () => {
    expect(exitCode([found(), found()])).toBe(0);
  });

  test.each([
    ['a double charge', { atProcessor: 2 }, '2 charges'],
    ['a double posting', { postings: 2 }, '2 postings'],
    ['a double event', { events: 2 }, '2 events'],
    ['a double effect', { effects: 2 }, '2 effects'],
    ['a lost effect', { effects: 0 }, 'no effect'],
    ['a lost event', { events: 0, effects: 0 }, 'no event, no effect'],
  ])('fails if any row has %s at Payonce, and reports the row', (_, planted, words) => {
    const findings = [found(), found(planted), found()];
    expect(exitCode(findings)).toBe(1);
    expect(plainTable(findings)).toMatch(new RegExp(`  ${words}$`, 'm'));
    expect(page(findings)).toContain(`| ${words} |\n`);
  });

  test('fails without results', () => {
    expect(exitCode([])).toBe(1);
  });

  test('names refunds instead of charges in scenarios with refunds', () => {
    expect(verdict({ ...ONCE, atProcessor: 3 }, { moves: 'refund' })).toBe('3 refunds');
    expect(verdict(ONCE, { moves: 'refund' })).toBe('once');
  });

  test('lists every effect as unexpected if the processor must refuse the refund', () => {
    const none: Counts = { atProcessor: 0, postings: 0, events: 0, effects: 0 };
    const refused = { ...found(), moves: 'refund', expected: 0, naive: { ...ONCE, atProcessor: 0 } } as const;
    expect(cells([{ ...refused, payonce: none }])[1]?.slice(3)).toEqual(['1 posting, 1 event, 1 effect', 'nothing']);
    expect(exitCode([{ ...refused, payonce: none }])).toBe(0);
    expect(exitCode([{ ...refused, payonce: { ...none, postings: 1 } }])).toBe(1);
  });

  test('prints its table in columns on a terminal', () => {
    expect(plainTable([found()]).split('\n')).toEqual([
      'failure            naive          Payonce        naive, in words                             Payonce, in words',
      '─────────────────  ─────────────  ─────────────  ──────────────────────────────────────────  ─────────────────',
      'two posts at once  2 / 2 / 2 / 2  1 / 1 / 1 / 1  2 charges, 2 postings, 2 events, 2 effects  once',
    ]);
  });
});

describe('docs/start/demo.md', () => {
  const document = readFileSync(new URL('../../docs/start/demo.md', import.meta.url), 'utf8');

  const findings = (): readonly Finding[] =>
    document
      .split('\n')
      .filter((line) => /^\| .* \/ /.test(line))
      .map((line) => {
        const [, trouble = '', naive = '', payonce = ''] = line.split('|').map((cell) => cell.trim());
        return {
          trouble,
          moves: trouble.includes('refund') ? 'refund' : 'charge',
          naive: read(naive),
          payonce: read(payonce),
        };
      });

  function read(cell: string): Counts {
    const [atProcessor = NaN, postings = NaN, events = NaN, effects = NaN] = cell.split(' / ').map(Number);
    return { atProcessor, postings, events, effects };
  }

  test('equals the page generated from its counts (to update it: npm run demo -- --write)', () => {
    expect(document).toBe(page(findings()));
  });

  test('lists every scenario, each with exactly one effect by Payonce', () => {
    expect(findings().map(({ trouble }) => trouble)).toEqual(SCENARIOS.map(({ trouble }) => trouble));
    expect(exitCode(findings())).toBe(0);
  });
});
