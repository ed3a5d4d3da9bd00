import type { TenantId } from '../../kernel/ids.ts';
import type { DetailsRows } from '../../once/store/details-rows.ts';
import { type PostgresTools, readRows, type StatementTools } from '../../postgres/attempts.ts';
import type { Row, Statement } from '../../postgres/database.ts';
import { valuesOf } from '../../postgres/values.ts';
import type { ChainId } from '../ids.ts';

export const SELECT_TRANSITION = 'SELECT body::text, prev_hash, hash FROM transition';

/**
 * A statement appends conditions, a sort order and {@link UNION_DETAILS}, so that it reads transitions and personal
 * data in one snapshot.
 */
export const SELECT_CHAIN_ROWS = `SELECT sequence, body::text, prev_hash, hash, NULL AS part, NULL::bytea AS salt, NULL::json AS details
  FROM transition WHERE chain_id = $1`;
export const UNION_DETAILS =
  'UNION ALL SELECT NULL, NULL, NULL, NULL, part, salt, details FROM details WHERE chain_id = $1';

interface ChainOfRows {
  /** In the order of the chain. */
  readonly transitions: readonly Row[];
  readonly details: DetailsRows;
}

/** @param statement the union of {@link SELECT_CHAIN_ROWS} and {@link UNION_DETAILS} */
export async function readChain(tools: PostgresTools, statement: Statement): Promise<ChainOfRows> {
  const rows = await readRows(tools, statement);
  const { transitions = [], details = [] } = Object.groupBy(rows, ({ sequence }) =>
    sequence === null ? 'details' : 'transitions',
  );
  // The order of the parts of a union is not defined.
  const inOrder = transitions.toSorted((left, right) => Number(left['sequence']) - Number(right['sequence']));
  return { transitions: inOrder, details: detailsRowsOf(details) };
}

export async function hasChain(tools: StatementTools, chainId: string): Promise<boolean> {
  const rows = await readRows(tools, {
    name: 'chain-exists',
    text: 'SELECT 1 AS found FROM transition WHERE chain_id = $1 AND sequence = 1',
    values: [chainId],
  });
  return rows.length > 0;
}

export async function tenantOfChain(tools: StatementTools, chainId: string): Promise<TenantId | undefined> {
  const [row] = await readRows(tools, {
    name: 'chain-tenant',
    text: 'SELECT tenant_id FROM transition WHERE chain_id = $1 AND sequence = 1',
    values: [chainId],
  });
  return row?.['tenant_id'] as TenantId | undefined;
}

export async function chainsAmong(tools: StatementTools, ids: readonly string[]): Promise<readonly string[]> {
  const rows = await readRows(tools, {
    name: 'chains-among',
    text: `SELECT chain_id FROM transition
      WHERE sequence = 1 AND chain_id IN (SELECT json_array_elements_text($1::json))`,
    values: [JSON.stringify(ids)],
  });
  return rows.map(({ chain_id: id }) => String(id));
}

export function detailsRowsOf(rows: readonly Row[]): DetailsRows {
  return new Map(rows.map((row) => [row['part'], valuesOf(row)]));
}

export async function listChainIds(
  tools: PostgresTools,
  { after, limit }: { readonly after: string; readonly limit: number },
): Promise<readonly ChainId[]> {
  const rows = await readRows(tools, {
    name: 'chain-ids',
    text: 'SELECT chain_id FROM transition WHERE sequence = 1 AND chain_id > $1 ORDER BY chain_id LIMIT $2',
    values: [after, limit],
  });
  return rows.map(({ chain_id: id }) => String(id) as ChainId);
}

export function selectChain(
  id: ChainId,
  { afterSequence, limit }: { readonly afterSequence: number; readonly limit: number },
): Statement {
  return {
    name: 'transition-list',
    text: `(${SELECT_CHAIN_ROWS} AND sequence > $2 ORDER BY sequence LIMIT $3) ${UNION_DETAILS}`,
    values: [id, afterSequence, limit],
  };
}
