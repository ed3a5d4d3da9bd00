import { type Digest, derivedCharacters } from '../kernel/digest.ts';
import { type KeyScope, scopeParts } from '../kernel/idempotency-key.ts';
import type { OperationId } from '../kernel/ids.ts';

export const EXPORT_ID = /^exp_[a-z2-7]{32}$/;

export function deriveExportId(digest: Digest, scope: KeyScope): string {
  return `exp_${derivedCharacters(digest, scopeParts(scope))}`;
}

export function exportOperation(exportId: string): OperationId {
  return exportId as OperationId;
}
