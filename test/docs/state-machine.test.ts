import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { fill, stateTablesPage } from '../../docs/generate/state-machine.ts';
import { PAYMENT_STATUSES } from '../../lambdas/payments/domain/payment.ts';
import { ACCOUNTS } from '../../lambdas/payments/domain/posting.ts';
import { type Cell, CHARGE_TABLE, DISPUTE_TABLE, REFUND_TABLE } from '../../lambdas/payments/domain/state-tables.ts';

const DOCUMENT = readFileSync(new URL('../../docs/reference/state-machine.md', import.meta.url), 'utf8');
const TABLES = stateTablesPage();

/** A row without a fact gets the fact of the row above it. */
function rowsOf(part: string): readonly (readonly [stated: string, known: string, what: string])[] {
  const [, text = ''] = new RegExp(`## ${part}\n([^]*?)\n\n(?:##|$)`).exec(`${TABLES}\n\n`) ?? [];
  let stated = '';
  return text
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .slice(2)
    .map((line) => {
      const [, first = '', known = '', what = ''] = line.split('|').map((cell) => cell.trim());
      stated = first === '' ? stated : first;
      return [stated, known, what] as const;
    });
}

const quoted = (text: string): readonly string[] => [...text.matchAll(/`([^`]+)`/g)].map(([, word = '']) => word);

test('docs/reference/state-machine.md is current (to update it: npm run docs:tables)', () => {
  expect(DOCUMENT).toBe(fill(DOCUMENT));
});

describe('the page of state tables', () => {
  test.each<[string, Readonly<Record<string, Readonly<Record<string, Cell>>>>, readonly string[]]>([
    ['Charges', CHARGE_TABLE, PAYMENT_STATUSES],
    ['Refunds', REFUND_TABLE, ['none', 'pending', 'succeeded', 'failed', 'given_up']],
    ['Disputes', DISPUTE_TABLE, ['none', 'open', 'won', 'lost']],
  ])('lists each effect on %s exactly once per state', (part, table, states) => {
    const stated = rowsOf(part).flatMap(([fact, known]) =>
      (known === 'any state' ? states : quoted(known)).map((state) => `${quoted(fact)[0]} in ${state}`),
    );
    const expected = Object.entries(table).flatMap(([fact, cells]) => {
      const effective = Object.entries(cells).filter(([, { does }]) => does !== 'nothing');
      return (effective.length === 0 ? states : effective.map(([state]) => state)).map(
        (state) => `${fact} in ${state}`,
      );
    });
    expect([...stated].sort()).toEqual([...expected].sort());
  });

  test('describes the effect of each fact in words', () => {
    const settled = rowsOf('Charges').filter(([fact]) => fact.startsWith('`succeeded`'));
    expect(settled).toEqual([
      [
        '`succeeded`: the money was captured',
        '`processing`, `requires_action`, `requires_capture`',
        '`payment.completed` → `succeeded`, posts `receipt`',
      ],
      ['`succeeded`: the money was captured', '`failed`, `canceled`', '`payment.late_success`, posts `late_receipt`'],
      ['`succeeded`: the money was captured', '`needs_review`', '`payment.failed` → `failed`, posts `late_receipt`'],
    ]);
  });

  test('shows balanced example postings for every account', () => {
    for (const account of ACCOUNTS) expect(TABLES).toContain(`| \`${account}\` |`);
    const lines = TABLES.split('\n').filter((line) => /\| (?:debit|credit) \d/.test(line));
    expect(lines.length).toBeGreaterThan(10);
    for (const line of lines) {
      const sum = [...line.matchAll(/(debit|credit) (\d+)/g)].reduce(
        (total, [, side, amount]) => total + (side === 'debit' ? Number(amount) : -Number(amount)),
        0,
      );
      expect(sum).toBe(0);
    }
  });
});

describe('a document', () => {
  const markers = /<!-- made from the code: diagram -->[^]*?<!-- end: diagram -->\n/;

  test('is rejected if a generated section has no marked place, and the error names the section', () => {
    expect(() => fill(DOCUMENT.replace(markers, ''))).toThrow('the section "diagram" must occur exactly once');
  });

  test('is rejected if a section has two marked places', () => {
    const [place = ''] = markers.exec(DOCUMENT) ?? [];
    expect(() => fill(DOCUMENT + place)).toThrow('the section "diagram" must occur exactly once');
  });

  test('keeps the text around the sections', () => {
    const stale = DOCUMENT.replace(/ {2}processing --> .*\n/, '').replace('# States of a payment', '# Another title');
    expect(fill(stale)).toBe(DOCUMENT.replace('# States of a payment', '# Another title'));
  });
});
