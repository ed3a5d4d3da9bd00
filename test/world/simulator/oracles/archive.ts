/**
 * Oracle I8: once the system is quiet, the archive contains each row of the Ledger with equal bytes, and its chains are
 * complete without the Ledger.
 */
import { judgeChain, NO_BOUNDS } from '../../../../lambdas/archive/domain/judge-chain.ts';
import { readChainRow } from '../../../../lambdas/archive/store/read-chain-row.ts';
import type { Observed, Violation } from '../contract.ts';

const ORACLE = 'I8 archive';

export function checkArchive({
  archived,
  database,
  tables,
}: Pick<Observed, 'archived' | 'database' | 'tables'>): readonly Violation[] {
  if (archived === undefined) return [];
  const lines = Map.groupBy(archived.lines, ({ chain }) => chain);
  const changes = Map.groupBy(archived.changes, ({ chain }) => chain);
  const rows = Map.groupBy(database.items(tables.ledger).map(readChainRow), ({ chain }) => chain);
  const found = [...new Set([...lines.keys(), ...changes.keys(), ...rows.keys()])].flatMap((chain) => {
    const own = lines.get(chain) ?? [];
    return [
      ...judgeChain(chain, undefined, own, NO_BOUNDS, changes.get(chain)),
      ...judgeChain(chain, rows.get(chain) ?? [], own, NO_BOUNDS),
    ];
  });
  return [
    ...archived.unreadable.map((finding) => ({ oracle: ORACLE, what: JSON.stringify(finding) })),
    ...found.map((finding) => ({ oracle: ORACLE, what: JSON.stringify(finding), about: finding.chain })),
  ];
}
