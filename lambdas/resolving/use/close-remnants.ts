import { KEY_ID } from '../../kernel/cause.ts';
import { isFault } from '../../kernel/faults.ts';
import type { OperationId, PaymentId } from '../../kernel/ids.ts';
import type { Clock } from '../../kernel/world.ts';
import { type ApprovalEnd, effectIn, isSamePerson } from '../../operators/domain/approval.ts';
import type { ApprovingStore } from '../../operators/use/approving-store.ts';
import { type OrderChain, readOrderChain } from '../../orders/use/order-chain.ts';
import type { OrderStore } from '../../orders/use/order-store.ts';
import type { Transition } from '../../payments/domain/transition.ts';
import { type ChainId, isOrderId } from '../../payments/ids.ts';
import { hasAnswer, hasBegun, type PaymentChain, readChain } from '../../payments/use/payment-chain.ts';
import type { PaymentStore } from '../../payments/use/payment-store.ts';
import { booksInquiry } from '../../payments/use/queued-with.ts';
import { scanAll } from '../../views/use/scan-all.ts';
import type { ScanPage, ScanRequest } from '../../views/use/view-store.ts';
import type { ImpliedRows } from './rebuild-queues.ts';

/** The tables whose rows are written together with rows of the Ledger. */
export type ChainRowTable = 'registry' | 'idempotency';

/**
 * A row that belongs to a chain: it was written in one transaction with a transition of the chain or with an approval,
 * or it is an approval.
 */
export interface RowOfChain {
  readonly kind:
    | 'inquiry'
    | 'return'
    | 'hold'
    | 'open_order'
    | 'reference'
    /** A details row with personal data. */
    | 'details'
    /** The idempotency record of a request without a stored response. */
    | 'claim'
    /** The idempotency record of a request that has a stored response. */
    | 'answer'
    /** The record of an operator's request or approval. */
    | 'effect'
    /**
     * The verdict of an approved request, which ends the approval. Without the verdict, the approval is pending or has
     * expired.
     */
    | 'verdict'
    | 'approval';
  readonly chainId: ChainId;
  /** The operation of a record or of an approval; absent for other rows. */
  readonly operationId?: OperationId;
  /** Id of the correction, decision, annotation or change that an operator requested; absent for other rows. */
  readonly effectId?: OperationId;
  /** The approval for which an operator's request waits. The request wrote this approval instead of a transition. */
  readonly approvalId?: string;
  /** Time at which a record or a verdict was written, in Unix milliseconds. */
  readonly writtenAtMs?: number;
  /** The row's key and the attribute that reveals changes, in the format of the store. */
  readonly row: unknown;
}

export interface RowsOfChains {
  rows(table: ChainRowTable, step: ScanRequest): Promise<ScanPage<RowOfChain>>;
  /** Deletes the row if it has not changed. @returns false when it has changed or does not exist */
  remove(row: RowOfChain): Promise<boolean>;
  /** @returns false when it has ended or does not exist */
  endApproval(row: RowOfChain, end: ApprovalEnd): Promise<boolean>;
}

export interface CloseRemnantsTools {
  readonly store: Pick<PaymentStore, 'listTransitions'>;
  readonly approvals: Pick<ApprovingStore, 'readApproval'>;
  readonly orders: Pick<OrderStore, 'listOrderTransitions'>;
  readonly chainRows: RowsOfChains;
  readonly implied: ImpliedRows;
  readonly clock: Pick<Clock, 'nowMs'>;
}

/**
 * An operation whose idempotency record or verdict was removed. Without its record, the next request with the
 * operation's key is treated as a first request.
 */
export interface LostOperation {
  readonly operationId: OperationId;
  readonly chainId: ChainId;
  /** `verdict`: the end of an approval, which is now pending again, or has expired. */
  readonly kind: 'claim' | 'answer' | 'effect' | 'verdict';
  readonly writtenAtMs: number;
}

export interface Remnants {
  readonly removed: Readonly<Partial<Record<RowOfChain['kind'], number>>>;
  /** Number of approvals that were ended, because the Ledger has their effect. */
  readonly ended: number;
  /** Reported to operators, because a processor or a client may know of them. */
  readonly lost: readonly LostOperation[];
  /** Chains that this code cannot read. Their rows were not removed. */
  readonly unreadable: readonly ChainId[];
}

/** Maximum number of ids to keep, more than an operator would read. */
const MAX_KEPT = 10_000;
const TABLES = ['registry', 'idempotency'] as const;

/**
 * Removes rows whose transaction is missing in a restored Ledger: queue entries, references, personal data, idempotency
 * records and verdicts. Ends approvals whose effect is in the Ledger. The tables are restored to different times, so a
 * restored copy can contain a part of a transaction.
 *
 *   claim    record ✓ transition 1 ✗ ── record removed: a retry is a first request, which looks up its charge first
 *   refund   record ✓ transition n ✗ ── record removed; a queued inquiry records the refund if it was made
 *   response record ✓ transition n ✗ ── record removed: the next look-up at the processor decides the outcome again
 *   approval verdict ✓ transition n ✗ ── verdict removed: the approval is pending again, or has expired
 *   approval verdict ✗ transition n ✓ ── verdict written: the approval can be neither approved nor rejected again
 *   any      entry ✓ transition ✗ ── entry removed
 *
 * Traffic may continue, because a record and its transition are written in one transaction. Afterwards, `rebuildQueues`
 * scans the Ledger and writes the entries that are needed again.
 *
 * @param progress called after every page, with the number of rows that were read
 */
export async function closeRemnants(
  tools: CloseRemnantsTools,
  segments: number,
  progress: (read: number) => void,
): Promise<Remnants> {
  const removed: Partial<Record<RowOfChain['kind'], number>> = {};
  const lost: LostOperation[] = [];
  const unreadable = new Set<ChainId>();
  let ended = 0;
  let read = 0;
  const each = async (row: RowOfChain): Promise<void> => {
    read += 1;
    try {
      const chain = isOrderId(row.chainId) ? undefined : await readChain(tools.store, row.chainId);
      if (row.kind === 'approval') {
        if (chain !== undefined && (await endApproval(tools, chain, row))) ended += 1;
        return;
      }
      const isThere = isOrderId(row.chainId)
        ? isInOrder(await readOrderChain(tools.orders, row.chainId), row)
        : chain !== undefined && (await hasWritten(tools, chain, row));
      if (isThere || !(await tools.chainRows.remove(row))) return;
      removed[row.kind] = (removed[row.kind] ?? 0) + 1;
      const operation = chain !== undefined && effectOf(chain, row) !== undefined ? undefined : lostOperation(row);
      if (operation !== undefined && lost.length < MAX_KEPT) lost.push(operation);
      if (chain !== undefined) await queueBooksInquiry(tools, chain.first.payment.id);
    } catch (error) {
      // After a fault of the store, it is unknown whether this code can read the chain.
      if (isFault(error)) throw error;
      if (unreadable.size < MAX_KEPT) unreadable.add(row.chainId);
    }
  };
  for (const table of TABLES) {
    await scanAll(
      { step: (step) => tools.chainRows.rows(table, step), each, progress: async () => progress(read) },
      Array.from({ length: segments }, () => ''),
    );
  }
  return { removed, ended, lost, unreadable: [...unreadable] };
}

/**
 * Returns whether the rest of the row's transaction exists. For a request that waits for an approval, this is the
 * approval; for a verdict that rejected an approval, the rejection; for other operations, the transition in the chain.
 * For a row without an operation, it is enough that the chain exists.
 */
async function hasWritten(
  { approvals }: Pick<CloseRemnantsTools, 'approvals'>,
  chain: PaymentChain,
  row: RowOfChain,
): Promise<boolean> {
  const { kind, operationId, approvalId } = row;
  if (operationId === undefined) return true;
  if (kind === 'claim' || kind === 'answer')
    return hasBegun(chain, operationId) && (kind === 'claim' || hasAnswer(chain, operationId));
  if (approvalId !== undefined) return (await approvals.readApproval(approvalId)) !== undefined;
  return effectOf(chain, row) !== undefined || (await approvals.readApproval(operationId))?.end?.verdict === 'rejected';
}

function isInOrder(chain: OrderChain | undefined, { kind }: RowOfChain): boolean {
  return chain !== undefined && (kind !== 'answer' || chain.order.answered);
}

function effectOf({ transitions }: PaymentChain, { effectId }: RowOfChain): Transition | undefined {
  return effectId === undefined ? undefined : effectIn(transitions, effectId);
}

/** Ends an approval whose effect is in the chain. The effect's transition names the operator who approved. */
async function endApproval(
  { approvals, chainRows }: Pick<CloseRemnantsTools, 'approvals' | 'chainRows'>,
  chain: PaymentChain,
  row: RowOfChain,
): Promise<boolean> {
  const { cause, occurredAtMs: atMs = 0 } = effectOf(chain, row) ?? {};
  if (cause?.by !== 'operator') return false;
  const { operator: name, identity } = cause;
  const by = { name, person: KEY_ID.test(identity) ? name : identity, identity };
  const approval = await approvals.readApproval(row.operationId ?? '');
  // After the limit for approvals was raised, the requester may have repeated the request. The effect then comes from
  // the requester alone, and no second person has approved it.
  if (approval === undefined || isSamePerson(by, approval.askedBy)) return false;
  return chainRows.endApproval(row, { verdict: 'approved', by, atMs });
}

function lostOperation({ kind, operationId, chainId, writtenAtMs = 0 }: RowOfChain): LostOperation | undefined {
  if (operationId === undefined || (kind !== 'claim' && kind !== 'answer' && kind !== 'effect' && kind !== 'verdict'))
    return undefined;
  return { operationId, chainId, kind, writtenAtMs };
}

/** Queues an inquiry that reads the processor's books, because a lost operation may have taken effect there. */
async function queueBooksInquiry({ implied, clock }: CloseRemnantsTools, paymentId: PaymentId): Promise<void> {
  await implied.putMissing({ kind: 'inquiry', row: booksInquiry(paymentId, clock.nowMs()) }, async () => false);
}
