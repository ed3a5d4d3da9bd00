/** Tests the guarantee "tamper evidence". */
import { afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { NO_BOUNDS } from '../../lambdas/archive/domain/judge-chain.ts';
import { valueText } from '../../lambdas/archive/domain/row-text.ts';
import { readChainRow } from '../../lambdas/archive/store/read-chain-row.ts';
import type { RowFiles } from '../../lambdas/archive/store/row-files.ts';
import {
  type ArchiveLines,
  ROWS_BEGIN,
  type RowFinding,
  type RowsState,
  verifyRows,
} from '../../lambdas/archive/use/verify-rows.ts';
import { fc } from '../support/properties.ts';
import { whole } from '../support/slice.ts';
import { archiveOf, type Fields, keyOf, ledgerOf, rowFiles, someLedger } from './verify-world.ts';

let ledger: readonly Fields[];
let parts: RowFiles;

beforeAll(async () => {
  ledger = await someLedger();
});
beforeEach(() => {
  parts = rowFiles(4);
});
afterEach(() => parts.close());

const copyOf = (item: Fields): Fields => structuredClone(item);
/** Each row is in one or two of the three objects. */
const objectsOf = (rows: readonly Fields[]): Fields[][] =>
  [0, 1, 2].map((object) => rows.filter((_row, index) => index % 3 === object || (index % 5 === 0 && object === 2)));

async function verified(
  rows: readonly Fields[],
  objects: readonly (readonly Fields[])[],
): Promise<readonly RowFinding[]> {
  parts.close();
  parts = rowFiles(4);
  const tools = { ledger: ledgerOf(rows), archive: archiveOf(objects), parts, save: () => undefined };
  return (await verifyRows(tools, { bounds: NO_BOUNDS })).findings;
}

const kindsOf = (findings: readonly RowFinding[]) => findings.map(({ kind }) => kind);
const payments = () => ledger.filter(({ pk }) => String(pk).startsWith('PAY#'));
function longest(): readonly Fields[] {
  const chains = Map.groupBy(payments(), ({ pk }) => pk);
  const [most = []] = [...chains.values()].toSorted((left, right) => right.length - left.length);
  return most.toSorted((left, right) => (String(left['sk']) < String(right['sk']) ? -1 : 1));
}
const without = (rows: readonly Fields[], row: Fields | undefined) => rows.filter((each) => each !== row);
const instead = (rows: readonly Fields[], row: Fields, by: Fields) => rows.map((each) => (each === row ? by : each));

describe('verification of rows', () => {
  test('reports nothing for intact rows in any order, even if lines are archived twice', async () => {
    expect(ledger.length).toBeGreaterThan(15);
    expect(await verified(ledger, objectsOf(ledger))).toEqual([]);
    expect(await verified(ledger.toReversed(), objectsOf(ledger).toReversed())).toEqual([]);
  });

  test('reports a changed row, its changed fields, and the archived line with the original', async () => {
    const [, second = {}] = longest();
    const forged = copyOf(second);
    (forged['payment'] as Fields)['amountCapturedMinor'] = 1;

    const findings = await verified(instead(ledger, second, forged), objectsOf(ledger));

    expect(findings).toEqual([
      { kind: 'chain_broken', chain: second['pk'], sequence: 2, what: 'changed' },
      {
        kind: 'row_differs',
        chain: second['pk'],
        sort: 'T#000002',
        archived: { object: expect.any(String), line: expect.any(Number) },
        fields: ['payment.amountCapturedMinor'],
      },
    ]);
  });

  test('reports a removed row (even the last one of a chain), an inserted row, and a changed attribute that the hash does not cover', async () => {
    const rows = longest();
    const [, second = {}] = rows;
    const last = rows.at(-1) ?? {};
    const chain = String(second['pk']);
    expect(await verified(without(ledger, second), objectsOf(ledger))).toMatchObject([
      { kind: 'chain_broken', chain, sequence: 2, what: 'missing', next: 3 },
      { kind: 'row_missing', chain, sort: 'T#000002' },
    ]);
    expect(await verified(without(ledger, last), objectsOf(ledger))).toMatchObject([
      { kind: 'row_missing', chain, sort: last['sk'] },
    ]);
    const inserted = { ...copyOf(last), sk: 'T#000900' };
    expect(kindsOf(await verified([...ledger, inserted], objectsOf(ledger)))).toEqual(['chain_broken', 'not_archived']);
    const moved = { ...copyOf(second), outcomeOrder: '0#x' };
    expect(await verified(instead(ledger, second, moved), objectsOf(ledger))).toMatchObject([
      { kind: 'chain_broken', what: 'attributes', names: ['outcomeOrder'] },
      { kind: 'row_differs', fields: ['outcomeOrder'] },
    ]);
    const foreign = { pk: 'XXX#1', sk: 'T#000001' };
    expect(kindsOf(await verified([...ledger, foreign], objectsOf(ledger)))).toEqual(['chain_broken', 'not_archived']);
  });

  test('reports archived lines of one row that differ from each other', async () => {
    const objects = objectsOf(ledger);
    const [first] = objects[0] ?? [];
    const last = objects[2] ?? [];
    objects[2] = last.map((item) => (item === first ? { ...item, trace: 'Root=1' } : item));
    expect(objects[2]).not.toEqual(last);

    expect(kindsOf(await verified(ledger, objects))).toEqual(['lines_differ']);
  });

  test('does not report rows written during the run', async () => {
    const last = longest().at(-1);
    const early = ledgerOf(without(ledger, last));
    const late = ledgerOf(ledger);
    const tools = {
      ledger: { ...late, page: (after: string | undefined) => early.page(after) },
      archive: archiveOf(objectsOf(ledger)),
      parts,
      save: () => undefined,
    };
    expect((await verifyRows(tools, { bounds: NO_BOUNDS })).findings).toEqual([]);
  });

  test('continues after a crash at any page and reports the same findings', async () => {
    const [, second = {}] = longest();
    const rows = without(ledger, second);
    const tools = { ledger: ledgerOf(rows), archive: archiveOf(objectsOf(ledger)) };
    const request = { bounds: NO_BOUNDS };
    const states: RowsState[] = [];
    const all = await verifyRows({ ...tools, parts, save: (state) => void states.push(state) }, request);
    expect(all.findings).toHaveLength(2);
    for (let crash = 0; crash < states.length; crash += 1) {
      const kept = rowFiles(4);
      let saved = ROWS_BEGIN;
      let calls = 0;
      const save = (state: RowsState): void => {
        saved = state;
        if (calls === crash) throw new Error('crash');
        calls += 1;
      };
      await expect(verifyRows({ ...tools, parts: kept, save }, request)).rejects.toThrow('crash');
      const again = await verifyRows({ ...tools, parts: kept, save: () => undefined }, request, saved);
      expect(again.findings).toEqual(all.findings);
      kept.close();
    }
  });

  test('does not report a row that was written after the archive was read, even if the interrupted run resumes an hour later', async () => {
    const last = longest().at(-1) ?? {};
    const lastMs = Number(last['occurredAtMs']);
    const early = without(ledger, last);
    let saved = ROWS_BEGIN;
    const save = (state: RowsState): void => {
      saved = state;
      if (state.phase === 'ledger') throw new Error('interrupted');
    };
    const archive = archiveOf(objectsOf(early));
    const began = { bounds: NO_BOUNDS, archivedUntilMs: lastMs };
    await expect(verifyRows({ archive, ledger: ledgerOf(early), parts, save }, began)).rejects.toThrow('interrupted');

    const later = { bounds: NO_BOUNDS, archivedUntilMs: lastMs + 3_600_000 };
    const tools = { archive, ledger: ledgerOf(ledger), parts, save: () => undefined };
    expect((await verifyRows(tools, later, JSON.parse(JSON.stringify(saved)) as RowsState)).findings).toEqual([]);
  });

  test('checks the chains of the archive when it runs without a Ledger', async () => {
    const run = async (objects: readonly (readonly Fields[])[]) => {
      parts.close();
      parts = rowFiles(4);
      return (await verifyRows({ archive: archiveOf(objects), parts, save: () => undefined }, { bounds: NO_BOUNDS }))
        .findings;
    };
    expect(await run(objectsOf(ledger))).toEqual([]);
    const [, second = {}] = longest();
    expect(await run(objectsOf(without(ledger, second)))).toMatchObject([
      { kind: 'chain_broken', chain: second['pk'], sequence: 2, what: 'missing' },
    ]);
  });

  test('does not report rows on their way to the archive when it runs without a Ledger', async () => {
    // The object with the second row is written after the verification has read that part of the archive, so the
    // verification reads the third row but not the second.
    const [, second = {}] = longest();
    const tools = { archive: archiveOf(objectsOf(without(ledger, second))), parts, save: () => undefined };
    const request = { bounds: NO_BOUNDS, archivedUntilMs: Number(second['occurredAtMs']) };
    expect((await verifyRows(tools, request)).findings).toEqual([]);
  });

  test('reports nothing for a period when it runs without a Ledger and the times of adjacent rows are out of order', async () => {
    const times = [10, 30, 20, 40];
    const rows = longest().slice(0, times.length);
    expect(rows).toHaveLength(times.length);
    const lines = rows.map((item, line) => {
      const row = readChainRow(item);
      if (row.content.kind !== 'link') throw new Error(row.content.because);
      return { ...row, content: { ...row.content, occurredAtMs: times[line] ?? 0 }, object: '0', line };
    });
    const archive: ArchiveLines = {
      page: async () => ({ lines, changes: [], unreadable: [] }),
      item: async () => undefined,
    };
    for (const bounds of [
      { fromMs: 25, untilMs: Number.POSITIVE_INFINITY },
      { fromMs: 0, untilMs: 25 },
      { fromMs: 15, untilMs: 35 },
      { fromMs: 50, untilMs: 60 },
    ]) {
      const kept = rowFiles(4);
      const { findings } = await verifyRows({ archive, parts: kept, save: () => undefined }, { bounds });
      kept.close();
      expect({ bounds, findings }).toEqual({ bounds, findings: [] });
    }
  });
});

type Tampering = 'change' | 'remove' | 'insert' | 'swap' | 'truncate';

interface Act {
  readonly side: 'ledger' | 'archive';
  readonly how: Tampering;
  readonly at: number;
  readonly other: number;
  readonly field: number;
  readonly value: unknown;
}

const tampering: fc.Arbitrary<Act> = fc.record({
  side: fc.constantFrom('ledger' as const, 'archive' as const),
  how: fc.constantFrom<Tampering>('change', 'remove', 'insert', 'swap', 'truncate'),
  at: fc.nat(),
  other: fc.nat(),
  field: fc.nat(),
  value: fc.oneof(fc.string(), fc.integer(), fc.constant(null), fc.uint8Array({ maxLength: 40 })),
});

/** A key is never changed, because that would remove one row and insert another. */
function changed(item: Fields, field: number, value: unknown): Fields {
  const copy = copyOf(item);
  const leaves: (readonly [Fields, string])[] = [];
  const walk = (fields: Fields): void => {
    for (const [name, inner] of Object.entries(fields)) {
      if (fields === copy && (name === 'pk' || name === 'sk')) continue;
      const isInner = typeof inner === 'object' && inner !== null && !(inner instanceof Uint8Array);
      if (isInner) walk(inner as Fields);
      else leaves.push([fields, name]);
    }
    leaves.push([fields, 'forged']);
  };
  walk(copy);
  const [within, name] = leaves[field % leaves.length] ?? [copy, 'forged'];
  within[name] = value;
  return copy;
}

interface Tampered {
  readonly rows: readonly Fields[];
  readonly touched: readonly Fields[];
}

function tampered(rows: readonly Fields[], { how, at, other, field, value }: Act): Tampered {
  const row = rows[at % rows.length] ?? {};
  const second = rows[other % rows.length] ?? {};
  switch (how) {
    case 'change':
      return { rows: instead(rows, row, changed(row, field, value)), touched: [row] };
    case 'remove':
      return { rows: without(rows, row), touched: [row] };
    case 'insert': {
      const added = { ...copyOf(row), sk: `T#${String(700 + (other % 100)).padStart(6, '0')}` };
      return { rows: [...rows, added], touched: [added] };
    }
    case 'swap': {
      const [one, two] = [
        { ...copyOf(second), pk: row['pk'], sk: row['sk'] },
        { ...copyOf(row), pk: second['pk'], sk: second['sk'] },
      ];
      return { rows: instead(instead(rows, row, one), second, two), touched: row === second ? [] : [row, second] };
    }
    case 'truncate': {
      const cut = rows.filter(({ pk, sk }) => pk === row['pk'] && String(sk) >= String(row['sk']));
      return { rows: rows.filter((each) => !cut.includes(each)), touched: cut };
    }
  }
}

test('verification reports every single change, removal, insertion, swap or cut of rows, and no untouched row', async () => {
  await fc.assert(
    fc.asyncProperty(tampering, async (act) => {
      const { rows, touched } = tampered(ledger, act);
      const now = new Map(rows.map((item) => [keyOf(item), valueText(item)]));
      const was = new Map(ledger.map((item) => [keyOf(item), valueText(item)]));
      const differing = touched.map(keyOf).filter((key) => now.get(key) !== was.get(key));
      const [first, second] = act.side === 'ledger' ? [rows, ledger] : [ledger, rows];

      const findings = await verified(first, objectsOf(second));

      const chains = new Set(differing.map((key) => key.split(' ')[0]));
      expect(new Set(findings.map((finding) => 'chain' in finding && finding.chain))).toEqual(chains);
      const named = findings.flatMap((finding) => ('sort' in finding ? [`${finding.chain} ${finding.sort}`] : []));
      expect(new Set(named)).toEqual(new Set(differing));
    }),
    { numRuns: whole(10_000, { slice: 40 }) },
  );
});
