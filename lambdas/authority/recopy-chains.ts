import { republishSince } from '../events/use/republish-lost-events.ts';
import { moveCarriedUntil } from '../jobs/use/carried-until.ts';
import type { JobMarks } from '../jobs/use/job-marks.ts';
import { sameBytes } from '../kernel/digest.ts';
import { isFault } from '../kernel/faults.ts';
import type { Link } from '../kernel/hash-chain.ts';
import type { PaymentId } from '../kernel/ids.ts';
import { DynamoDbOrders } from '../orders/store/dynamodb-orders.ts';
import { LONGEST_ORDER_CHAIN } from '../orders/use/order-chain.ts';
import { type ChainId, isOrderId } from '../payments/ids.ts';
import { DynamoDbStore } from '../payments/store/dynamodb-store.ts';
import { listChainIds } from '../payments/store/postgres-chains.ts';
import { type PaymentChain, readChain } from '../payments/use/payment-chain.ts';
import { Outbox } from '../postgres/outbox.ts';
import type { PostgresStores, PostgresStoresTools } from './postgres-stores.ts';

export interface RecopyTools extends Pick<PostgresStoresTools, 'client' | 'tables' | 'pacing'> {
  readonly postgres: Pick<PostgresStores, 'tools' | 'carrier' | 'store' | 'orders'>;
  /** Writes the commission that follows from a payment, if it is missing. @returns whether it was missing */
  readonly commission: (chain: PaymentChain) => Promise<boolean>;
  /**
   * Called when the transitions of a stopped chain are in the Ledger, before the chain is resumed.
   *
   * @param sinceMs the time of the oldest of these transitions, in Unix milliseconds
   */
  readonly resumed: (id: ChainId, sinceMs: number) => Promise<void>;
}

export interface Recopied {
  readonly read: number;
  /** `details` counts only details rows whose transition the Ledger had. */
  readonly missing: { readonly transition: number; readonly details: number; readonly commission: number };
  /**
   * Payments and orders whose chain in the Ledger has a transition that PostgreSQL lacks, or has with different
   * content. They are not copied.
   */
  readonly differing: readonly string[];
  /** Payments and orders that this code cannot read. They may be copied in part. */
  readonly unreadable: readonly string[];
}

const CHAINS_PER_PAGE = 500;
const ROWS_PER_PAGE = 250;
const WHOLE_ORDER = { afterSequence: 0, limit: LONGEST_ORDER_CHAIN } as const;

/**
 * Copies all missing rows from PostgreSQL to the DynamoDB tables, after a restore of only these tables. Also deletes
 * the restored copies of erased personal data. Safe to repeat, also while the functions run.
 *
 * @param atOnce number of payments and orders that are compared concurrently
 * @param progress called after each page
 */
export async function recopyChains(
  tools: RecopyTools,
  atOnce: number,
  progress: (read: number) => void,
): Promise<Recopied> {
  const missing = { transition: 0, details: 0, commission: 0 };
  const found = { read: 0, missing, differing: [] as string[], unreadable: [] as string[] };
  const each = async (id: ChainId): Promise<void> => {
    try {
      const result = await recopy(tools, id);
      if (result === 'differs') found.differing.push(id);
      else {
        missing.transition += result.transitions;
        missing.details += result.details;
        if (result.isCommissionMissing) missing.commission += 1;
      }
    } catch (error) {
      if (isFault(error)) throw error;
      found.unreadable.push(id);
    }
    found.read += 1;
  };
  for (let after = ''; ; ) {
    const ids = await listChainIds(tools.postgres.tools, { after, limit: CHAINS_PER_PAGE });
    for (let from = 0; from < ids.length; from += atOnce) await Promise.all(ids.slice(from, from + atOnce).map(each));
    progress(found.read);
    after = ids.at(-1) ?? after;
    if (ids.length < CHAINS_PER_PAGE) break;
  }
  return found;
}

interface RecopiedChain {
  readonly transitions: number;
  readonly details: number;
  readonly isCommissionMissing: boolean;
}

/**
 * Moves back the stored positions of the jobs that read the Ledger to the oldest transition of a resumed chain, because
 * these jobs have not waited for the stopped chain. The auditor then waits until the archiver has processed the
 * transitions. The job that publishes lost events begins with these transitions.
 *
 * @param sinceMs time of the oldest transition, in Unix milliseconds
 * @returns false if the transitions are too old for the job that publishes lost events
 */
export async function readCopiesSince(marks: JobMarks, sinceMs: number, nowMs: number): Promise<boolean> {
  // Repeat until the mark is moved, because the job `carry` can move the same mark concurrently.
  for (let isMoved = false; !isMoved; ) isMoved = await moveCarriedUntil(marks, [sinceMs], nowMs);
  return republishSince(marks, sinceMs, nowMs);
}

/**
 * Compares one chain with its copy, and copies the missing rows. The copy is read first. A transition that is committed
 * between the two reads is then only missing in the copy, which does not count as a difference.
 */
async function recopy(
  { client, tables, pacing, postgres, commission, resumed }: RecopyTools,
  id: ChainId,
): Promise<'differs' | RecopiedChain> {
  const payments = new DynamoDbStore(client, tables, pacing);
  const isOrder = isOrderId(id);
  const copy = isOrder
    ? await new DynamoDbOrders(client, tables, pacing, payments).listOrderTransitions(id, WHOLE_ORDER)
    : await listCopies(payments, id);
  const chain = isOrder ? undefined : await readChain(postgres.store, id);
  const own = isOrder ? await postgres.orders().listOrderTransitions(id, WHOLE_ORDER) : (chain?.transitions ?? []);
  const bySequence = new Map<number, Link>(own.map((link) => [link.sequence, link]));
  if (copy.some((link) => !isSame(link, bySequence.get(link.sequence)))) return 'differs';
  for (const { sequence } of copy) bySequence.delete(sequence);
  const missing = [...bySequence.keys()];
  await new Outbox(postgres.tools).announceAgain(id, missing);
  if ((await postgres.carrier.carryAgain(id, (sinceMs) => resumed(id, sinceMs))) === 'stopped') return 'differs';
  const details = await postgres.carrier.restoreCopies(id);
  const isCommissionMissing = chain !== undefined && (await commission(chain));
  return { transitions: missing.length, details, isCommissionMissing };
}

/** A restored copy can lack any transition. */
async function listCopies(payments: DynamoDbStore, id: PaymentId): Promise<readonly Link[]> {
  const found: Link[] = [];
  for (;;) {
    const afterSequence = found.at(-1)?.sequence ?? 0;
    const page = await payments.listTransitions(id, { afterSequence, limit: ROWS_PER_PAGE });
    found.push(...page);
    if (page.length < ROWS_PER_PAGE) return found;
  }
}

function isSame({ hash }: Link, other: Link | undefined): boolean {
  return other !== undefined && sameBytes(hash, other.hash);
}
