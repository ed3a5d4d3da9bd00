import type { AmbiguousError } from '../../kernel/faults.ts';
import type { Mode, OperationId, PaymentId } from '../../kernel/ids.ts';
import type { CallLimit } from '../../kernel/world.ts';
import type { ChangeAbilities } from '../domain/change.ts';
import type { Fact } from '../domain/facts.ts';
import type { Fees } from '../domain/fees.ts';
import type { CaptureMode, Failure } from '../domain/payment.ts';
import type { BooksIdentity, ProcessorCharge } from '../domain/processor-charge.ts';
import type { ProcessorAbilities } from '../domain/settlement.ts';

export interface ChargeOrder {
  /** The idempotency key at the processor, the same for every attempt. */
  readonly operationId: OperationId;
  readonly paymentId: PaymentId;
  readonly amountMinor: number;
  readonly currency: string;
  readonly source: string;
  readonly capture: CaptureMode;
  /** @default the deployment's return URL */
  readonly returnUrl?: string;
}

export type ChargeOutcome =
  /** The charge was accepted. A callback or a look-up reports the result. */
  | { readonly kind: 'pending'; readonly chargeId: string }
  | { readonly kind: 'action_required'; readonly chargeId: string; readonly actionUrl: string }
  | ({ readonly kind: 'succeeded'; readonly chargeId: string } & Fees)
  | { readonly kind: 'authorized'; readonly chargeId: string }
  /** The payer's bank refused (402). */
  | { readonly kind: 'declined'; readonly chargeId?: string; readonly failure: Failure }
  /** The processor refused the request itself (400, 404, 422). */
  | { readonly kind: 'rejected'; readonly chargeId?: string; readonly failure: Failure };

export type ChargeChange =
  /** Captures the authorized amount or a part of it, in minor units. The rest of the hold is released. */
  | { readonly kind: 'capture'; readonly amountMinor: number }
  | { readonly kind: 'void' }
  | { readonly kind: 'refund'; readonly amountMinor: number };

export interface ChangeOrder {
  /**
   * The idempotency key at the processor, the same for every attempt. The metadata of a refund also contains this key.
   */
  readonly operationId: OperationId;
  readonly paymentId: PaymentId;
  readonly chargeId: string;
  readonly currency: string;
  readonly change: ChargeChange;
}

export type ChangeOutcome =
  /**
   * The processor applied or accepted the change. The facts are from the response. A fact about a refund contains the
   * id of the operation that made the refund.
   */
  | { readonly kind: 'applied'; readonly facts: readonly Fact[] }
  /** The processor refused, and nothing changed (400, 402, 404, 422). */
  | { readonly kind: 'refused'; readonly failure: Failure };

interface HoldAbilities {
  /**
   * Time for which the processor keeps an uncaptured hold, in milliseconds. Payonce voids older holds. 0 if the
   * processor does not support holds: Payonce then refuses payments with manual capture.
   */
  readonly holdValidityMs: number;
}

/** The format of `source` (the payment token) that a processor accepts. */
export interface SourceForm {
  readonly pattern: RegExp;
  /** Description of the format for the error message `source must be <allowed>`. */
  readonly allowed: string;
}

export interface Processor {
  readonly name: string;
  /** The processor never gets a payment of the other mode. */
  readonly mode: Mode;
  readonly account: string;
  readonly endpoint: string;
  readonly apiVersion: string;
  /** As data, so that Payonce's decisions do not depend on the processor's name. */
  readonly abilities: ProcessorAbilities & ChangeAbilities & HoldAbilities;
  /** @default every format that the API accepts */
  readonly source?: SourceForm;
  /**
   * Checks the circuit breaker before the claim. With a closed breaker, `ready` sends nothing; with a half-open
   * breaker, it sends one read, never a charge.
   *
   * @throws RetryableError while the breaker is open
   */
  ready(): Promise<void>;
  /**
   * @throws RetryableError when nothing was applied (401, 403, 429, unreachable, open breaker)
   * @throws AmbiguousError when the charge may have been applied (timeout, 5xx, 409, unreadable response)
   */
  charge(order: ChargeOrder, limit: CallLimit): Promise<ChargeOutcome>;
  /**
   * Looks up a charge by the operation id in `order`.
   * @throws RetryableError or AmbiguousError when the look-up failed
   */
  findCharge(order: ChargeOrder, limit: CallLimit): Promise<ChargeOutcome | { readonly kind: 'absent' }>;
  /** @throws as `charge` */
  change(order: ChangeOrder, limit: CallLimit): Promise<ChangeOutcome>;
  /**
   * Looks up whether the change was applied, by any attempt or by another user of the processor's account.
   * @throws as `findCharge`; AmbiguousError with the code {@link ANSWER_MISMATCH} when the books contradict `order`
   */
  findChange(order: ChangeOrder, limit: CallLimit): Promise<ChangeOutcome | { readonly kind: 'absent' }>;
  /**
   * The circuit breaker records whether this read succeeded.
   * @throws as `findCharge`
   */
  showCharge(chargeId: string, limit: CallLimit): Promise<ProcessorCharge>;
}

/** Code of the AmbiguousError for a readable answer that contradicts the request. */
export const ANSWER_MISMATCH = 'processor_answer_mismatch';

export interface ChargeWindow {
  /** Inclusive. */
  readonly fromSeconds: number;
  /** Exclusive. */
  readonly untilSeconds: number;
  /**
   * The cursor `next` of the previous page.
   * @default the first page
   */
  readonly cursor?: string;
}

/**
 * A charge on a page of the processor's books that cannot be parsed, for example because its status is unknown to this
 * code.
 */
export interface UnreadableCharge {
  readonly chargeId: string;
  /** The payment that the charge's metadata names, if the metadata can be read. */
  readonly paymentId?: PaymentId;
  readonly createdAtSeconds: number;
  /** The message contains the charge id. */
  readonly fault: AmbiguousError;
}

export interface ChargePage {
  readonly charges: readonly ProcessorCharge[];
  /** Not in `charges`. @default none */
  readonly unreadable?: readonly UnreadableCharge[];
  /** Absent on the last page. */
  readonly next?: string;
}

/** A request has time for two sends, a look-up and the commit. */
export const SEND_TIMEOUT_MS = 8_000;
export const LOOKUP_TIMEOUT_MS = 2_000;
/** For reads while a caller waits. */
export const BOOKS_TIMEOUT_MS = 5_000;
/**
 * A page has a hundred charges, whose refunds and disputes may need separate reads. A job has a minute for each page of
 * its work.
 */
export const LIST_TIMEOUT_MS = 20_000;

/**
 * The processor's own list of charges in one mode. Reads by charge id and by time are strongly consistent: after the
 * processor has responded to a charge request, the list contains the charge.
 */
export interface ProcessorBooks extends BooksIdentity {
  /** @throws RetryableError or AmbiguousError when the charge could not be read */
  readCharge(chargeId: string, limit: CallLimit): Promise<ProcessorCharge | undefined>;
  /** Lists all charges with the payment's id in their metadata. @throws as `readCharge` */
  chargesOfPayment(paymentId: PaymentId, limit: CallLimit): Promise<readonly ProcessorCharge[]>;
  /**
   * Reads a page of charges by creation time, oldest first. An unreadable charge does not hide the other charges.
   * @throws as `readCharge`
   */
  listCharges(window: ChargeWindow, limit: CallLimit): Promise<ChargePage>;
}
