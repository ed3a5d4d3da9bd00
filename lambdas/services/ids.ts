import { type Digest, derivedLetters } from '../kernel/digest.ts';
import type { OperationId } from '../kernel/ids.ts';

/** The request to a service of the team that takes effect once. @param parts scope, caller, method, path and key */
export function serviceOperation(digest: Digest, parts: readonly string[]): OperationId {
  return `svc_${derivedLetters(digest, ['service', ...parts])}` as OperationId;
}
