import { type KeyId, keyIdOf } from '../kernel/cause.ts';
import type { Role } from '../kernel/contract/api.ts';
import type { Digest } from '../kernel/digest.ts';
import type { Clock } from '../kernel/world.ts';
import { type ApiKeyRegistry, isRevokedOrExpired } from './api-key-registry.ts';
import { bearerToken, FoundKeys, hex, lookUp } from './authenticate.ts';

/** Operators belong to no tenant. */
export interface Operator {
  readonly name: string;
  readonly role: Role;
  /** The id of the operator's key, or the subject at the identity provider. */
  readonly identity: string;
  /** The value is the same for all keys of one person. */
  readonly person: string;
  readonly tenantId?: never;
}

export interface OperatorKeyRecord {
  readonly operator: string;
  readonly role: Role;
  readonly expiresAtMs?: number;
  readonly revokedAtMs?: number;
}

export interface OperatorKeyRegistry extends Pick<ApiKeyRegistry, 'noteUse'> {
  /** @param keyHash lower-case hexadecimal SHA-256 of the presented key */
  findOperator(keyHash: string): Promise<OperatorKeyRecord | undefined>;
}

/**
 * @returns undefined for every invalid token
 * @throws RetryableError when the token cannot be verified now
 */
export type IdentifyOperator = (authorization: readonly string[]) => Promise<Operator | undefined>;

/** Matches an operator's key: at least 22 characters of base64url, which encode 128 bits. */
const OPERATOR_KEY = /^ok_[A-Za-z0-9_-]{22,200}$/;

/** Each process caches known keys for a few seconds. */
export function byOperatorKey({
  operators,
  clock,
  digest,
}: {
  readonly operators: OperatorKeyRegistry;
  readonly clock: Pick<Clock, 'nowMs'>;
  readonly digest: Pick<Digest, 'sha256'>;
}): IdentifyOperator {
  const found = new FoundKeys<OperatorKeyRecord>();
  const keys = {
    find: (hash: string) => operators.findOperator(hash),
    noteUse: (id: KeyId, day: string) => operators.noteUse(id, day),
  };
  return async (authorization) => {
    const key = bearerToken(authorization);
    if (!OPERATOR_KEY.test(key)) return undefined;
    const hash = digest.sha256(key);
    const keyId = keyIdOf(hash);
    const record = await lookUp({ keys, found, clock }, hex(hash), keyId);
    if (record === undefined || isRevokedOrExpired(record, clock.nowMs())) return undefined;
    const { operator: name, role } = record;
    return { name, role, identity: keyId, person: name };
  };
}
