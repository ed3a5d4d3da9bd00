import type { TenantId } from '../../kernel/ids.ts';
import { readRows, type StatementTools } from '../../postgres/attempts.ts';
import { MOVE_TABLE } from '../../postgres/contract.ts';

export async function isMoving(tools: StatementTools): Promise<boolean> {
  const text = `SELECT 1 AS found FROM ${MOVE_TABLE} WHERE role IN ('source', 'target') LIMIT 1`;
  return (await readRows(tools, { name: 'move-any', text, values: [] })).length > 0;
}

export async function hasLeft(tools: StatementTools, id: TenantId): Promise<boolean> {
  const text = `SELECT 1 AS found FROM ${MOVE_TABLE} WHERE tenant_id = $1 AND role = 'empty'`;
  return (await readRows(tools, { name: 'move-left', text, values: [id] })).length > 0;
}
