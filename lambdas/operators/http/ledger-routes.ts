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
import { defined } from '../../kernel/defined.ts';
import type { Digest } from '../../kernel/digest.ts';
import { TerminalError } from '../../kernel/faults.ts';
import type { BooksOwner, LedgerEntry, LedgerReader } from '../../views/use/ledger-reader.ts';
import { entriesOf, listEntries } from '../../views/use/list-entries.ts';
import { type DirectedBalance, readBalances } from '../../views/use/read-balances.ts';
import type { KeyedEffectTools } from '../use/keyed-effect.ts';
import { entryId, parseEntryId } from './entry-id.ts';
import { balancesQuery, entriesQuery } from './ledger-schemas.ts';
import { OPERATOR_EFFECT_ROUTES } from './operator-effects.ts';

export interface LedgerTools extends Pick<KeyedEffectTools, 'effects' | 'digest'> {
  /** Entries and balances from the Views, which lag behind by seconds. */
  readonly ledger: LedgerReader;
}

type Call = CallWith<LedgerTools>;
type Route = RouteWith<LedgerTools>;

const getEntries: Route = {
  method: 'GET',
  path: '/v1/ledger/entries',
  scope: Scopes.ledgerRead,
  role: 'viewer',
  handle: listEntriesOf,
};

async function listEntriesOf(call: Call): Promise<Handled> {
  const { tools, caller, request } = call;
  const query = validateQuery(entriesQuery, request.query);
  if (query.kind === 'refused') return refusal(query.problem, request);
  const { payment, account, currency, day, from, to, limit = DEFAULT_PAGE, starting_after: cursor } = query.value;
  const after = cursor === undefined ? undefined : parseEntryId(tools.digest, caller, cursor);
  if (cursor !== undefined && after === undefined) {
    const detail = 'starting_after must be the id of an entry that a page of this list has shown.';
    return refusal(problem('invalid_request', detail, 'starting_after'), request);
  }
  const asked = {
    ...defined({ payment, account, currency, fromMs: from?.fromMs, untilMs: to?.untilMs }),
    ...day,
    ...defined({ after }),
    limit,
  };
  const outcome = await listEntries(tools, caller, asked).catch(tooRareOrThrow);
  if (outcome === 'too_rare') {
    const detail =
      'Too many entries in other currencies lie in this range. Narrow it with from and to, or take a smaller limit.';
    return refusal(problem('invalid_request', detail, 'currency'), request);
  }
  if (outcome.kind === 'not_found') return noSuchPayment(call);
  const data = outcome.entries.map((entry) => entryObject(tools.digest, caller, entry));
  return found({ object: 'list', data, has_more: outcome.hasMore });
}

function tooRareOrThrow(error: unknown): 'too_rare' {
  if (error instanceof TerminalError && error.code === 'currency_too_rare') return 'too_rare';
  throw error;
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

const getEntry: Route = {
  method: 'GET',
  path: '/v1/ledger/entries/{id}',
  scope: Scopes.ledgerRead,
  role: 'viewer',
  handle: showEntry,
};

/** The id contains the entry's place, so one transition is read. */
async function showEntry({ tools, caller, request, id }: Call): Promise<Handled> {
  const query = validateQuery(emptyQuery, request.query);
  if (query.kind === 'refused') return refusal(query.problem, request);
  const place = parseEntryId(tools.digest, caller, id);
  const page = place === undefined ? undefined : { afterSequence: place.sequence - 1, limit: 1 };
  const [transition] =
    place === undefined || page === undefined ? [] : await tools.effects.listTransitions(place.paymentId, page);
  const [entry] =
    transition === undefined || place === undefined
      ? []
      : entriesOf([transition], { limit: 1, after: { ...place, leg: place.leg - 1 } });
  const { tenantId, mode } = transition?.payment ?? {};
  const isOwn = tenantId === caller.tenantId && mode === caller.mode;
  if (entry === undefined || !isOwn || entryId(tools.digest, caller, entry) !== id) {
    return refusal(problem('not_found', 'There is no such entry.'), request);
  }
  return found(entryObject(tools.digest, caller, entry));
}

const getBalances: Route = {
  method: 'GET',
  path: '/v1/balances',
  scope: Scopes.ledgerRead,
  role: 'viewer',
  handle: showBalances,
};

async function showBalances({ tools, caller, request }: Call): Promise<Handled> {
  const query = validateQuery(balancesQuery, request.query);
  if (query.kind === 'refused') return refusal(query.problem, request);
  const { at } = query.value;
  try {
    const balances = await readBalances(tools.ledger, caller, at === undefined ? {} : { untilMs: at * 1000 });
    return found({ object: 'list', data: balances.map(balanceObject), has_more: false });
  } catch (error) {
    if (!(error instanceof TerminalError) || error.code !== 'balance_too_large') throw error;
    // A retry cannot succeed.
    const detail = 'A sum is beyond 2^53 - 1 and would lose digits as a JSON number. Add up the entries instead.';
    return refusal(problem('balance_too_large', detail), request);
  }
}

/** Amounts in minor units. */
function balanceObject({ account, currency, debitMinor, creditMinor, normal, balanceMinor }: DirectedBalance) {
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

/** The same answer for a missing payment and for one of another tenant or mode. It does not repeat the id. */
function noSuchPayment({ request }: Call): Handled {
  return refusal(problem('not_found', 'There is no such payment.'), request);
}

/** The routes of the ledger API for tenants. */
export const LEDGER_ROUTES: readonly Route[] = [getEntries, getEntry, getBalances, ...OPERATOR_EFFECT_ROUTES];
