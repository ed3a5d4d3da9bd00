/**
 * Oracle: an affiliate gets a tenth of the money that the merchant keeps. The commission does not change after its
 * release, and does not stay locked after its lock period.
 */
import { KeyAttribute } from '../../../../lambdas/kernel/contract/tables.ts';
import { detailsKey } from '../../../../lambdas/once/store/details-rows.ts';
import type { OrderTransition } from '../../../../lambdas/orders/domain/order-transition.ts';
import type { Transition } from '../../../../lambdas/payments/domain/transition.ts';
import type { Item } from '../../dynamodb-values.ts';
import type { ClientCall, Violation } from '../contract.ts';
import { chargesOf, leftOf } from './money.ts';
import { isDecidedOtherwise } from './processors.ts';
import type { Seen, Written } from './seen.ts';

const ORACLE = 'commissions follow the money';
const DAY_MS = 24 * 60 * 60_000;
/** Maximum time between reading the chain and writing the release, in milliseconds. */
const LOOK_MS = 20_000;

type Chain = readonly Written<Transition>[];

/** Called once the system is quiet. */
export function checkCommissions(seen: Seen): readonly Violation[] {
  const found = [...seen.commissions.values()].flatMap((versions) => {
    const payment = versions[0]?.row['payment'] as string;
    const chain = seen.payments.get(payment) ?? [];
    const ofOrder = seen.orders.get(versions[0]?.row['sk'] as string) ?? [];
    const isOtherwise = isDecidedOtherwise(seen.world, chain);
    const isErased = !hasDetails(seen.world, payment);
    return wrongIn(versions, { chain, ofOrder, isOtherwise, isErased }, seen.world.nowMs).map((what) => ({
      oracle: ORACLE,
      what,
      about: payment,
    }));
  });
  return [...found, ...seen.world.calls.flatMap((call) => missing(call, seen))];
}

interface Chains {
  readonly chain: Chain;
  /** Empty when the payment belongs to no Payonce order. */
  readonly ofOrder: readonly Written<OrderTransition>[];
  /** Whether an alarm reported that the processor's books differ from an operator's decision. */
  readonly isOtherwise: boolean;
  /** Whether the payment's details were erased, which means that later events of the payment name no affiliate. */
  readonly isErased: boolean;
}

function hasDetails({ database, tables }: Seen['world'], payment: string): boolean {
  const key = detailsKey(payment);
  const rows = database.items(tables.registry, key[KeyAttribute.partition] as string);
  return rows.some((row) => row[KeyAttribute.sort] === key[KeyAttribute.sort]);
}

function wrongIn(
  versions: readonly Written<Item>[],
  { chain, ofOrder, isOtherwise, isErased }: Chains,
  nowMs: number,
): readonly string[] {
  const decided = versions.findIndex(({ row }) => row['status'] === 'released');
  const newest = versions.at(-1);
  if (newest === undefined) return [];
  if (decided !== -1) {
    if (decided < versions.length - 1) return ['the commission was changed after its release'];
    const open = ofOrder.findLast(({ atMs }) => atMs <= newest.atMs)?.row.order.status ?? 'completed';
    if (open !== 'completed') return [`the commission was released, but its order was ${open}`];
    const then = during(chain, newest.atMs);
    if (then.every(({ isOpen }) => isOpen))
      return ['the commission was released during a pending refund or an open dispute'];
    const dues = then.map(({ dueMinor }) => dueMinor);
    const amountMinor = Number(newest.row['amountMinor']);
    return dues.includes(amountMinor) ? [] : [`${amountMinor} was released, but ${dues.join(' or ')} was due`];
  }
  const { dueMinor, isOpen } = stateOf(chain);
  if (isOpen) return [];
  const status = newest.row['status'] as string;
  const order = ofOrder.at(-1)?.row.order;
  const isCanceled = order?.status === 'canceled';
  // If the details were erased, only the release job decides the commission, from the Ledger, after an operator has
  // decided about the order.
  if (order?.status === 'needs_review' && isErased) return [];
  if (status !== 'locked' && dueMinor > 0 && !isCanceled)
    return [`the commission is ${status}, but ${dueMinor} is due`];
  // The commission waits while its order needs an operator's decision.
  if (order?.status === 'needs_review' || (order?.status === 'processing' && isOtherwise)) return [];
  const isOver = status !== 'canceled' && nowMs > Number(newest.row['releasesAtMs']) + 2 * DAY_MS;
  return isOver ? [`the commission is still ${status} after its lock period`] : [];
}

/**
 * Returns the due amount, and whether a refund or dispute is open, for each state of the chain that the job
 * `release-commissions` may have read before its write.
 */
function during(chain: Chain, atMs: number): readonly ReturnType<typeof stateOf>[] {
  const times = chain.flatMap((each) => (each.atMs < atMs && each.atMs > atMs - LOOK_MS ? [each.atMs] : []));
  return [atMs - LOOK_MS, ...times].map((untilMs) => stateOf(chain.filter((each) => each.atMs <= untilMs)));
}

/** A tenth of the amount that the merchant keeps is due, or nothing after a lost dispute. */
function stateOf(chain: Chain): { readonly dueMinor: number; readonly isOpen: boolean } {
  const charge = chargesOf(chain).get(chain.at(-1)?.row.payment.chargeId ?? '');
  if (charge === undefined) return { dueMinor: 0, isOpen: false };
  const { capturedMinor, disputes } = charge;
  const { refundedMinor, pendingMinor } = leftOf(charge);
  const statuses = [...disputes.values()].map(({ status }) => status);
  const keptMinor = statuses.includes('lost') ? 0 : capturedMinor - refundedMinor;
  return {
    dueMinor: Math.floor(Math.max(0, keptMinor) / 10),
    isOpen: pendingMinor > 0 || statuses.includes('open'),
  };
}

/** Payments with the same reference share a commission. */
function missing(
  { tenant, path, body, answer }: ClientCall,
  { world, payments, orders, commissions }: Seen,
): readonly Violation[] {
  const { affiliate } = (body ?? {}) as { affiliate?: string };
  const { metadata, reference } = (body ?? {}) as { metadata?: { affiliate?: string }; reference?: string };
  const { id } = JSON.parse(answer?.body.startsWith('{') === true ? answer.body : '{}') as { id?: string };
  const { tenantId = '', mode = '' } = world.tenants[tenant] ?? {};
  const owner = `COMMISSION#${tenantId}#${mode}#`;
  if (
    path === '/v1/orders' &&
    affiliate !== undefined &&
    orders.has(id ?? '') &&
    !commissions.has(`${owner}${affiliate} ${id}`)
  )
    return [{ oracle: ORACLE, what: 'the request named an affiliate, but there is no commission', about: String(id) }];
  const chain = payments.get(id ?? '');
  const newest = chain?.at(-1)?.row.payment;
  if (metadata?.affiliate === undefined || path !== '/v1/payments' || newest?.status !== 'succeeded') return [];
  const name = `${owner}${metadata.affiliate} ${reference ?? id}`;
  if (commissions.has(name) || newest.amountCapturedMinor < 10) return [];
  return [{ oracle: ORACLE, what: 'the request named an affiliate, but there is no commission', about: newest.id }];
}
