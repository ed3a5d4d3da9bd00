import { beforeAll, describe, expect, test } from '@jest/globals';
import { LINES_PREFIX } from '../../lambdas/archive/domain/archive-object.ts';
import { type Bounds, NO_BOUNDS } from '../../lambdas/archive/domain/judge-chain.ts';
import { archivedLines, archivedRows } from '../../lambdas/archive/store/archived-lines.ts';
import { archivedItem } from '../../lambdas/archive/store/read-line.ts';
import { boundsOfChain, type LedgerRows } from '../../lambdas/archive/use/ledger-rows.ts';
import { type RowFinding, verifyRows } from '../../lambdas/archive/use/verify-rows.ts';
import { fc } from '../support/properties.ts';
import { sliceOf, whole } from '../support/slice.ts';
import { archiveOfRows, type MemoryArchive, streamRecord } from './memory-archive.ts';
import { type Fields, keyOf, ledgerOf, rowFiles, someLedger } from './verify-world.ts';

interface Line {
  readonly item: Fields;
}

let rows: readonly Fields[] = [];
beforeAll(async () => {
  rows = await someLedger();
});

async function findings(archive: MemoryArchive, ledger?: LedgerRows, bounds: Bounds = NO_BOUNDS) {
  const parts = rowFiles();
  const verified = await verifyRows(
    { archive: archivedLines(archive), ledger, parts, save: () => undefined },
    { bounds },
  );
  parts.close();
  return verified.findings;
}

const kinds = (found: readonly RowFinding[]) => found.map(({ kind }) => kind).sort();

describe('a comparison of the Ledger with its archive', () => {
  test('finds no difference for objects of any size, even with repeated lines', async () => {
    for (const size of [1, 3, rows.length]) {
      const archive = await archiveOfRows(rows, size);
      await archive.take(rows.slice(2, 5));
      expect(await findings(archive, ledgerOf(rows))).toEqual([]);
      expect(await findings(archive)).toEqual([]);
    }
  });

  test('finds each row and field that was changed in the Ledger', async () => {
    const archive = await archiveOfRows(rows, 4);
    const place = rows.findIndex(({ pk, sk }) => String(pk).startsWith('PAY#') && sk === 'T#000002');
    const row = rows[place] ?? {};
    const forged = { ...row, payment: { ...(row['payment'] as Fields), amountCapturedMinor: 1 } };
    const found = await findings(archive, ledgerOf(rows.with(place, forged)));
    expect(kinds(found)).toEqual(['chain_broken', 'row_differs']);
    expect(found).toContainEqual(
      expect.objectContaining({ kind: 'row_differs', fields: ['payment.amountCapturedMinor'] }),
    );
  });

  test('finds each row that is missing in the Ledger or in the archive', async () => {
    for (const [index, row] of sliceOf([...rows.entries()], 5)) {
      const archive = await archiveOfRows(rows, 4);
      const gone = await findings(archive, ledgerOf(rows.toSpliced(index, 1)));
      expect(gone.filter(({ kind }) => kind === 'row_missing')).toMatchObject([{ chain: row['pk'], sort: row['sk'] }]);
      const less = await archiveOfRows(rows.toSpliced(index, 1), 4);
      expect(await findings(less, ledgerOf(rows))).toMatchObject([
        { kind: 'not_archived', chain: row['pk'], sort: row['sk'] },
      ]);
    }
  });

  test('accepts a row that is too new to be archived', async () => {
    const archive = await archiveOfRows(rows.slice(0, -1), 4);
    const parts = rowFiles();
    const tools = { archive: archivedLines(archive), ledger: ledgerOf(rows), parts, save: () => undefined };
    const { findings: found } = await verifyRows(tools, { bounds: NO_BOUNDS, archivedUntilMs: 0 });
    parts.close();
    expect(found).toEqual([]);
  });

  test('does not mistake a line about a manual change for the archived row, even after the row is put back', async () => {
    const archive = await archiveOfRows(rows, 4);
    const [row = {}] = rows;
    const forged = { ...row, tenantId: 'ten_other' };
    await archive.takeRecords([streamRecord(forged, 900, { eventName: 'MODIFY', was: row })]);
    await archive.takeRecords([streamRecord(row, 901, { eventName: 'MODIFY', was: forged })]);
    await archive.takeRecords([streamRecord(row, 902, { eventName: 'REMOVE', was: row })]);
    expect(await findings(archive, ledgerOf(rows))).toEqual([]);
    expect(kinds(await findings(archive, ledgerOf(rows.with(0, forged))))).toContain('row_differs');
  });

  test('reports manual changes, and, from the archive alone, rows that were not put back', async () => {
    const [row = {}] = rows;
    const place = { chain: row['pk'], sort: row['sk'] };
    const forged = { ...row, tenantId: 'ten_other' };
    const archive = await archiveOfRows(rows, 4);
    const after = async (record: Fields) => {
      await archive.takeRecords([record]);
      return findings(archive);
    };
    expect(await after(streamRecord(forged, 900, { eventName: 'MODIFY', was: row }))).toMatchObject([
      { kind: 'row_overwritten', change: 'MODIFY', ...place },
    ]);
    expect(await after(streamRecord(row, 901, { eventName: 'MODIFY', was: forged }))).toEqual([]);
    expect(await after(streamRecord(row, 902, { eventName: 'REMOVE', was: row }))).toMatchObject([
      { kind: 'row_overwritten', change: 'REMOVE', ...place },
    ]);
    expect(await after(streamRecord(row, 903))).toEqual([]);
    const parts = rowFiles();
    const tools = { archive: archivedLines(archive), ledger: ledgerOf(rows), parts, save: () => undefined };
    const { changes, findings: found } = await verifyRows(tools, { bounds: NO_BOUNDS });
    parts.close();
    expect(found).toEqual([]);
    expect(changes.map(({ change, sequence }) => `${sequence} ${change}`).sort()).toEqual([
      '1900 MODIFY',
      '1901 MODIFY',
      '1902 REMOVE',
    ]);
  });
});

describe('an archive object', () => {
  test('is reported after a change of a byte at its start, middle or end', async () => {
    const archive = await archiveOfRows(rows, rows.length);
    const [[name, object] = ['', undefined]] = archive.objects;
    const text = object?.text ?? '';
    for (const at of [0, Math.floor(text.length / 2), text.length - 2]) {
      const changed = `${text.slice(0, at)}${text[at] === '1' ? '2' : '1'}${text.slice(at + 1)}`;
      archive.objects.set(name, { ...object, name, sha256: new Uint8Array(), text: changed });
      expect(await findings(archive, ledgerOf([]))).toEqual([
        {
          kind: 'line_unreadable',
          object: name,
          line: 0,
          because: 'the content does not match the digest in the key',
        },
      ]);
    }
  });

  test('is detected as missing if it is removed: its rows are reported as not archived', async () => {
    const archive = await archiveOfRows(rows, 4);
    const [name = ''] = archive.objects.keys();
    archive.objects.delete(name);
    expect((await findings(archive, ledgerOf(rows))).filter(({ kind }) => kind === 'not_archived')).toHaveLength(4);
  });

  test('with an invalid line is reported, even if its key matches the content', async () => {
    const archive = await archiveOfRows(rows, rows.length);
    await archive.takeText('{"v":2}\n');
    expect(await findings(archive, ledgerOf(rows))).toMatchObject([{ kind: 'line_unreadable', line: 0 }]);
  });

  test('is not read if it lies outside the requested period', async () => {
    const archive = await archiveOfRows(rows, 1);
    const times = [...archive.objects.values()].map(({ text }) =>
      Date.parse((JSON.parse(text) as Fields)['at'] as string),
    );
    const fromMs = Math.max(...times) + 40 * 3_600_000;
    const { lines } = await archivedLines(archive).page(undefined, { fromMs, untilMs: fromMs + 1 });
    expect(lines).toEqual([]);
    const before = { fromMs: 0, untilMs: Math.min(...times) - 40 * 3_600_000 };
    expect((await archivedLines(archive).page(undefined, before)).lines).toEqual([]);
    expect(archive.asked.every((after) => after.startsWith(LINES_PREFIX))).toBe(true);
  });
});

test('a search by chain finds each row once, whichever object contains it', async () => {
  const archive = await archiveOfRows(rows, 2);
  await archive.take(rows);
  for (const chain of new Set(rows.map(({ pk }) => String(pk)))) {
    const found = await archivedRows(archive, NO_BOUNDS).chain(chain, undefined);
    const wanted = rows.filter(({ pk }) => pk === chain).toSorted((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1));
    expect(found.rows.map(({ item }) => item)).toEqual(wanted);
  }
});

test('verification of one payment reads no objects older than the payment and finds each removed row', async () => {
  const first = rows.find(({ pk, sk }) => String(pk).startsWith('PAY#') && sk === 'T#000001') ?? {};
  const chain = String(first['pk']);
  const old = Number(first['occurredAtMs']) - 40 * 3_600_000;
  const archive = await archiveOfRows(rows, 1);
  await archive.take([{ ...first, pk: 'PAY#pay_older', occurredAtMs: old }]);
  const own = rows.filter(({ pk }) => pk === chain);
  for (const removed of [undefined, ...own]) {
    const ledger = ledgerOf(rows.filter((row) => row !== removed));
    const bounds = await boundsOfChain(ledger, chain, NO_BOUNDS);
    const parts = rowFiles();
    const tools = { archive: archivedLines(archive), ledger, parts, save: () => undefined };
    const { findings: found } = await verifyRows(tools, { bounds, chain });
    parts.close();
    expect(found.length > 0).toBe(removed !== undefined);
    const { lines } = await archivedLines(archive).page(undefined, bounds);
    expect(lines.map((line) => line.chain)).not.toContain('PAY#pay_older');
  }
});

const tampering = fc.record({
  how: fc.constantFrom('byte' as const, 'cut' as const, 'swap' as const, 'remove' as const, 'forge' as const),
  size: fc.integer({ min: 1, max: 8 }),
  at: fc.nat(),
  other: fc.nat(),
});

test('verification reports every single change, cut, swap, removal or forgery of an object, and no unaffected row', async () => {
  await fc.assert(
    fc.asyncProperty(tampering, async ({ how, size, at, other }) => {
      const archive = await archiveOfRows(rows, size);
      const names = [...archive.objects.keys()].sort();
      const name = names[at % names.length] ?? '';
      const second = names[other % names.length] ?? '';
      const textOf = (of: string): string => archive.objects.get(of)?.text ?? '';
      const set = (of: string, text: string) => archive.objects.set(of, { name: of, text, sha256: new Uint8Array() });
      const [text, rival] = [textOf(name), textOf(second)];
      const place = other % text.length;
      const within = text
        .split('\n')
        .slice(0, -1)
        .map((line) => archivedItem((JSON.parse(line) as Line).item));
      let expected: readonly string[] = [name];
      if (how === 'byte')
        set(name, `${text.slice(0, place)}${text[place] === 'x' ? 'y' : 'x'}${text.slice(place + 1)}`);
      if (how === 'cut') set(name, text.slice(0, place));
      if (how === 'swap') {
        set(name, rival);
        set(second, text);
        expected = rival === text ? [] : [name, second];
      }
      if (how === 'remove') {
        archive.objects.delete(name);
        expected = within.map(keyOf);
      }
      if (how === 'forge') {
        // Anyone with write access to the bucket can create the forged object.
        const [row = {}] = within;
        await archive.take([{ ...row, tenantId: `ten_${other}` }]);
        expected = [keyOf(row)];
      }

      const found = await findings(archive, ledgerOf(rows));

      const objects = found.flatMap((each) => (each.kind === 'line_unreadable' ? [each.object] : []));
      const places = found.flatMap((each) => ('sort' in each ? [`${each.chain} ${each.sort}`] : []));
      if (how === 'remove' || how === 'forge') expect(new Set(places)).toEqual(new Set(expected));
      else expect(new Set(objects)).toEqual(new Set(expected));
      const kindsFound = new Set(found.map(({ kind }) => kind));
      // Rows of an unreadable object are also reported as not archived.
      kindsFound.delete('not_archived');
      // The genuine line still exists, so `row_differs` may or may not be reported.
      if (how === 'forge') kindsFound.delete('row_differs');
      expect(kindsFound.size).toBe(how === 'remove' || expected.length === 0 ? 0 : 1);
    }),
    { numRuns: whole(10_000, { slice: 15 }) },
  );
});
