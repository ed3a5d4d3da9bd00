import { expect } from '@jest/globals';
import { type Mode, tenantId } from '../../lambdas/kernel/ids.ts';
import { isOutcome, paymentObject } from '../../lambdas/payments/domain/payment.ts';
import { detailsOf, type Transition } from '../../lambdas/payments/domain/transition.ts';
import type { BooksOwner } from '../../lambdas/views/use/ledger-reader.ts';
import { ViewLedgerReader } from '../../lambdas/views/use/view-ledger-reader.ts';
import { MemoryLedgerReader } from './memory-ledger-reader.ts';
import type { MemoryViews } from './memory-views.ts';

export const OWNERS: readonly BooksOwner[] = (['ten_a', 'ten_b'] as const).flatMap((tenant) =>
  (['test', 'live'] as const satisfies readonly Mode[]).map((mode) => ({ tenantId: tenantId(tenant), mode })),
);

const lists = (views: MemoryViews, prefix: string) =>
  views
    .all()
    .filter(({ partition }) => partition.startsWith(prefix))
    .map(({ partition, body }) => `${partition.split('#').slice(0, 4).join('#')} ${body}`)
    .sort();

/** The heads that a plain walk through the Ledger tells of, without any row's key. */
function headsOf(chains: readonly (readonly Transition[])[]): readonly string[] {
  return chains
    .flatMap((chain) => {
      const [first] = chain;
      const newest = chain.findLast(({ type }) => isOutcome(type));
      if (first === undefined || newest === undefined) return [];
      const { payment } = newest;
      const body = JSON.stringify(paymentObject(payment, detailsOf(first)));
      const kinds = payment.reference === undefined ? ['PAYMENT'] : ['PAYMENT', 'REFERENCE'];
      return kinds.flatMap((kind) =>
        ['all', payment.status].map((list) => `${kind}#${payment.tenantId}#${payment.mode}#${list} ${body}`),
      );
    })
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

async function toldSums(views: MemoryViews, owner: BooksOwner) {
  const balances = await new ViewLedgerReader(views).balances(owner);
  const told = balances.flatMap(({ account, currency, debitMinor, creditMinor }) => [
    [`${account} ${currency} debit`, debitMinor] as const,
    [`${account} ${currency} credit`, creditMinor] as const,
  ]);
  return Object.fromEntries(told.filter(([, amount]) => amount > 0));
}

/** The Views against plain walks through the Ledger, which know nothing of rows and keys. */
export async function checkViews(views: MemoryViews, chains: readonly (readonly Transition[])[]): Promise<void> {
  expect([...lists(views, 'PAYMENT#'), ...lists(views, 'REFERENCE#')]).toEqual(headsOf(chains));
  const ledger = new MemoryLedgerReader(() => chains.flat());
  const reader = new ViewLedgerReader(views);
  for (const owner of OWNERS) {
    expect(await toldSums(views, owner)).toEqual(sumsOf(chains, owner));
    expect(await reader.entries({ ...owner, limit: 100 })).toEqual(await ledger.entries({ ...owner, limit: 100 }));
    expect(await reader.entries({ ...owner, account: 'refunds', limit: 100 })).toEqual(
      await ledger.entries({ ...owner, account: 'refunds', limit: 100 }),
    );
  }
}
