import { beforeAll, describe, expect, test } from '@jest/globals';
import { invariant } from '../../../../lambdas/kernel/invariant.ts';
import type { Archived } from '../contract.ts';
import { SimulatedSystem } from '../system.ts';
import { checkArchive } from './archive.ts';

/** About one in four calls had a fault. */
const system = await SimulatedSystem.begin(2);

beforeAll(async () => {
  const rate = 0.05;
  const faults = {
    crash_before: rate,
    crash_after: rate,
    throttle: rate,
    ambiguous_applied: rate,
    ambiguous_lost: rate,
  };
  system.deploy({ faults });
  for (let number = 1; number <= 40; number += 1)
    system.at(system.nowMs + number * 150_000, `step ${number}`, async () => {
      const body = { amount: 1000, currency: 'EUR', source: 'tok_ok' };
      await system.api({ step: number, tenant: 'shop', method: 'POST', path: '/v1/payments', key: `${number}`, body });
    });
  await system.run(system.nowMs + 7_200_000);
  await system.becomeQuiet(40);
});

const found = (change: (archived: Archived) => Partial<Archived>): readonly unknown[] => {
  const { archived, database, tables } = system;
  invariant(archived !== undefined, 'the archive was not read');
  return checkArchive({ archived: { ...archived, ...change(archived) }, database, tables }).map(
    ({ what }) => JSON.parse(what) as unknown,
  );
};

function linesOfOne({ lines }: Archived) {
  const chains = [...Map.groupBy(lines, ({ chain }) => chain)].map(([chain, own]) => ({
    chain,
    sorts: [...new Set(own.map(({ sort }) => sort))].toSorted(),
  }));
  const [longest] = chains.toSorted((one, other) => other.sorts.length - one.sorts.length);
  invariant(longest !== undefined, 'the archive has no lines');
  return longest;
}

describe('the oracle “I8 archive”', () => {
  test('finds no violation despite failed archiver calls and batches that were delivered twice', () => {
    expect(found(() => ({}))).toEqual([]);
    const { archived, database, faults, tables } = system;
    expect(archived?.lines.length).toBeGreaterThan(database.items(tables.ledger).length);
    const hit = new Set(faults.flatMap(({ of, label }) => (of === 'archiver' ? [label] : [])));
    expect([...hit]).toEqual(['s3 PutObjectCommand']);
    expect(faults.some(({ label }) => label === 'stream batch')).toBe(true);
  });

  test.each([
    ['at the beginning', 0, ['chain_broken', 'not_archived']],
    ['at the end', -1, ['not_archived']],
  ])('reports a missing row %s', (_where, at, kinds) => {
    const kept = found((archived) => {
      const { chain, sorts } = linesOfOne(archived);
      return { lines: archived.lines.filter((line) => line.chain !== chain || line.sort !== sorts.at(at)) };
    });
    expect(kept).toEqual(kinds.map((kind) => expect.objectContaining({ kind })));
  });

  test('reports two different lines for one row, and a line that differs from the Ledger', () => {
    const [line] = system.archived?.lines ?? [];
    invariant(line !== undefined, 'the archive has no lines');
    const other = { ...line, digest: 'another content' };
    expect(found(({ lines }) => ({ lines: [...lines, other] }))).toContainEqual(
      expect.objectContaining({ kind: 'lines_differ', chain: line.chain }),
    );
    const isIt = ({ chain, sort }: typeof line): boolean => chain === line.chain && sort === line.sort;
    expect(found(({ lines }) => ({ lines: lines.map((each) => (isIt(each) ? other : each)) }))).toContainEqual(
      expect.objectContaining({ kind: 'row_differs', chain: line.chain }),
    );
  });

  test('reports an unreadable line, and a row that was overwritten', () => {
    const unreadable = { kind: 'line_unreadable', object: 'x', line: 0, because: 'it is not a line' } as const;
    expect(found(() => ({ unreadable: [unreadable] }))).toEqual([unreadable]);
    const [line] = system.archived?.lines ?? [];
    invariant(line !== undefined, 'the archive has no lines');
    const change = { ...line, change: 'MODIFY', digest: 'another content', sequence: '9'.repeat(21), atMs: 0 } as const;
    expect(found(() => ({ changes: [change] }))).toEqual([expect.objectContaining({ kind: 'row_overwritten' })]);
  });
});
