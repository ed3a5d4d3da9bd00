import { ACCOUNTS, type Account, type Posting } from '../../payments/domain/posting.ts';
import type { Caller } from '../../tenants/authenticate.ts';
import type { Balance, LedgerReader } from './ledger-reader.ts';

/** A balance that is told in its account's own direction. */
export interface ToldBalance extends Balance {
  readonly normal: Posting['direction'];
  /** Minor units; above zero when the account stands as one expects of it. */
  readonly balanceMinor: number;
}

/** On which side an account grows: what others hold for us and what lessens a claim by debits, what we owe by credits. */
const NORMAL: Readonly<Record<Account, Posting['direction']>> = {
  processor_clearing: 'debit',
  merchant_payable: 'credit',
  refunds: 'debit',
  fees: 'debit',
  disputes: 'debit',
  late_receipts: 'credit',
  corrections: 'debit',
};

/** All accounts of the caller that have entries, by currency, then in the order of the chart. @throws as {@link LedgerReader.balances} */
export async function readBalances(ledger: LedgerReader, { tenantId, mode }: Caller): Promise<readonly ToldBalance[]> {
  const balances = await ledger.balances({ tenantId, mode });
  return balances.map(told).sort(byCurrencyThenChart);
}

function told(balance: Balance): ToldBalance {
  const { account, debitMinor, creditMinor } = balance;
  const normal = NORMAL[account];
  // Two integers that are safe and not negative differ by a safe one.
  const balanceMinor = normal === 'debit' ? debitMinor - creditMinor : creditMinor - debitMinor;
  return { ...balance, normal, balanceMinor };
}

function byCurrencyThenChart(left: Balance, right: Balance): number {
  if (left.currency !== right.currency) return left.currency < right.currency ? -1 : 1;
  return ACCOUNTS.indexOf(left.account) - ACCOUNTS.indexOf(right.account);
}
