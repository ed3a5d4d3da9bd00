import type { Answer } from '../../kernel/answer.ts';
import type { Fingerprint } from '../../kernel/fingerprint.ts';
import type { Mode, OperationId, PaymentId, TenantId } from '../../kernel/ids.ts';
import type { RepeatOutcome } from '../../once/use/judge-record.ts';
import type { ChangeCommand, ChangeRefusal } from '../domain/change.ts';

export interface ChangePayment {
  /** Derived from tenant, mode, method, resolved path and idempotency key; it names the payment. */
  readonly operationId: OperationId;
  readonly paymentId: PaymentId;
  readonly tenantId: TenantId;
  readonly mode: Mode;
  readonly fingerprint: Fingerprint;
  readonly requestId: string;
  /** When the client asked, on this process's clock: its time runs from here. @default now */
  readonly receivedAtMs?: number;
  readonly command: ChangeCommand;
}

export type ChangePaymentOutcome =
  /** Executed by this call; `unknown` when the processor's answer could not be had in time. */
  | { readonly kind: 'first'; readonly answer: Answer; readonly unknown: boolean }
  | RepeatOutcome
  | { readonly kind: 'not_found' }
  /** It cannot begin. Nothing is stored: the same key may succeed later. */
  | { readonly kind: 'refused'; readonly refusal: ChangeRefusal };
