import { createHash } from 'node:crypto';
import { PutCommand } from '@aws-sdk/lib-dynamodb';
import { ALL_SCOPES } from '../../../lambdas/kernel/contract/api.ts';
import { RegistryRow } from '../../../lambdas/kernel/contract/rows.ts';
import { KeyAttribute } from '../../../lambdas/kernel/contract/tables.ts';
import { tenantId } from '../../../lambdas/kernel/ids.ts';
import { ownerRow } from '../../../lambdas/tenants/store/tenant-owners.ts';
import { idOfKeyHash, keyRowKey } from '../../../lambdas/tenants/store/tenant-registry.ts';
import { TABLES } from '../tables.ts';
import type { Observed, OperatorName, SimulatedTenant } from './contract.ts';

export const OPERATORS: Readonly<Record<OperatorName, { readonly key: string; readonly operator: string }>> = {
  operator: { key: 'ok_operator-0123456789abcdef', operator: 'Ada Example' },
  operator_again: { key: 'ok_operator-of-the-same-person', operator: 'Ada Example' },
  approver: { key: 'ok_approver-0123456789abcdef', operator: 'Ben Example' },
  second_approver: { key: 'ok_another-approver-0123456789ab', operator: 'Cleo Example' },
};

export function tenantNamed(name: string, mode: SimulatedTenant['mode'] = 'test'): SimulatedTenant {
  return {
    tenantId: `ten_${name}`,
    mode,
    apiKey: `sk_${mode}_${name}-merchant-0123456789abcdef`,
  };
}

export async function registerTenant(
  { client }: Observed['database'],
  { mode, apiKey, ...tenant }: SimulatedTenant,
  nowMs: number,
): Promise<void> {
  const owner = tenantId(tenant.tenantId);
  const put = (Item: Record<string, unknown>) => client.send(new PutCommand({ TableName: TABLES.registry, Item }));
  await put({
    [KeyAttribute.partition]: RegistryRow.tenants,
    [KeyAttribute.sort]: owner,
    name: owner,
    createdAtMs: nowMs,
  });
  await put(ownerRow(owner, mode));
  const held = [
    [RegistryRow.apiKey, apiKey, { tenantId: owner, mode, scopes: ALL_SCOPES, name: 'shop' }],
    ...Object.values(OPERATORS).map(
      ({ key, operator }) => [RegistryRow.operatorKey, key, { operator, role: 'approver' }] as const,
    ),
  ] as const;
  for (const [kind, key, rights] of held) {
    const keyHash = createHash('sha256').update(key).digest('hex');
    const row = { keyHash, ...rights, hint: key.slice(-4), createdAtMs: nowMs };
    await put({ ...keyRowKey(kind, idOfKeyHash(keyHash)), ...row });
  }
}
