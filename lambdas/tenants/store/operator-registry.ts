import * as z from 'zod';
import { ROLES } from '../../kernel/contract/api.ts';
import { Environment } from '../../kernel/contract/environment.ts';
import { RegistryRow } from '../../kernel/contract/rows.ts';
import type { Platform } from '../../kernel/platform/system-platform.ts';
import { jsonOf, readVariables } from '../../kernel/platform/variables.ts';
import {
  byOperatorKey,
  type IdentifyOperator,
  type OperatorKeyRecord,
  type OperatorKeyRegistry,
} from '../operators.ts';
import { knownTenants } from './tenant-owners.ts';
import { idOfKeyHash, KeyRows } from './tenant-registry.ts';

export const operatorKeyItem = z.object({
  keyHash: z.string(),
  operator: z.string(),
  role: z.enum(ROLES),
  expiresAtMs: z.int().exactOptional(),
  revokedAtMs: z.int().exactOptional(),
});

export class DynamoDbOperatorKeys extends KeyRows implements OperatorKeyRegistry {
  /**
   * Reads with strong consistency, so that a new key works immediately, and a revoked key is rejected unless it is
   * cached.
   */
  async findOperator(keyHash: string): Promise<OperatorKeyRecord | undefined> {
    const item = await this.read(RegistryRow.operatorKey, idOfKeyHash(keyHash));
    if (item === undefined) return undefined;
    const { keyHash: stored, ...key } = operatorKeyItem.parse(item);
    return stored === keyHash ? key : undefined;
  }
}

const identityProviderSetting = z.object({
  [Environment.identityProvider]: jsonOf(
    z.object({
      issuer: z.url(),
      audience: z.string().min(1),
      roleClaim: z.string().min(1),
      roles: z.record(z.string(), z.enum(ROLES)).exactOptional(),
    }),
  ).optional(),
});

export function configuredOperators(
  { documents, clock, entropy, digest, variables }: Platform,
  registryTable: string,
): IdentifyOperator {
  const { [Environment.identityProvider]: provider } = readVariables(identityProviderSetting, variables);
  if (provider === undefined) {
    const operators = new DynamoDbOperatorKeys(documents, registryTable, { clock, entropy });
    return byOperatorKey({ operators, clock, digest });
  }
  // Load dynamically, so that deployments with operator keys do not load this module.
  const loaded = import('../identity-provider.ts').then(({ byIdentityProvider }) =>
    byIdentityProvider(provider, clock),
  );
  return async (authorization) => (await loaded)(authorization);
}

export function operatorsForTenants(platform: Platform, registryTable: string) {
  const { documents, clock, entropy } = platform;
  return {
    identify: configuredOperators(platform, registryTable),
    isTenant: knownTenants(documents, registryTable, { clock, entropy }),
  };
}
