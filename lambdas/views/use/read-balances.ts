import { ACCOUNTS, type Account, type Posting } from '../../payments/domain/posting.ts';
import type { Owner } from '../../tenants/owners.ts';
import type { Balance, BalanceQuery, LedgerReader } from './ledger-reader.ts';

export interface DirectedBalance extends Balance {
  readonly normal: Posting['direction'];
  /** Positive when the balance is on the account's normal side. */
  readonly balanceMinor: number;
}

/** The side that increases an account: debits for assets and contra accounts, credits for liabilities. */
const NORMAL: Readonly<Record<Account, Posting['direction']>> = {
  processor_clearing: 'debit',
  merchant_payable: 'credit',
  refunds: 'debit',
  fees: 'debit',
  disputes: 'debit',
  late_receipts: 'credit',
  corrections: 'debit',
};

/**
 * Returns the balances of all accounts with entries, by currency, then in the order of the chart of accounts.
 * @throws as {@link LedgerReader.balances}
 */
export async function readBalances(
  ledger: LedgerReader,
  { tenantId, mode }: Owner,
  period: Pick<BalanceQuery, 'untilMs'> = {},
): Promise<readonly DirectedBalance[]> {
  const balances = await ledger.balances({ tenantId, mode, ...period });
  return balances.map(signedBalance).sort(byCurrencyThenChart);
}

export function signedBalance(balance: Balance): DirectedBalance {
  const { account, debitMinor, creditMinor } = balance;
  const normal = NORMAL[account];
  // The difference of two non-negative safe integers is a safe integer.
  const balanceMinor = normal === 'debit' ? debitMinor - creditMinor : creditMinor - debitMinor;
  return { ...balance, normal, balanceMinor };
}

function byCurrencyThenChart(left: Balance, right: Balance): number {
  if (left.currency !== right.currency) return left.currency < right.currency ? -1 : 1;
  return ACCOUNTS.indexOf(left.account) - ACCOUNTS.indexOf(right.account);
}
