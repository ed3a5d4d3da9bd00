import type { Answer } from '../../kernel/answer.ts';
import type { Digest } from '../../kernel/digest.ts';
import type { Fingerprint } from '../../kernel/fingerprint.ts';
import type { Mode, PaymentId, TenantId } from '../../kernel/ids.ts';
import type { Clock, Entropy } from '../../kernel/world.ts';
import type { RepeatOutcome } from '../../once/use/judge-record.ts';
import type { OperationRunner, ReplayCache } from '../../once/use/operation-runner.ts';
import type { CaptureMode } from '../domain/payment.ts';
import type { PaymentStore } from './payment-store.ts';
import type { KnownProcessors } from './pinned-processor.ts';

export interface CreatePaymentTools extends KnownProcessors {
  readonly store: PaymentStore;
  readonly runner: OperationRunner;
  readonly replays: ReplayCache;
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly digest: Digest;
}

export interface CreatePayment {
  /** Derived from tenant, mode, method, path and idempotency key. */
  readonly paymentId: PaymentId;
  readonly tenantId: TenantId;
  readonly mode: Mode;
  readonly fingerprint: Fingerprint;
  readonly requestId: string;
  /** When the client asked, on this process's clock: its time runs from here. @default now */
  readonly receivedAtMs?: number;
  /** When what it is for was claimed: nobody sends later than a quarter of an hour after that, either. Unix milliseconds. @default now */
  readonly claimedAtMs?: number;
  /** Minor units. */
  readonly amountMinor: number;
  readonly currency: string;
  readonly source: string;
  readonly capture: CaptureMode;
  readonly reference?: string;
  readonly description?: string;
  readonly metadata?: Readonly<Record<string, string>>;
}

export type CreatePaymentOutcome =
  /** Executed by this call; `unknown` when the processor's answer could not be had in time. */
  | { readonly kind: 'first'; readonly answer: Answer; readonly unknown: boolean }
  | RepeatOutcome
  | { readonly kind: 'reference_used'; readonly paymentId: PaymentId };
