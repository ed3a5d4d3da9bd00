import * as z from 'zod';
import { ROLES } from '../../kernel/contract/api.ts';
import type { OperatorKeyRecord, OperatorKeyRegistry } from '../operators.ts';
import { idOfKeyHash, KeyRows } from './tenant-registry.ts';

export const operatorKeyItem = z.object({
  keyHash: z.string(),
  operator: z.string(),
  role: z.enum(ROLES),
  expiresAtMs: z.int().exactOptional(),
  revokedAtMs: z.int().exactOptional(),
});

export class DynamoDbOperatorKeys extends KeyRows implements OperatorKeyRegistry {
  /** A consistent read: a new key works immediately, and a revoked key is rejected immediately. */
  async findOperator(keyHash: string): Promise<OperatorKeyRecord | undefined> {
    const item = await this.read(idOfKeyHash(keyHash));
    // A tenant's key has the same kind of row.
    if (item?.['operator'] === undefined) return undefined;
    const { keyHash: stored, ...key } = operatorKeyItem.parse(item);
    return stored === keyHash ? key : undefined;
  }
}
