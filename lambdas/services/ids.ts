import { type Digest, derivedCharacters } from '../kernel/digest.ts';
import type { OperationId } from '../kernel/ids.ts';

/**
 * Returns the id of the operation for a request to a service of the team.
 *
 * @param parts scope, caller, method, path and idempotency key
 */
export function serviceOperation(digest: Digest, parts: readonly string[]): OperationId {
  return `svc_${derivedCharacters(digest, ['service', ...parts])}` as OperationId;
}
