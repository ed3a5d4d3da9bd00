import type { ProcessorCharge } from '../../lambdas/payments/domain/processor-charge.ts';
import type { Charge, EventType } from '../../lambdas/processors/sandbox/sandbox-api.ts';

/** Capture, void or refund that was applied under an idempotency key. */
export interface AppliedChange {
  readonly operationId: string;
  readonly paymentId: string | undefined;
  readonly kind: 'capture' | 'void' | 'refund';
}

/** Includes requests whose response was lost. */
export interface SentRequest {
  readonly kind: 'charge' | AppliedChange['kind'];
  readonly operationId: string;
  readonly paymentId: string;
  /** Undefined for a new charge. */
  readonly chargeId: string | undefined;
  readonly amountMinor: number;
  readonly atMs: number;
  /** In Unix milliseconds. The request may have arrived much later. */
  readonly askedAtMs: number;
  /** Undefined outside the simulator. */
  readonly by: string | undefined;
  /** Whether an earlier request with the same key was already applied, so that this request has no effect. */
  readonly isRepeated: boolean;
  /**
   * Highest refundable amount that the books showed in the 30 seconds before the request, in minor units. Infinite for
   * a new charge, and for a charge that the books did not show 30 seconds before.
   */
  readonly leftBeforeMinor: number;
  /** Whether the books showed the hold as ended throughout the 30 seconds before the request. */
  readonly wasOverBefore: boolean;
  /** Whether the charge's metadata named another payment throughout the 30 seconds before the request. */
  readonly wasOfAnother: boolean;
}

export interface Contradicted {
  /** In Unix milliseconds. */
  readonly atMs: number;
  /** Time when the books first showed the charge's current state, in Unix milliseconds. */
  readonly shownAtMs: number;
}

/** Charge that another user of the processor's account creates, without Payonce. */
interface ForeignOrder {
  readonly paymentId?: string;
  readonly operationId?: string;
  readonly amountMinor: number;
  /** @default EUR */
  readonly currency?: string;
  /** @default tok_ok */
  readonly source?: string;
}

/**
 * Records of the sandbox, and actions of payers, banks, other users of the processor's account, and the processor. An
 * action throws if the sandbox refuses it.
 */
export interface InsideSandbox {
  /** Oldest first. */
  readonly all: readonly ProcessorCharge[];
  /** Oldest first. */
  readonly applied: readonly AppliedChange[];
  readonly sent: readonly SentRequest[];
  /** Returns the newest state, without a lag. */
  read(chargeId: string): Promise<Charge>;
  /**
   * Returns true if a function has read the newest state of the charge, or if a request with an idempotency key
   * produced that state.
   *
   * @param hasCallback whether a delivered callback also counts as a read. The function that receives the callback
   * reads the charge but may fail afterwards, and a redelivery is not guaranteed
   * @default true
   * @param isCompared whether a list that the comparison of the books has read also counts as a read
   * @default false
   */
  isShown(chargeId: string, hasCallback?: boolean, isCompared?: boolean): boolean;
  /** In Unix milliseconds; undefined if no request with an idempotency key created the charge. */
  madeByKeyAtMs(chargeId: string): number | undefined;
  /** Returns the last contradiction between two states of the charge. */
  contradicted(chargeId: string): Contradicted | undefined;
  /** In Unix milliseconds; undefined for an unknown charge. */
  changedAtMs(chargeId: string): number | undefined;
  /** Returns true if the books have ever shown the charge as declined or voided. */
  wasRefused(chargeId: string): boolean;
  statesOf(chargeId: string): number;
  /** By currency, in minor units; undefined before the first fee. */
  feesOf(chargeId: string): Readonly<Record<string, number>> | undefined;
  charge(order: ForeignOrder): Promise<ProcessorCharge>;
  /** Confirms a charge that is pending, waits for its payer, or was declined. */
  approve(chargeId: string): Promise<void>;
  decline(chargeId: string): Promise<void>;
  capture(chargeId: string, amountMinor?: number): Promise<void>;
  void(chargeId: string): Promise<void>;
  /** Lets a hold, or the wait for the payer's approval, expire. */
  expire(chargeId: string): Promise<void>;
  /**
   * @param begins initial status of the refund
   *
   * @default 'succeeded'
   *
   * @returns the refund's id
   */
  refund(chargeId: string, amountMinor: number, begins?: 'pending' | 'succeeded'): Promise<string>;
  /** Completes a pending refund, or makes a successful refund fail. `refundId` may also be Payonce's operation id. */
  endRefund(refundId: string, status: 'succeeded' | 'failed'): Promise<void>;
  /** @returns the dispute's id */
  dispute(chargeId: string, amountMinor: number): Promise<string>;
  closeDispute(disputeId: string, outcome: 'won' | 'lost'): Promise<void>;
  /**
   * Changes a charge without checking the processor's rules.
   *
   * @param callback event that reports the change
   * @default no callback
   */
  correct(chargeId: string, changes: Partial<Charge>, callback?: EventType): Promise<void>;
  /** Makes the next `count` new charges behave like a first charge of the test token `source`. */
  failNext(count: number, source: string): Promise<void>;
  /** Makes the next `count` captures, voids and refunds behave like a first charge of the test token `source`. */
  failNextChange(count: number, source: string): Promise<void>;
  readonly hasFailing: boolean;
  /** Delays the next `count` charges, captures, voids and refunds until `deliverDelayed`; their callers time out. */
  delayNext(count: number): void;
  deliverDelayed(): Promise<void>;
  /** Makes the processor refuse connections until `recover`, and opens the client's breaker. */
  goDown(): Promise<void>;
  /** Makes the processor reachable, and advances the clock past the breaker's pause. */
  recover(): Promise<void>;
}
