import type { OperationId, PaymentId } from '../../kernel/ids.ts';
import type { CallLimit } from '../../kernel/world.ts';
import type { Fact } from '../domain/facts.ts';
import type { CaptureMode, Failure } from '../domain/payment.ts';
import type { ProcessorCharge } from '../domain/processor-charge.ts';
import type { ProcessorAbilities } from '../domain/settlement.ts';

export interface ChargeOrder {
  /** The key at the processor: the same on every attempt, for ever. */
  readonly operationId: OperationId;
  readonly paymentId: PaymentId;
  readonly amountMinor: number;
  readonly currency: string;
  readonly source: string;
  readonly capture: CaptureMode;
}

export type ChargeOutcome =
  /** Accepted; a callback says how it went. */
  | { readonly kind: 'pending'; readonly chargeId: string }
  | { readonly kind: 'action_required'; readonly chargeId: string; readonly actionUrl: string }
  | { readonly kind: 'succeeded'; readonly chargeId: string; readonly feeMinor?: number }
  | { readonly kind: 'authorized'; readonly chargeId: string }
  /** The payer's bank said no (402). */
  | { readonly kind: 'declined'; readonly chargeId?: string; readonly failure: Failure }
  /** The processor understood and refused the request itself (400, 404, 422). */
  | { readonly kind: 'rejected'; readonly chargeId?: string; readonly failure: Failure };

/** What is asked of a charge that is there. */
export type ChargeChange =
  /** Takes what was set aside, or less of it; the rest is let go. */
  | { readonly kind: 'capture'; readonly amountMinor: number }
  | { readonly kind: 'void' }
  | { readonly kind: 'refund'; readonly amountMinor: number };

export interface ChangeOrder {
  /** The key at the processor, and the refund's name in its metadata: the same on every attempt, for ever. */
  readonly operationId: OperationId;
  readonly paymentId: PaymentId;
  readonly chargeId: string;
  readonly currency: string;
  readonly change: ChargeChange;
}

export type ChangeOutcome =
  /** What became known by it; a refund goes by the operation that made it. */
  | { readonly kind: 'applied'; readonly facts: readonly Fact[] }
  /** The processor understood and refused: nothing has changed (400, 402, 404, 422). */
  | { readonly kind: 'refused'; readonly failure: Failure };

export interface ChangeAbilities {
  /** Whether less than what was set aside may be captured. */
  readonly partialCapture: boolean;
  /** Whether less than what was captured may be given back, and more than once. */
  readonly partialRefund: boolean;
}

export interface HoldAbilities {
  /** How long it keeps money set aside that nobody captures; what it has not let go after that, we do. Milliseconds. */
  readonly holdValidityMs: number;
}

/** What a processor takes as the `source` of a payment. */
export interface SourceForm {
  readonly pattern: RegExp;
  /** In words: `must be …`. */
  readonly allowed: string;
}

export interface Processor {
  readonly name: string;
  readonly account: string;
  readonly endpoint: string;
  readonly apiVersion: string;
  /** What it can do, as data: the engine asks here, and never by name. */
  readonly abilities: ProcessorAbilities & ChangeAbilities & HoldAbilities;
  /** What it takes as a `source`. @default all that the API takes */
  readonly source?: SourceForm;
  /**
   * A look at the circuit breaker before anything is claimed; costs nothing while it is closed, and one read, never a
   * charge, when it is half open.
   *
   * @throws RetryableError while the processor must not be called
   */
  ready(): Promise<void>;
  /**
   * @throws RetryableError when nothing was applied (401, 403, 429, unreachable, open breaker)
   * @throws AmbiguousError when it may have been (timeout, 5xx, 409, unreadable answer)
   */
  charge(order: ChargeOrder, limit: CallLimit): Promise<ChargeOutcome>;
  /** Looks a charge up by our key. @throws RetryableError or AmbiguousError when it could not be looked up */
  findCharge(order: ChargeOrder, limit: CallLimit): Promise<ChargeOutcome | { readonly kind: 'absent' }>;
  /** Captures, lets go or gives back. @throws as `charge` */
  change(order: ChangeOrder, limit: CallLimit): Promise<ChangeOutcome>;
  /** Whether that change is there, whoever asked for it. @throws as `findCharge` */
  findChange(order: ChangeOrder, limit: CallLimit): Promise<ChangeOutcome | { readonly kind: 'absent' }>;
}

export interface ChargeWindow {
  /** Unix seconds, inclusive. */
  readonly fromSeconds: number;
  /** Unix seconds, exclusive. */
  readonly untilSeconds: number;
  /** Where the page before ended. */
  readonly cursor?: string;
}

/** The processor's own list: what really happened. All reads are strong: what was answered is there. */
export interface ProcessorBooks {
  readonly name: string;
  readonly account: string;
  /** @throws RetryableError or AmbiguousError when it could not be read */
  readCharge(chargeId: string, limit: CallLimit): Promise<ProcessorCharge | undefined>;
  /** Every charge that carries the payment's name. @throws as `readCharge` */
  chargesOfPayment(paymentId: PaymentId, limit: CallLimit): Promise<readonly ProcessorCharge[]>;
  /** By the time of their making, oldest first. @throws as `readCharge` */
  listCharges(
    window: ChargeWindow,
    limit: CallLimit,
  ): Promise<{ readonly charges: readonly ProcessorCharge[]; readonly next?: string }>;
}
