import { isFault } from '../../kernel/faults.ts';
import type { OperationId, PaymentId } from '../../kernel/ids.ts';
import type { Clock } from '../../kernel/world.ts';
import { isSettled } from '../../orders/domain/order.ts';
import type { OrderTransition } from '../../orders/domain/order-transition.ts';
import { orderOperation } from '../../orders/ids.ts';
import { openOrder } from '../../orders/use/drive-order.ts';
import { LONGEST_ORDER_CHAIN, orderChainOf } from '../../orders/use/order-chain.ts';
import type { OrderStore } from '../../orders/use/order-store.ts';
import { begunAtMs, isUnderWay, operationIdOf } from '../../payments/domain/change.ts';
import { moneyOf } from '../../payments/domain/charge-money.ts';
import { freesReference, isAwaited, isUnresolved } from '../../payments/domain/payment.ts';
import { type ChainId, chargeOperation, isOrderId, isRefundOf, isReturn } from '../../payments/ids.ts';
import { chainOf, type PaymentChain, readChain } from '../../payments/use/payment-chain.ts';
import type {
  ChargeToReturn,
  Hold,
  Inquiry,
  OpenOrder,
  PaymentStore,
  ReferenceName,
} from '../../payments/use/payment-store.ts';
import {
  booksInquiry,
  holdEntryFor,
  inquiryForCharge,
  queueEntriesFor,
  vanishedCharge,
} from '../../payments/use/queued-with.ts';
import type { LedgerScan } from '../../views/use/ledger-scan.ts';
import { type ScanPositions, scanAll } from '../../views/use/scan-all.ts';

/** A row of the Registry that can be derived from a chain in the Ledger. */
export type ImpliedRow =
  | { readonly kind: 'inquiry'; readonly row: Inquiry }
  | { readonly kind: 'return'; readonly row: ChargeToReturn }
  | { readonly kind: 'hold'; readonly row: Hold }
  | { readonly kind: 'open_order'; readonly row: OpenOrder }
  | { readonly kind: 'reference'; readonly row: ReferenceName & { readonly paymentId: PaymentId } };

export interface ImpliedRows {
  /**
   * Writes the row if its key does not exist. If the reference row belongs to another payment, it is replaced only if
   * that payment has freed the reference: the restored copy can contain the old row instead of the row that the newer
   * payment wrote.
   *
   * @param isEnded returns whether a payment has freed its reference, or does not exist
   * @returns whether the row was written
   */
  putMissing(implied: ImpliedRow, isEnded: (holder: PaymentId) => Promise<boolean>): Promise<boolean>;
}

export interface RebuildQueuesTools {
  readonly store: Pick<PaymentStore, 'listTransitions' | 'readRecord'>;
  readonly orders: Pick<OrderStore, 'listOrderTransitions'>;
  readonly ledger: LedgerScan;
  readonly rows: ImpliedRows;
  readonly clock: Pick<Clock, 'nowMs'>;
  /** Writes the commission of a payment, if it is missing. @returns whether the commission was missing */
  readonly commission: (chain: PaymentChain) => Promise<boolean>;
}

type Missing = ImpliedRow['kind'] | 'commission';

/** The progress of a rebuild, serializable as JSON. A rebuild can resume from this state. */
export interface QueueRebuildState {
  readonly positions: ScanPositions;
  readonly read: number;
  readonly missing: Readonly<Record<Missing, number>>;
  /** Payments and orders that this code cannot read. Their rows may still be missing. */
  readonly unreadable: readonly ChainId[];
  /**
   * Payments and orders that lack a transition. A restored copy can contain a later transition without an earlier
   * transition of the same transaction.
   */
  readonly broken: readonly ChainId[];
}

export function initialQueueRebuildState(segments: number): QueueRebuildState {
  const missing = { inquiry: 0, return: 0, hold: 0, open_order: 0, reference: 0, commission: 0 };
  return { positions: Array.from({ length: segments }, () => ''), read: 0, missing, unreadable: [], broken: [] };
}

/** Maximum number of ids to keep, more than an operator would read. */
const MAX_IDS = 10_000;

const WHOLE_ORDER = { afterSequence: 0, limit: LONGEST_ORDER_CHAIN } as const;

/**
 * Scans the Ledger after a restore of the Ledger or the Registry, and writes the queue entries, references and
 * commissions that are missing. All unfinished work is then queued again. Traffic may continue: if the scan rewrites an
 * entry that a job has just closed, the job's next run closes it again.
 *
 * @param progress called after every page
 */
export async function rebuildQueues(
  { store, orders, ledger, rows, clock, commission }: RebuildQueuesTools,
  begin: QueueRebuildState,
  progress: (state: QueueRebuildState) => Promise<void>,
): Promise<QueueRebuildState> {
  let state = begin;
  const isEnded = async (holder: PaymentId): Promise<boolean> => {
    const chain = await readChain(store, holder);
    return chain === undefined || freesReference(chain.state.payment);
  };
  const each = async (id: ChainId): Promise<void> => {
    const found: Missing[] = [];
    let isUnreadable = false;
    let isTorn = false;
    try {
      const order = isOrderId(id) ? await orders.listOrderTransitions(id, WHOLE_ORDER) : [];
      const chain = isOrderId(id) ? undefined : await readChain(store, id);
      const implied =
        chain === undefined ? impliedByOrder(store, order) : impliedByPayment(store, chain, clock.nowMs());
      for (const row of await implied) if (await rows.putMissing(row, isEnded)) found.push(row.kind);
      if (chain !== undefined && (await commission(chain))) found.push('commission');
      isTorn = !isWhole(chain?.transitions ?? order);
    } catch (error) {
      // After a fault of the store, it is unknown whether this code can read the chain.
      if (isFault(error)) throw error;
      isUnreadable = true;
    }
    const missing = { ...state.missing };
    for (const kind of found) missing[kind] += 1;
    const withId = (ids: readonly ChainId[], isOne: boolean) => (isOne ? [...ids, id].slice(0, MAX_IDS) : ids);
    const named = { unreadable: withId(state.unreadable, isUnreadable), broken: withId(state.broken, isTorn) };
    state = { ...state, read: state.read + 1, missing, ...named };
  };
  await scanAll(
    {
      step: (step) => ledger.chains(step),
      each,
      progress: async (positions) => {
        state = { ...state, positions };
        await progress(state);
      },
    },
    begin.positions,
  );
  return state;
}

async function impliedByPayment(
  store: RebuildQueuesTools['store'],
  chain: PaymentChain,
  nowMs: number,
): Promise<readonly ImpliedRow[]> {
  const waiting: Inquiry[] = [];
  for (const inquiry of ownInquiries(chain)) if (!(await isClaimed(store, inquiry.operationId))) waiting.push(inquiry);
  return [...waiting.map((row) => ({ kind: 'inquiry', row }) as const), ...otherRows(chain, nowMs)];
}

/** Returns whether the operation has an open claim, which the resolver finds without a queue entry. */
async function isClaimed(store: RebuildQueuesTools['store'], id: OperationId): Promise<boolean> {
  return (await store.readRecord(id))?.status === 'INPROGRESS';
}

/**
 * Returns an inquiry for the payment if its outcome is still awaited, and one for each change in progress, because
 * their claims may be lost.
 */
function ownInquiries({ first, transitions, state }: PaymentChain): readonly Inquiry[] {
  const { payment, refunds, holdChanges } = state;
  const { id: paymentId } = payment;
  const claimedAtMs = first.occurredAtMs;
  const charge: Inquiry = { operationId: chargeOperation(paymentId), paymentId, claimedAtMs };
  const ofPayer = isUnresolved(payment) ? charge : { ...charge, waitsFor: 'payer' as const };
  // Exclude returns of stray charges, which have a separate queue.
  const ofMerchant = [...refunds.values()].filter(
    ({ refundId }) => isRefundOf(refundId, paymentId) && !isReturn(refundId),
  );
  const own = [...holdChanges.values(), ...ofMerchant];
  const changes = own
    .filter((change) => isUnderWay(change, state))
    .map((change): Inquiry => {
      const operationId = operationIdOf(change);
      return { operationId, paymentId, claimedAtMs: begunAtMs(transitions, operationId) ?? claimedAtMs };
    });
  return isAwaited(payment) ? [ofPayer, ...changes] : changes;
}

function otherRows(chain: PaymentChain, nowMs: number): readonly ImpliedRow[] {
  const { first, newest, transitions, state } = chain;
  const { payment, refunds, disputes, strayCharges, decisions } = state;
  const { id: paymentId, tenantId, mode, reference } = payment;
  const { hold } = holdEntryFor(transitions);
  const { reopened } = queueEntriesFor(chainOf([first]), transitions.slice(1));
  // At the processor, a refund that failed in the chain, or any dispute, may be open again; a refund that was not
  // requested through Payonce may be pending. Their entries were written without a transition, so they cannot be
  // derived from the chain. Read these charges once more.
  const atBank = [
    ...[...refunds.values()].filter(
      ({ status, refundId }) => status === 'failed' || (status === 'pending' && !isRefundOf(refundId, paymentId)),
    ),
    ...disputes.values(),
  ];
  const vanished = vanishedCharge(payment).map((id) => inquiryForCharge(paymentId, id, newest.occurredAtMs));
  const ofCharges = [...Map.groupBy(atBank, ({ chargeId }) => chargeId)].map(([chargeId, parts]) =>
    inquiryForCharge(paymentId, chargeId, Math.max(...parts.map(({ createdAtMs }) => createdAtMs))),
  );
  const returns = [...strayCharges.values()].flatMap(({ chargeId, status }): readonly ChargeToReturn[] => {
    const entry = { paymentId, chargeId, foundAtMs: newest.occurredAtMs };
    const money = moneyOf(chargeId, state);
    // The lost entry may have been about a hold that reappeared after a void. Its void needs a new operation id, which
    // is derived from the current time.
    if (status === 'authorized') return [{ ...entry, foundAtMs: nowMs, by: 'void' }];
    return money !== undefined && money.leftMinor + money.pendingMinor > 0 ? [{ ...entry, by: 'refund' }] : [];
  });
  // After a decision or a stray charge, an inquiry reads all charges of the payment. Queue it again, because it may be
  // unfinished.
  const books = decisions.size > 0 || strayCharges.size > 0 ? [booksInquiry(paymentId, newest.occurredAtMs)] : [];
  const isHeld = hold !== undefined && payment.status === 'requires_capture';
  const isReferred = reference !== undefined && !freesReference(payment);
  return [
    ...[...ofCharges, ...vanished, ...books].map((row) => ({ kind: 'inquiry', row }) as const),
    ...returns.map((row) => ({ kind: 'return', row }) as const),
    ...(isHeld ? [{ kind: 'hold', row: hold } as const] : []),
    ...(reopened === undefined ? [] : [{ kind: 'open_order', row: reopened } as const]),
    ...(isReferred ? [{ kind: 'reference', row: { tenantId, mode, reference, paymentId } } as const] : []),
  ];
}

async function impliedByOrder(
  store: RebuildQueuesTools['store'],
  transitions: readonly OrderTransition[],
): Promise<readonly ImpliedRow[]> {
  if (transitions.length === 0) return [];
  const chain = orderChainOf(transitions);
  if (isSettled(chain.order) || (await isClaimed(store, orderOperation(chain.order.id)))) return [];
  return [{ kind: 'open_order', row: openOrder(chain) }];
}

function isWhole(transitions: readonly { readonly sequence: number }[]): boolean {
  return transitions.every(({ sequence }, place) => sequence === place + 1);
}
