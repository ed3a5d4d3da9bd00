import { type Digest, derivedLetters } from '../kernel/digest.ts';
import { type KeyScope, scopeParts } from '../kernel/idempotency-key.ts';
import type { OperationId } from '../kernel/ids.ts';

export const EXPORT_ID = /^exp_[a-z2-7]{32}$/;

/** The id of the export that this request makes. */
export function deriveExportId(digest: Digest, scope: KeyScope): string {
  return `exp_${derivedLetters(digest, scopeParts(scope))}`;
}

/** The operation that makes an export has the export's id. */
export function exportOperation(exportId: string): OperationId {
  return exportId as OperationId;
}
