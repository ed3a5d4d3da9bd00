import type { Cause } from '../../kernel/cause.ts';
import { MetadataName } from '../../kernel/contract/metadata.ts';
import { REQUEST_BUDGET_SECONDS } from '../../kernel/contract/timing.ts';
import { shownAmount } from '../../kernel/currency.ts';
import { defined } from '../../kernel/defined.ts';
import { AmbiguousError, RetryableError, TerminalError } from '../../kernel/faults.ts';
import { fingerprintOf } from '../../kernel/fingerprint.ts';
import type { Mode, OperationId } from '../../kernel/ids.ts';
import { invariant } from '../../kernel/invariant.ts';
import { mailLine } from '../../kernel/mail-line.ts';
import { changeOf } from '../../payments/domain/change.ts';
import { isAsPosted, moneyOf } from '../../payments/domain/charge-money.ts';
import { isUnresolved } from '../../payments/domain/payment.ts';
import type { PaymentState } from '../../payments/domain/payment-state.ts';
import { chargeOperation } from '../../payments/ids.ts';
import { type ReadCharge, readChargeBeforeSend } from '../../payments/use/before-send.ts';
import { type ChangePaymentTools, changePayment } from '../../payments/use/change-payment.ts';
import { createPayment } from '../../payments/use/create-payment.ts';
import { type PaymentChain, readChain } from '../../payments/use/payment-chain.ts';
import type { PaymentStore } from '../../payments/use/payment-store.ts';
import { type ChooseProcessor, pinnedProcessor, processorFor } from '../../payments/use/pinned-processor.ts';
import { alarmOnce } from '../../payments/use/raise-alarms.ts';
import type { Order, ReversalKind } from '../domain/order.ts';
import { referralCreditMinor } from '../domain/order.ts';
import type { OrderFact } from '../domain/order-facts.ts';
import { CHARGE_WINDOW_MS, NEVER_CHARGED_AFTER_MS, PAYER_BOUND_MS } from '../domain/order-limits.ts';
import type { OrderCall } from '../domain/order-steps.ts';
import type { OrderDetails } from '../domain/order-transition.ts';
import { missingShopOperation, orderOperation, orderStepOperation, reversalOfOrder } from '../ids.ts';
import type { Mailer, ReferralProgram, StockKeeper } from './order-parties.ts';
import type { OrderStore } from './order-store.ts';

export interface OrderTools extends ChangePaymentTools {
  readonly orders: OrderStore;
  readonly stock: StockKeeper;
  readonly referrals: ReferralProgram;
  readonly mailer: Mailer;
  /** For a new payment. @default `processor` */
  readonly choose?: ChooseProcessor;
  /**
   * The only mode in which new orders are accepted and external services are called, because the shop has this mode.
   * `none`: there is no shop.
   * @default both modes
   */
  readonly ordersOf?: Mode | 'none';
  /** Called with each TerminalError of a call, and with each problem of an order that operators must know. */
  readonly report: (error: unknown) => void;
}

function notThere(): never {
  invariant(false, 'an external service that is not configured was called');
}

/** For a deployment without a shop. */
export const NO_PARTIES: Required<Pick<OrderTools, 'stock' | 'referrals' | 'mailer' | 'ordersOf'>> = {
  stock: { reserve: notThere, release: notThere },
  referrals: { credit: notThere },
  mailer: { send: notThere },
  ordersOf: 'none',
};

type PaymentFact = Extract<OrderFact, { kind: 'payment' }>;

export interface OrderCallContext {
  /** The request, or a run of a job. */
  readonly cause: Cause;
  /** Deadline of every call. */
  readonly untilMs: number;
  /** Whether it is proven that no earlier driver has requested the payment. */
  readonly nothingSent: boolean;
}

/** Equals the timeout of a processor, because the order depends on the response. */
const STOCK_TIMEOUT_MS = 8_000;
/** An e-mail and a credit can be repeated later. */
const LATE_TIMEOUT_MS = 4_000;
/** In the mailer's statistics. */
const CONFIRMATION_TAG = 'order-confirmation';

/**
 * Thrown when the payment has provably not begun. The claim may then be released, and the idempotency key may be used
 * again.
 */
export class NothingBegun extends Error {
  override readonly name = 'NothingBegun';
  override readonly cause: RetryableError;

  constructor(cause: RetryableError) {
    super('the payment was not started');
    this.cause = cause;
  }
}

/**
 * @returns the fact that the call established; undefined if there is none, so that a later turn repeats the call
 * @throws NothingBegun if the payment has provably not begun
 */
export async function callForOrder(
  tools: OrderTools,
  call: OrderCall,
  { order, details }: { readonly order: Order; readonly details: OrderDetails },
  context: OrderCallContext,
): Promise<OrderFact | undefined> {
  try {
    if (!PAYMENT_CALLS.has(call) && (await isElsewhere(tools, order))) return unanswered(call);
    switch (call) {
      case 'charge':
        return await askForPayment(tools, order, details, context);
      case 'reverse':
        return await reverse(tools, order, context);
      case 'reserve':
        return await reserve(tools, order, details, context);
      case 'find_reservation': {
        // The order is being reversed, so the shop's order is not noted as paid.
        const { shopOrder: _unnoted, ...rest } = details;
        return await reserve(tools, order, rest, context);
      }
      case 'release':
        return await release(tools, order, details, context);
      case 'send_email':
        return await sendEmail(tools, order, details, context);
      case 'credit':
        return await credit(tools, order, details, context);
    }
  } catch (error) {
    if (error instanceof TerminalError) tools.report(error);
    const isFault =
      error instanceof RetryableError || error instanceof AmbiguousError || error instanceof TerminalError;
    if (!isFault) throw error;
    return unanswered(call);
  }
}

const PAYMENT_CALLS: ReadonlySet<OrderCall> = new Set(['charge', 'reverse']);

/**
 * Returns whether the shop was removed, or replaced by a shop of the other mode. If so, raises an alarm, once for each
 * order. The order then continues as if its shop were unavailable: after an hour without a reservation, its payment is
 * reversed. An operator can save the order by restoring the shop's configuration in time.
 */
async function isElsewhere(tools: OrderTools, { id, mode, paymentId }: Order): Promise<boolean> {
  const { ordersOf, report, alarm, digest } = tools;
  if (ordersOf === undefined || ordersOf === mode) return false;
  await alarmOnce(tools, { operationId: missingShopOperation(digest, id), paymentId }, () => {
    report(
      new TerminalError(
        'parties_elsewhere',
        `this deployment has no shop for the order ${id}, which is in ${mode} mode`,
      ),
    );
    alarm?.('undecidable', id);
  });
  return true;
}

function unanswered(call: OrderCall): OrderFact | undefined {
  if (call === 'send_email') return { kind: 'email_unanswered' };
  return call === 'credit' ? { kind: 'credit_unanswered' } : undefined;
}

function limitOf({ clock }: OrderTools, mostMs: number, { untilMs }: OrderCallContext): { readonly timeoutMs: number } {
  return { timeoutMs: Math.min(mostMs, Math.max(1, untilMs - clock.nowMs())) };
}

// ------------------------------------------------------------------------------------------------------------- the payment

/**
 * A payment is not created if the order is older than {@link CHARGE_WINDOW_MS}. After the payment has begun, its own
 * claim, inquiry and callbacks determine its outcome.
 */
async function askForPayment(
  tools: OrderTools,
  order: Order,
  details: OrderDetails,
  context: OrderCallContext,
): Promise<OrderFact | undefined> {
  const { store, clock } = tools;
  const ageMs = clock.nowMs() - order.createdAtMs;
  // A new order has no payment yet.
  const isFresh = context.nothingSent && ageMs <= CHARGE_WINDOW_MS;
  let chain = isFresh ? undefined : await readChain(store, order.paymentId);
  if (chain === undefined && ageMs > CHARGE_WINDOW_MS) {
    const isProven = context.nothingSent || ageMs > NEVER_CHARGED_AFTER_MS;
    return isProven ? { kind: 'payment_absent' } : undefined;
  }
  if (chain === undefined || (isUnresolved(chain.state.payment) && !chain.state.isProcessingRecorded)) {
    await takePayment(tools, order, details, context);
    chain = await readChain(store, order.paymentId);
  }
  if (chain === undefined) return undefined;
  if (isPayersTurn(chain.state) && ageMs > PAYER_BOUND_MS) return factOfPayer(tools, chain, context);
  const { status } = chain.state.payment;
  if (status === 'succeeded' && chain.state.decisions.size > 0) return factOfBooks(tools, chain, context);
  return paymentFact(chain.state);
}

function isPayersTurn({ payment: { status } }: PaymentState): boolean {
  return status === 'requires_action' || status === 'requires_capture';
}

/**
 * Reads the charge of a payment that the payer, according to the payment's chain, has not approved in time. The chain
 * can be wrong: a callback may be lost, and while the bank decides, the chain still shows that the payer must act.
 *
 *   payer  approves ── the bank decides for days ─────────────────── paid
 *   order  ────────── a day has passed ── read: pending ── waits ─────┴─ fulfilled
 *
 * @returns undefined while the bank decides, or if this deployment does not call the payment's processor
 * @throws as `readChargeBeforeSend`
 */
async function factOfPayer(
  tools: OrderTools,
  chain: PaymentChain,
  context: OrderCallContext,
): Promise<OrderFact | undefined> {
  const read = await readOwnCharge(tools, chain, context);
  if (read === undefined || read.charge.status === 'pending') return undefined;
  const { state } = read.chain;
  return isPayersTurn(state) ? { kind: 'payment_abandoned' } : paymentFact(state);
}

/**
 * Reads the charge of a payment whose outcome an operator decided. During the review, callbacks had no effect, so
 * refunds and disputes that the processor reported may be missing in the chain.
 *
 *   processor  disputed ── callback: in review ✗ ──────────────── down ── up
 *   operator                                   └─ decided: paid          │
 *   order                                                  └─ waits ─────┴─ read: disputed ── no goods
 *
 * @returns undefined if this deployment does not call the payment's processor, or if the books contradict the decided
 * amount, which raises an alarm
 * @throws as `readChargeBeforeSend`
 */
async function factOfBooks(
  tools: OrderTools,
  chain: PaymentChain,
  context: OrderCallContext,
): Promise<PaymentFact | undefined> {
  const read = await readOwnCharge(tools, chain, context);
  return read !== undefined && isAsPosted(read.charge, read.chain.state) ? paymentFact(read.chain.state) : undefined;
}

/** @returns undefined if this deployment does not call the payment's processor, or if the charge's id is not known */
async function readOwnCharge(
  tools: OrderTools,
  chain: PaymentChain,
  { cause }: OrderCallContext,
): Promise<ReadCharge | undefined> {
  const { id: paymentId, chargeId } = chain.state.payment;
  const processor = pinnedProcessor(tools, chain.first);
  if (processor === undefined || chargeId === undefined) return undefined;
  const operationId = chargeOperation(paymentId);
  return readChargeBeforeSend({ ...tools, processor, cause }, { operationId, paymentId, chargeId }, chain);
}

/** @returns undefined when there is no payment, or the store is unavailable */
export async function readOrderPayment(
  { store }: { readonly store: Pick<PaymentStore, 'listTransitions'> },
  { paymentId }: Order,
): Promise<PaymentFact | undefined> {
  try {
    const chain = await readChain(store, paymentId);
    return chain === undefined ? undefined : paymentFact(chain.state);
  } catch (error) {
    if (error instanceof RetryableError) return undefined;
    throw error;
  }
}

function paymentFact(state: PaymentState): PaymentFact {
  const { status, failure, chargeId } = state.payment;
  const money = chargeId === undefined ? undefined : moneyOf(chargeId, state);
  const { capturedMinor = 0, leftMinor = 0, pendingMinor = 0, disputedMinor = 0 } = money ?? {};
  const amounts = { capturedMinor, leftMinor, pendingMinor, disputedMinor };
  return { kind: 'payment', status, ...amounts, ...defined({ failure }) };
}

async function takePayment(
  tools: OrderTools,
  order: Order,
  { requestId, source, affiliate, returnUrl }: OrderDetails,
  { untilMs, cause }: OrderCallContext,
): Promise<void> {
  const { tenantId, mode, amountMinor, currency, paymentId, id } = order;
  const processor = processorFor(tools, order);
  try {
    await createPayment(
      { ...tools, processor },
      {
        paymentId,
        tenantId,
        mode,
        fingerprint: fingerprintOf(tools.digest, { body: { payment_of: id }, query: {} }),
        requestId,
        cause,
        // The payment's time budget ends at `untilMs`.
        receivedAtMs: untilMs - REQUEST_BUDGET_SECONDS * 1000,
        claimedAtMs: order.createdAtMs,
        amountMinor,
        currency,
        source,
        capture: 'automatic',
        orderId: id,
        ...(affiliate === undefined ? {} : { metadata: { [MetadataName.affiliate]: affiliate } }),
        ...defined({ returnUrl }),
      },
    );
  } catch (error) {
    if (error instanceof RetryableError && (await isUnbegun(tools, order))) throw new NothingBegun(error);
    throw error;
  }
}

/** Returns whether no process has sent a charge: there is no payment, or its claim was released. */
async function isUnbegun({ store }: OrderTools, { paymentId }: Order): Promise<boolean> {
  const record = await store.readRecord(chargeOperation(paymentId));
  if (record !== undefined) return record.status === 'INPROGRESS' && record.released;
  return (await store.readPayment(paymentId)) === undefined;
}

/** Each attempt has its own idempotency key. */
async function reverse(
  tools: OrderTools,
  order: Order,
  { untilMs, cause }: OrderCallContext,
): Promise<OrderFact | undefined> {
  const { store, digest } = tools;
  const { paymentId, tenantId, mode, id } = order;
  const { attempt = 1, status, by } = order.charge;
  const before = await readChain(store, paymentId);
  invariant(before !== undefined, 'the payment to reverse does not exist');
  if (isReversed(before.state)) return { kind: 'reversed' };
  const kind = reversalOf(before.state);
  if (kind === undefined) return undefined;
  if (status === 'reversed') return { kind: 'reversal_undone' };
  if (kind === 'refund' && by === 'cancel') return { kind: 'reversal_turned' };
  if (status === 'reversal_failed') return undefined;
  const operationId = reversalOfOrder(digest, kind, paymentId, attempt);
  const outcome = await changePayment(tools, {
    operationId,
    paymentId,
    tenantId,
    mode,
    fingerprint: fingerprintOf(digest, { body: { reversal_of: id, kind, attempt }, query: {} }),
    requestId: orderOperation(id),
    cause,
    receivedAtMs: untilMs - REQUEST_BUDGET_SECONDS * 1000,
    command: kind === 'refund' ? { kind, reason: 'The order was canceled.' } : { kind },
  });
  const after = await readChain(store, paymentId);
  invariant(after !== undefined, 'the payment has disappeared');
  if (isReversed(after.state)) return { kind: 'reversed' };
  const isUnsupported = outcome.kind === 'refused' && outcome.refusal.kind === 'unsupported';
  return isUnsupported || isAttemptOver(operationId, after.state)
    ? { kind: 'reversal_failed', attempt, by: kind }
    : undefined;
}

/**
 * Another attempt is also needed if this one refunded only the remainder because a refund by another actor was pending,
 * and that refund has failed since.
 */
function isAttemptOver(operationId: OperationId, state: PaymentState): boolean {
  const change = changeOf(state, operationId);
  if (change?.status === 'failed') return true;
  return (
    change?.kind === 'refund' && change.status === 'succeeded' && (moneyOf(change.chargeId, state)?.leftMinor ?? 0) > 0
  );
}

function reversalOf({ payment: { status } }: PaymentState): ReversalKind | undefined {
  if (status === 'succeeded') return 'refund';
  return status === 'requires_action' || status === 'requires_capture' ? 'cancel' : undefined;
}

/** Stray charges are ignored, because a separate queue returns their money. */
function isReversed(state: PaymentState): boolean {
  const { status, chargeId } = state.payment;
  if (status === 'failed' || status === 'canceled') return true;
  const money = chargeId === undefined ? undefined : moneyOf(chargeId, state);
  // Disputed amounts are not included, because the bank holds them. If a dispute is won, the order is reopened.
  return status === 'succeeded' && money !== undefined && money.leftMinor + money.pendingMinor <= 0;
}

// --------------------------------------------------------------------------------------------------- external services

async function reserve(
  tools: OrderTools,
  { id }: Order,
  { items, shopOrder }: OrderDetails,
  context: OrderCallContext,
): Promise<OrderFact> {
  const operationId = orderStepOperation(tools.digest, 'reserve', id);
  const outcome = await tools.stock.reserve(
    { operationId, orderId: id, items, ...defined({ shopOrder }) },
    limitOf(tools, STOCK_TIMEOUT_MS, context),
  );
  return outcome.kind === 'reserved' ? outcome : { kind: 'reservation_refused', failure: outcome.failure };
}

async function release(
  tools: OrderTools,
  { id, reservation }: Order,
  { items, shopOrder }: OrderDetails,
  context: OrderCallContext,
): Promise<OrderFact> {
  const { reservationId } = reservation;
  invariant(reservationId !== undefined, 'the reservation to release has no id');
  const releasing = { reservationId, orderId: id, items, ...defined({ shopOrder }) };
  await tools.stock.release(releasing, limitOf(tools, STOCK_TIMEOUT_MS, context));
  return { kind: 'released', reservationId };
}

async function sendEmail(
  tools: OrderTools,
  order: Order,
  details: OrderDetails,
  context: OrderCallContext,
): Promise<OrderFact> {
  const operationId = orderStepOperation(tools.digest, 'confirm', order.id);
  const { email: to } = details;
  if (to === undefined) return contactsLost(tools, order, 'email_refused');
  const { id: orderId, tenantId, mode } = order;
  const message = { to, tag: CONFIRMATION_TAG, ...confirmationEmail(order, details) };
  const email = { operationId, orderId, tenantId, mode, dueAtMs: order.email.sinceMs, ...message };
  const outcome = await tools.mailer.send(email, limitOf(tools, LATE_TIMEOUT_MS, context));
  switch (outcome.kind) {
    case 'sent':
      return { kind: 'email_sent' };
    case 'refused':
      return { kind: 'email_refused' };
    case 'capped':
      return { kind: 'email_capped' };
    case 'needs_review':
      return { kind: 'email_unknown' };
    case 'queued':
      return { kind: 'email_queued' };
    case 'given_up':
      reportGivenUp(tools, outcome);
      return { kind: outcome.mayBeApplied ? 'email_unknown' : 'email_given_up' };
  }
}

/**
 * An erasure waits until the e-mail and the credit have an outcome, but a restore may have lost the contacts row. The
 * order continues without the e-mail or the credit.
 */
function contactsLost<Kind extends OrderFact['kind']>(
  { report }: OrderTools,
  { id }: Order,
  kind: Kind,
): { readonly kind: Kind } {
  report(new TerminalError('contacts_lost', `the contacts row of the order ${id} was lost`));
  return { kind };
}

function reportGivenUp({ report }: OrderTools, { reason }: { readonly reason: string }): void {
  report(new TerminalError(reason, 'A call for the order was dead-lettered.'));
}

/** Uses only fields that never change, so that every attempt sends the same e-mail. */
export function confirmationEmail(
  { id, amountMinor, currency }: Order,
  { items }: OrderDetails,
): { readonly subject: string; readonly text: string } {
  const lines = items.map(({ sku, quantity }) => `  ${quantity} x ${mailLine(sku) ?? 'item'}`);
  const total = shownAmount(amountMinor, currency);
  const text = [`Thank you for your order ${id}.`, '', ...lines, '', `Charged: ${total}`, ''].join('\n');
  return { subject: `Your order ${id}`, text };
}

async function credit(
  tools: OrderTools,
  order: Order,
  { referrer }: OrderDetails,
  context: OrderCallContext,
): Promise<OrderFact> {
  if (referrer === undefined) return contactsLost(tools, order, 'credit_refused');
  const operationId = orderStepOperation(tools.digest, 'credit', order.id);
  const { id: orderId, currency } = order;
  const asked = { operationId, orderId, referrer, amountMinor: referralCreditMinor(order), currency };
  const outcome = await tools.referrals.credit(asked, limitOf(tools, LATE_TIMEOUT_MS, context));
  switch (outcome.kind) {
    case 'credited':
      return { kind: 'credited' };
    case 'refused':
      return { kind: 'credit_refused' };
    case 'no_referral_program':
      return { kind: 'credit_without_program' };
    case 'queued':
      return { kind: 'credit_queued' };
    case 'given_up':
      reportGivenUp(tools, outcome);
      return { kind: outcome.mayBeApplied ? 'credit_unknown' : 'credit_given_up' };
  }
}
