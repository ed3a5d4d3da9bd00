import { eventOf } from '../../events/domain/event.ts';
import type { Digest } from '../../kernel/digest.ts';
import type { PaymentId } from '../../kernel/ids.ts';
import { rounds } from '../../once/use/rounds.ts';
import { PENDING_TYPES } from '../../payments/domain/payment.ts';
import { readChain } from '../../payments/use/payment-chain.ts';
import type { PaymentStore } from '../../payments/use/payment-store.ts';
import { type EventViews, type ViewKey, type ViewOwner, type ViewRow, viewsOf } from '../domain/views.ts';
import { headChanges } from './project-event.ts';
import type { ViewStore } from './view-store.ts';

export interface LedgerTools {
  readonly store: Pick<PaymentStore, 'listTransitions'>;
  readonly digest: Digest;
}

/** Whatever the Ledger says of one payment, as the Views are to say it. */
export interface PaymentViews {
  readonly owner: ViewOwner;
  /** Newest first, so that the head is written once. */
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
      .filter(({ type }) => !PENDING_TYPES.has(type))
      .map((transition) => viewsOf(eventOf(digest, transition, first)))
      .toReversed(),
  };
}

/** @returns the rows that are not there, or are others than the Ledger says, once all events have come in */
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
 * Whether the Ledger has ever implied this row, which lags behind it. A copy of a head must also be of the head as it is
 * now: the two change together.
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
 * Writes a payment's head and its copies again, also where the head is right and a copy is lost. One that is newer than what
 * was read is left alone: the projector was faster. One that the Ledger never implied, as another version of the code has
 * written it, is replaced in one step, so that no list is ever without the payment; its own copies are strays, which the
 * sweep finds.
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
