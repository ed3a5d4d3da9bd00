import { type Digest, derivedCharacters } from '../kernel/digest.ts';
import type { OperationId } from '../kernel/ids.ts';

/**
 * Returns the id of the operation for a request to one of the team's services, or for a business key of a consumer.
 *
 * @param parts scope, caller, method, path and idempotency key; or `consumer`, handler, tenant, mode and business key
 */
export function serviceOperation(digest: Digest, parts: readonly string[]): OperationId {
  return `svc_${derivedCharacters(digest, ['service', ...parts])}` as OperationId;
}
