import { eventOf } from '../../events/domain/event.ts';
import type { Digest } from '../../kernel/digest.ts';
import type { PaymentId } from '../../kernel/ids.ts';
import { rounds } from '../../once/use/rounds.ts';
import { isOutcome } from '../../payments/domain/payment.ts';
import { readChain } from '../../payments/use/payment-chain.ts';
import type { PaymentStore } from '../../payments/use/payment-store.ts';
import type { ViewKey, ViewOwner } from '../domain/lists.ts';
import { type EventViews, type ViewRow, viewsOf } from '../domain/views.ts';
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
  const implied = [
    ...events.flatMap(({ lasting, seen }) => [...lasting, seen]),
    ...(newest === undefined ? [] : [...newest.ofReference, newest.head]),
  ];
  const wrong: ViewKey[] = [];
  for (const row of implied) {
    const found = await views.read(row);
    if (found === undefined || !sameRow(found, row)) wrong.push({ partition: row.partition, sort: row.sort });
  }
  return wrong;
}

/** Whether the Ledger implies this row now or did so earlier, because the Views lag behind. */
export function isImplied({ events }: PaymentViews, row: ViewRow): boolean {
  return events.some(({ lasting, ofReference, head, seen }) =>
    [...lasting, ...ofReference, head, seen].some((each) => sameRow(each, row)),
  );
}

/**
 * Writes a payment's head again, and the row of its reference. A newer head is kept: the projector was faster. A head that the
 * Ledger never implied is replaced in place, so that no list is without the payment.
 */
export async function restoreHead(views: ViewStore, { events }: PaymentViews): Promise<void> {
  const [newest] = events;
  if (newest === undefined) return;
  const { ofReference, head } = newest;
  await views.put(ofReference);
  await rounds('the head of a payment', async () => {
    const found = await views.read(head);
    if (found !== undefined && (found.sequence > head.sequence || sameRow(found, head))) return 'right';
    return (await views.exchange([{ key: head, from: found ?? null, to: head }])) ? 'restored' : 'again';
  });
}

function sameRow(left: ViewRow, right: ViewRow): boolean {
  return (
    left.partition === right.partition &&
    left.sort === right.sort &&
    left.list === right.list &&
    left.sequence === right.sequence &&
    left.body === right.body
  );
}
