import {
  type Call as CallWith,
  found,
  type Handled,
  type Route as RouteWith,
  refusal,
} from '../../http/authenticated-api.ts';
import { DEFAULT_PAGE } from '../../http/lists.ts';
import { problem } from '../../http/problems.ts';
import { emptyQuery, validateQuery } from '../../http/validate.ts';
import { Scopes } from '../../kernel/contract/api.ts';
import type { Digest } from '../../kernel/digest.ts';
import type { KeyedEffectTools } from '../../payments/use/keyed-effect.ts';
import type { BooksOwner, LedgerEntry, LedgerReader } from '../../views/use/ledger-reader.ts';
import { listEntries } from '../../views/use/list-entries.ts';
import { readBalances, type ToldBalance } from '../../views/use/read-balances.ts';
import { entryId, parseEntryId } from './entry-id.ts';
import { getMismatches, type MismatchTools, readable } from './get-mismatches.ts';
import { entriesQuery } from './ledger-schemas.ts';
import { postCorrection } from './post-correction.ts';
import { postDecision } from './post-decision.ts';

export type LedgerTools = MismatchTools &
  KeyedEffectTools & {
    /** For lists and sums: from the Views, seconds behind. */
    readonly ledger: LedgerReader;
  };

type Call = CallWith<LedgerTools>;
type Route = RouteWith<LedgerTools>;

const getEntries: Route = {
  method: 'GET',
  path: '/v1/ledger/entries',
  scope: Scopes.paymentsRead,
  handle: (call) => readable(call, () => list(call)),
};

async function list(call: Call): Promise<Handled> {
  const { tools, caller, request } = call;
  const query = validateQuery(entriesQuery, request.query);
  if (query.kind === 'refused') return refusal(query.problem, request);
  const { payment, account, day, limit = DEFAULT_PAGE, starting_after: cursor } = query.value;
  const after = cursor === undefined ? undefined : parseEntryId(tools.digest, caller, cursor);
  if (cursor !== undefined && after === undefined) {
    const detail = 'starting_after must be the id of an entry that a page of this list has shown.';
    return refusal(problem('invalid_request', detail, 'starting_after'), request);
  }
  const outcome = await listEntries(tools, caller, {
    ...(payment === undefined ? {} : { payment }),
    ...(account === undefined ? {} : { account }),
    ...day,
    ...(after === undefined ? {} : { after }),
    limit,
  });
  if (outcome.kind === 'not_found') return noSuchPayment(call);
  const data = outcome.entries.map((entry) => entryObject(tools.digest, caller, entry));
  return found({ object: 'list', data, has_more: outcome.hasMore });
}

/** Amounts in minor units, the time in Unix seconds. */
function entryObject(digest: Digest, owner: BooksOwner, entry: LedgerEntry): Record<string, unknown> {
  const { paymentId, sequence, type, account, direction, amountMinor, currency, occurredAtMs } = entry;
  return {
    id: entryId(digest, owner, entry),
    object: 'ledger_entry',
    payment: paymentId,
    sequence,
    type,
    account,
    direction,
    amount: amountMinor,
    currency,
    created: Math.floor(occurredAtMs / 1000),
  };
}

const getBalances: Route = {
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

/** The same for a payment that does not exist and for one of another tenant or mode: the id is not repeated. */
function noSuchPayment({ request }: Call): Handled {
  return refusal(problem('not_found', 'There is no such payment.'), request);
}

/** The ledger API on any store and books. */
export const LEDGER_ROUTES: readonly Route[] = [getEntries, getBalances, postCorrection, getMismatches, postDecision];
