import { type Digest, derivedCharacters } from '../kernel/digest.ts';
import type { OperationId } from '../kernel/ids.ts';

/**
 * @param parts scope, caller, method, path and idempotency key; or `consumer`, handler, tenant, mode and business key
 */
export function serviceOperation(digest: Digest, parts: readonly string[]): OperationId {
  return `svc_${derivedCharacters(digest, ['service', ...parts])}` as OperationId;
}
