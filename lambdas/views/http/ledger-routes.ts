import * as z from 'zod';
import { found, type Handled, refusal } from '../../http/authenticated-api.ts';
import { type ReadingCall, reading, type TenantEndpoint } from '../../http/endpoint.ts';
import { DEFAULT_PAGE, pageLimit } from '../../http/lists.ts';
import { problem } from '../../http/problems.ts';
import { day } from '../../http/range-filters.ts';
import { freeText, MAX_UNIX_SECONDS, wholeNumber } from '../../http/validate.ts';
import { Scopes } from '../../kernel/contract/api.ts';
import { CURRENCIES } from '../../kernel/currency.ts';
import { defined } from '../../kernel/defined.ts';
import type { Digest } from '../../kernel/digest.ts';
import { TerminalError } from '../../kernel/faults.ts';
import { ACCOUNTS } from '../../payments/domain/posting.ts';
import type { BooksOwner, LedgerEntry } from '../use/ledger-reader.ts';
import { entriesOf, type ListEntriesTools, listEntries } from '../use/list-entries.ts';
import { type DirectedBalance, readBalances } from '../use/read-balances.ts';
import { entryId, parseEntryId } from './entry-id.ts';
import { balanceList, ledgerEntry, ledgerEntryList } from './list-answers.ts';

/**
 * Lists of entries and balances are read from the Views, which lag by seconds. A single entry, and the entries of a
 * single payment, are read from the Ledger.
 */
export interface LedgerReadTools extends ListEntriesTools {
  readonly digest: Digest;
}

const READ = { scope: Scopes.ledgerRead, role: 'viewer' } as const;

const entriesQuery = z
  .strictObject({
    payment: freeText(100).optional().meta({
      description: 'Only the entries of this payment.',
      example: 'pay_k3jx5aqhz4m2nrb7vwy6t5ocdeflgusp',
    }),
    account: z
      .enum(ACCOUNTS, `must be one of ${ACCOUNTS.join(', ')}`)
      .optional()
      .meta({ description: 'Only the entries on this account.' }),
    day: day('Only entries posted on this day, in UTC. Cannot be combined with `from` or `to`.').optional(),
    from: day('Only entries posted on this day or later, in UTC.').optional(),
    to: day('Only entries posted on this day or earlier, in UTC.').optional(),
    currency: z
      .enum(CURRENCIES, 'must be the code of a currency, for example EUR')
      .optional()
      .meta({ description: 'Only entries in this currency.', example: 'EUR' }),
    limit: pageLimit('entries'),
    starting_after: z
      .string()
      .regex(/^ent_[A-Za-z0-9_-]{1,200}$/, 'must be the id of an entry from an earlier page of this list')
      .optional()
      .meta({ description: 'The `id` of the last entry of the previous page.' }),
  })
  .superRefine(({ day: only, from, to }, context) => {
    const refuse = (path: string, message: string) => context.addIssue({ code: 'custom', path: [path], message });
    if (only !== undefined && (from ?? to) !== undefined) refuse('day', 'cannot be combined with from or to');
    if (from !== undefined && to !== undefined && to.fromMs < from.fromMs) refuse('to', 'must not be before from');
  });

const getEntries = reading({
  ...READ,
  path: '/v1/ledger/entries',
  query: entriesQuery,
  handle: listEntriesOf,
  docs: {
    operationId: 'listLedgerEntries',
    tag: 'Ledger',
    summary: 'List ledger entries',
    description:
      'All entries, oldest first; each is one leg of a posting. The list is derived from events and lags by about a second; the entries of one ' +
      '`payment` do not lag. With `currency`, a page reads at most about 20,000 postings. If these contain fewer than `limit` entries in the ' +
      'currency and the range has more, the response is `invalid_request` for `currency`: narrow the range of days, or reduce `limit`.',
    answers: { 200: { description: 'A page of entries.', schema: ledgerEntryList } },
  },
});

async function listEntriesOf(call: ReadingCall<LedgerReadTools, typeof entriesQuery>): Promise<Handled> {
  const { tools, caller, request, query } = call;
  const { payment, account, currency, day: only, from, to, limit = DEFAULT_PAGE, starting_after: cursor } = query;
  const after = cursor === undefined ? undefined : parseEntryId(tools.digest, caller, cursor);
  if (cursor !== undefined && after === undefined) {
    const detail = 'starting_after must be the id of an entry from an earlier page of this list.';
    return refusal(problem('invalid_request', detail, 'starting_after'), request);
  }
  const asked = {
    ...defined({ payment, account, currency, fromMs: from?.fromMs, untilMs: to?.untilMs }),
    ...only,
    ...defined({ after }),
    limit,
  };
  const outcome = await listEntries(tools, caller, asked).catch(tooRareOrThrow);
  if (outcome === 'too_rare') {
    const detail = 'This range has too many entries in other currencies. Narrow it with from and to, or reduce limit.';
    return refusal(problem('invalid_request', detail, 'currency'), request);
  }
  // The response is the same for a missing payment and for a payment of another tenant or mode. It does not repeat the
  // id.
  if (outcome.kind === 'not_found') return refusal(problem('not_found', 'There is no such payment.'), request);
  const data = outcome.entries.map((entry) => entryObject(tools.digest, caller, entry));
  return found({ object: 'list', data, has_more: outcome.hasMore });
}

function tooRareOrThrow(error: unknown): 'too_rare' {
  if (error instanceof TerminalError && error.code === 'currency_too_rare') return 'too_rare';
  throw error;
}

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

const getEntry = reading({
  ...READ,
  path: '/v1/ledger/entries/{id}',
  handle: showEntry,
  docs: {
    operationId: 'getLedgerEntry',
    tag: 'Ledger',
    summary: 'Retrieve a ledger entry',
    description: 'An entry never changes.',
    path: z.object({ id: ledgerEntry.shape.id.meta({ description: 'The id of the entry.' }) }),
    answers: { 200: { description: 'The entry.', schema: ledgerEntry } },
  },
});

async function showEntry({ tools, caller, request, id }: ReadingCall<LedgerReadTools>): Promise<Handled> {
  const place = parseEntryId(tools.digest, caller, id);
  const page = place === undefined ? undefined : { afterSequence: place.sequence - 1, limit: 1 };
  const [transition] =
    place === undefined || page === undefined ? [] : await tools.store.listTransitions(place.paymentId, page);
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

const balancesQuery = z.strictObject({
  at: wholeNumber(
    0,
    MAX_UNIX_SECONDS,
    'Returns the balances at this time, in Unix seconds, from the entries before it. Default: the balances of all entries.',
  ),
});

const getBalances = reading({
  ...READ,
  path: '/v1/balances',
  query: balancesQuery,
  handle: showBalances,
  docs: {
    operationId: 'listBalances',
    tag: 'Ledger',
    summary: 'List account balances',
    description:
      'The sums of all entries, by account and currency. `balance` is positive in the normal direction of the account (`normal_balance`). ' +
      'For each currency, the debits of all accounts equal the credits. The amount that can be paid out is `merchant_payable` ' +
      'minus `refunds`, `fees` and `disputes`. The balances are derived from events and lag by about a second. `at` selects an earlier time; ' +
      'balances in the past change only if an event is delivered late. A request with `at` reads one row for each closed day before `at`, ' +
      'and the entries of the other days.',
    answers: { 200: { description: 'The balances.', schema: balanceList } },
    problems: ['balance_too_large'],
  },
});

async function showBalances(call: ReadingCall<LedgerReadTools, typeof balancesQuery>): Promise<Handled> {
  const { tools, caller, request, query } = call;
  try {
    const until = query.at === undefined ? {} : { untilMs: query.at * 1000 };
    const balances = await readBalances(tools.ledger, caller, until);
    return found({ object: 'list', data: balances.map(balanceObject), has_more: false });
  } catch (error) {
    if (!(error instanceof TerminalError) || error.code !== 'balance_too_large') throw error;
    // Refuse the request: a retry would have the same result.
    const detail = 'A sum exceeds 2^53 - 1 and would lose digits as a JSON number. Add up the entries instead.';
    return refusal(problem('balance_too_large', detail), request);
  }
}

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

export const LEDGER_READ_ROUTES: readonly TenantEndpoint<LedgerReadTools>[] = [getEntries, getEntry, getBalances];
