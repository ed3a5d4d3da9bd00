import { found, type Handled, refusal } from '../../http/http-api.ts';
import { validateQuery } from '../../http/validate.ts';
import { Scopes } from '../../kernel/contract/api.ts';
import { emptyQuery } from '../../payments/http/payment-schemas.ts';
import { readBalances, type ToldBalance } from '../../views/use/read-balances.ts';
import { type Call, type Route, readable } from './route.ts';

export const getBalances: Route = {
  method: 'GET',
  path: '/v1/balances',
  scope: Scopes.paymentsRead,
  handle: (call) => readable(call, () => show(call)),
};

async function show({ tools, caller, request }: Call): Promise<Handled> {
  const query = validateQuery(emptyQuery, request.query);
  if (query.kind === 'refused') return refusal(query.problem, request);
  const balances = await readBalances(tools.ledger, caller);
  return found({ object: 'list', data: balances.map(balanceObject), has_more: false });
}

/** Amounts in minor units. */
function balanceObject({ account, currency, debitMinor, creditMinor, normal, balanceMinor }: ToldBalance) {
  return {
    object: 'balance',
    account,
    currency,
    debit: debitMinor,
    credit: creditMinor,
    normal_balance: normal,
    balance: balanceMinor,
  };
}
