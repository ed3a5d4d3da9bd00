import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ScanCommand } from '@aws-sdk/lib-dynamodb';
import type { ChainRow } from '../../lambdas/archive/domain/chain-row.ts';
import type { Bounds, ChainLine } from '../../lambdas/archive/domain/judge-chain.ts';
import { readChainRow } from '../../lambdas/archive/store/read-chain-row.ts';
import { RowFiles } from '../../lambdas/archive/store/row-files.ts';
import type { LedgerRows, RowPage } from '../../lambdas/archive/use/ledger-rows.ts';
import type { ArchiveLines } from '../../lambdas/archive/use/verify-rows.ts';
import { Api } from '../world/api.ts';
import { TABLES } from '../world/tables.ts';

export type Fields = Record<string, unknown>;

/** The real handlers wrote all rows. */
export function someLedger(): Promise<readonly Fields[]> {
  ledger ??= makeLedger();
  return ledger;
}

/** The test files that share a module registry share the rows. */
let ledger: Promise<readonly Fields[]> | undefined;

async function makeLedger(): Promise<readonly Fields[]> {
  const api = new Api();
  const payment = await api.paid('p-1', { metadata: { order: '1' } });
  await api.change(`${payment}/refunds`, 'r', { amount: 300, reason: 'Returned' });
  await api.correct('c', { payment, reverses: 2 });
  await api.annotate(payment, 'a', { annotates: 2 });
  const held = await api.paid('p-2', { capture: 'manual' });
  await api.change(`${held}/capture`, 'x', {});
  await api.pay('p-3', { source: 'tok_declined' });
  await api.order('o-1');
  return rowsOf(api);
}

export async function rowsOf(api: Api): Promise<readonly Fields[]> {
  const { Items = [] } = await api.world.store.database.client.send(new ScanCommand({ TableName: TABLES.ledger }));
  return Items;
}

const read = new WeakMap<Fields, ChainRow>();
function readOnce(item: Fields): ChainRow {
  const row = read.get(item) ?? readChainRow(item);
  read.set(item, row);
  return row;
}

export const keyOf = ({ pk, sk }: Fields): string => `${String(pk)} ${String(sk)}`;

export function ledgerOf(items: readonly Fields[]): LedgerRows {
  const page = (all: readonly Fields[], after: string | undefined): RowPage => {
    const begin = Number(after ?? 0);
    const rows = all.slice(begin, begin + 7).map((item) => ({ row: readOnce(item), item }));
    return begin + 7 < all.length ? { rows, next: String(begin + 7) } : { rows };
  };
  return {
    page: async (after) => page(items, after),
    chain: async (chain, after) =>
      page(
        items
          .filter(({ pk }) => pk === chain)
          .toSorted((left, right) => (String(left['sk']) < String(right['sk']) ? -1 : 1)),
        after,
      ),
  };
}

export function archiveOf(objects: readonly (readonly Fields[])[]): ArchiveLines {
  return {
    page: async (after, _bounds: Bounds) => {
      const object = Number(after ?? 0);
      const lines: ChainLine[] = (objects[object] ?? []).map((item, line) => ({
        ...readOnce(item),
        object: String(object),
        line,
      }));
      const rest = { lines, changes: [], unreadable: [] };
      return object + 1 < objects.length ? { ...rest, next: String(object + 1) } : rest;
    },
    item: async ({ object, line }) => objects[Number(object)]?.[line],
  };
}

/** The caller closes the files. */
export function rowFiles(parts?: number): RowFiles {
  return new RowFiles(mkdtempSync(join(tmpdir(), 'payonce-verify-')), parts);
}
