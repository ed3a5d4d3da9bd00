import { found, type Handled } from '../../http/authenticated-api.ts';
import { type Posting, postingObject } from '../../payments/domain/posting.ts';
import type { Balance } from '../../views/use/ledger-reader.ts';
import { signedBalance } from '../../views/use/read-balances.ts';
import type { Preview } from '../use/keyed-effect.ts';

/** The balances cover this payment only. */
export function previewResponse({ draft, before, waits }: Preview): Handled {
  const earlier = before.transitions.flatMap(({ postings }) => postings);
  const after = balancesOf([...earlier, ...draft.postings]);
  const was = balancesOf(earlier);
  return found({
    object: 'dry_run',
    payment: draft.payment.id,
    type: draft.type,
    payment_status: draft.payment.status,
    needs_approval: waits,
    postings: draft.postings.map(postingObject),
    balances: [...after].map(([name, balance]) => {
      const { account, currency, normal, balanceMinor } = signedBalance(balance);
      const earlierBalance = was.get(name);
      return {
        account,
        currency,
        normal_balance: normal,
        before: earlierBalance === undefined ? 0 : signedBalance(earlierBalance).balanceMinor,
        after: balanceMinor,
      };
    }),
  });
}

function balancesOf(postings: readonly Posting[]): ReadonlyMap<string, Balance> {
  const balances = new Map<string, Balance>();
  for (const { account, currency, direction, amountMinor } of postings) {
    const name = `${account} ${currency}`;
    const { debitMinor, creditMinor } = balances.get(name) ?? { debitMinor: 0, creditMinor: 0 };
    balances.set(name, {
      account,
      currency,
      debitMinor: debitMinor + (direction === 'debit' ? amountMinor : 0),
      creditMinor: creditMinor + (direction === 'credit' ? amountMinor : 0),
    });
  }
  return balances;
}
