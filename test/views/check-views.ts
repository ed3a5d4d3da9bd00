import { expect } from '@jest/globals';
import { type Mode, tenantId } from '../../lambdas/kernel/ids.ts';
import { isOutcome } from '../../lambdas/payments/domain/payment.ts';
import type { Transition } from '../../lambdas/payments/domain/transition.ts';
import { idOf } from '../../lambdas/views/domain/lists.ts';
import { isPublicType } from '../../lambdas/views/domain/views.ts';
import type { BooksOwner } from '../../lambdas/views/use/ledger-reader.ts';
import { readVolumes } from '../../lambdas/views/use/read-volumes.ts';
import { ViewLedgerReader } from '../../lambdas/views/use/view-ledger-reader.ts';
import { MemoryLedgerReader } from './memory-ledger-reader.ts';
import type { MemoryViews } from './memory-views.ts';

export const OWNERS: readonly BooksOwner[] = (['ten_a', 'ten_b'] as const).flatMap((tenant) =>
  (['test', 'live'] as const satisfies readonly Mode[]).map((mode) => ({ tenantId: tenantId(tenant), mode })),
);

function listed(views: MemoryViews): readonly string[] {
  return views
    .all()
    .filter(({ partition }) => /^(PAYMENT|REFERENCE)#/.test(partition))
    .flatMap(({ partition, list, sort }) =>
      [partition, ...(list === undefined ? [] : [list])].map(
        (name) => `${name.startsWith('PAYMENT') ? name.replace(/#\d$/, '') : name} ${idOf(sort)}`,
      ),
    )
    .sort();
}

/** Computed by a plain scan of the Ledger. */
function expected(chains: readonly (readonly Transition[])[]): readonly string[] {
  return chains
    .flatMap((chain) => {
      const newest = chain.findLast(({ type }) => isOutcome(type));
      if (newest === undefined) return [];
      const { id, tenantId: tenant, mode, status, reference } = newest.payment;
      const names = ['PAYMENT#', `PAYMENT#${status}`, ...(reference === undefined ? [] : [`REFERENCE#${reference}`])];
      return names.map((name) => {
        const [kind, filter] = name.split('#');
        return `${[kind, tenant, mode, ...(filter === '' ? [] : [filter])].join('#')} ${id}`;
      });
    })
    .sort();
}

function reviewed(views: MemoryViews): readonly string[] {
  return views
    .all()
    .filter(({ partition }) => partition === 'REVIEWS')
    .map(({ sort }) => idOf(sort))
    .sort();
}

function expectedReviews(chains: readonly (readonly Transition[])[]): readonly string[] {
  return chains
    .flatMap((chain) => chain.findLast(({ type }) => isOutcome(type)) ?? [])
    .flatMap(({ payment: { id, status } }) => (status === 'needs_review' ? [id] : []))
    .sort();
}

function sumsOf(chains: readonly (readonly Transition[])[], { tenantId: tenant, mode }: BooksOwner) {
  const sums: Record<string, number> = {};
  for (const { payment, postings } of chains.flat()) {
    if (payment.tenantId !== tenant || payment.mode !== mode) continue;
    for (const { account, currency, direction, amountMinor } of postings) {
      const name = `${account} ${currency} ${direction}`;
      sums[name] = (sums[name] ?? 0) + amountMinor;
    }
  }
  return sums;
}

async function shownSums(views: MemoryViews, owner: BooksOwner) {
  const balances = await new ViewLedgerReader(views).balances(owner);
  const shown = balances.flatMap(({ account, currency, debitMinor, creditMinor }) => [
    [`${account} ${currency} debit`, debitMinor] as const,
    [`${account} ${currency} credit`, creditMinor] as const,
  ]);
  return Object.fromEntries(shown.filter(([, amount]) => amount > 0));
}

const DAY_MS = 24 * 60 * 60 * 1000;

/** Reads the event's transition rather than the event. */
function amountOf({ type, payment, subject }: Transition): { readonly amountMinor: number; readonly currency: string } {
  if (subject?.kind === 'refund' || subject?.kind === 'dispute') {
    return { amountMinor: subject.amountMinor, currency: subject.currency ?? payment.currency };
  }
  const amountMinor = type === 'payment.completed' ? payment.amountCapturedMinor : payment.amountMinor;
  return { amountMinor, currency: payment.currency };
}

function expectedVolumes(chains: readonly (readonly Transition[])[], { tenantId: tenant, mode }: BooksOwner) {
  const volumes: Record<string, { count: number; amount: number }> = {};
  for (const transition of chains.flat()) {
    const { payment, type, occurredAtMs } = transition;
    if (payment.tenantId !== tenant || payment.mode !== mode || !isOutcome(type) || !isPublicType(type)) continue;
    const { amountMinor, currency } = amountOf(transition);
    const name = `${new Date(occurredAtMs).toISOString().slice(0, 10)} ${currency} ${type}`;
    const volume = (volumes[name] ??= { count: 0, amount: 0 });
    volume.count += 1;
    volume.amount += amountMinor;
  }
  return volumes;
}

/** @param chains transitions that determine the range of days */
async function shownVolumes(
  views: MemoryViews,
  owner: BooksOwner,
  chains: readonly (readonly Transition[])[],
): Promise<ReturnType<typeof expectedVolumes>> {
  const days = chains.flat().map(({ occurredAtMs }) => occurredAtMs - (occurredAtMs % DAY_MS));
  const period = { fromMs: Math.min(...days), untilMs: Math.max(...days) + DAY_MS };
  const volumes = await readVolumes(views, owner, period);
  return Object.fromEntries(
    volumes.map(({ dayMs, currency, type, count, amountMinor }) => [
      `${new Date(dayMs).toISOString().slice(0, 10)} ${currency} ${type}`,
      { count, amount: amountMinor },
    ]),
  );
}

/** The plain scans of the Ledger use no rows or keys of the Views. */
export async function checkViews(views: MemoryViews, chains: readonly (readonly Transition[])[]): Promise<void> {
  expect(listed(views)).toEqual(expected(chains));
  expect(reviewed(views)).toEqual(expectedReviews(chains));
  const ledger = new MemoryLedgerReader(() => chains.flat());
  const reader = new ViewLedgerReader(views);
  for (const owner of OWNERS) {
    expect(await shownSums(views, owner)).toEqual(sumsOf(chains, owner));
    expect(await shownVolumes(views, owner, chains)).toEqual(expectedVolumes(chains, owner));
    expect(await reader.entries({ ...owner, limit: 100 })).toEqual(await ledger.entries({ ...owner, limit: 100 }));
    for (const account of ['refunds', 'processor_clearing'] as const) {
      const query = { ...owner, account, limit: 3 };
      expect(await reader.entries(query)).toEqual(await ledger.entries(query));
    }
  }
}
