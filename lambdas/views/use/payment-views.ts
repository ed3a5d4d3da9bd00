import { eventOf } from '../../events/domain/event.ts';
import type { Digest } from '../../kernel/digest.ts';
import type { PaymentId } from '../../kernel/ids.ts';
import { rounds } from '../../once/use/rounds.ts';
import { isOutcome } from '../../payments/domain/payment.ts';
import { readChain } from '../../payments/use/payment-chain.ts';
import type { PaymentStore } from '../../payments/use/payment-store.ts';
import { type EventViews, type ViewKey, type ViewOwner, type ViewRow, viewsOf } from '../domain/views.ts';
import { headChanges } from './project-event.ts';
import type { ViewStore } from './view-store.ts';

export interface LedgerTools {
  readonly store: Pick<PaymentStore, 'listTransitions'>;
  readonly digest: Digest;
}

/** All rows that the Ledger implies for one payment. */
export interface PaymentViews {
  readonly owner: ViewOwner;
  /** Newest first, so that a rebuild writes the head once. */
  readonly events: readonly EventViews[];
}

/** Reads the Ledger consistently. @returns undefined when there is no such payment */
export async function readPaymentViews(
  { store, digest }: LedgerTools,
  paymentId: PaymentId,
): Promise<PaymentViews | undefined> {
  const chain = await readChain(store, paymentId);
  if (chain?.first.first === undefined) return undefined;
  const { first } = chain.first;
  const { tenantId, mode } = chain.first.payment;
  return {
    owner: { tenantId, mode },
    events: chain.transitions
      .filter(({ type }) => isOutcome(type))
      .map((transition) => viewsOf(eventOf(digest, transition, first)))
      .toReversed(),
  };
}

/** @returns the keys of implied rows that are missing or differ, assuming that all events were projected */
export async function wrongRows(views: Pick<ViewStore, 'read'>, { events }: PaymentViews): Promise<readonly ViewKey[]> {
  const [newest] = events;
  const implied = [...events.flatMap(({ lasting, seen }) => [...lasting, seen]), ...(newest?.heads ?? [])];
  const wrong: ViewKey[] = [];
  for (const row of implied) {
    const found = await views.read(row);
    if (found === undefined || !sameRow(found, row)) wrong.push({ partition: row.partition, sort: row.sort });
  }
  return wrong;
}

/**
 * Whether the Ledger implies this row now or did so earlier, because the Views lag behind. A copy of a head must also have the
 * sequence of the stored head, because both change in one transaction.
 */
export async function isImplied(
  views: Pick<ViewStore, 'read'>,
  { events }: PaymentViews,
  row: ViewRow,
): Promise<boolean> {
  for (const { lasting, heads, seen } of events) {
    if ([...lasting, seen].some((each) => sameRow(each, row))) return true;
    const [head, ...copies] = heads;
    if (head === undefined) continue;
    if (sameRow(head, row)) return true;
    if (copies.some((copy) => sameRow(copy, row))) return (await views.read(head))?.sequence === row.sequence;
  }
  return false;
}

/**
 * Writes a payment's head and its copies again, also when the head is right and a copy is missing. A newer head is kept: the
 * projector was faster. A head that the Ledger never implied, for example from an earlier version of the code, is replaced in
 * one transaction, so that no list is without the payment. Its old copies are strays, which the sweep removes.
 */
export async function restoreHead(views: ViewStore, { owner, events }: PaymentViews): Promise<void> {
  const heads = events[0]?.heads ?? [];
  const [head] = heads;
  if (head === undefined) return;
  await rounds('the head of a payment', async () => {
    const found = await views.read(head);
    if (found !== undefined && found.sequence > head.sequence) return 'newer';
    const known = found !== undefined && events.some((event) => event.heads.some((each) => sameRow(each, found)));
    const [change, ...copies] = headChanges(owner, known ? found : undefined, heads);
    if (change === undefined) return 'right';
    return (await views.exchange([{ ...change, from: found ?? null }, ...copies])) ? 'restored' : 'again';
  });
}

function sameRow(left: ViewRow, right: ViewRow): boolean {
  return (
    left.partition === right.partition &&
    left.sort === right.sort &&
    left.sequence === right.sequence &&
    left.body === right.body
  );
}
