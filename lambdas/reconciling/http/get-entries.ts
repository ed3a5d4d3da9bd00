import { found, type Handled, refusal } from '../../http/http-api.ts';
import { problem } from '../../http/problems.ts';
import { validateQuery } from '../../http/validate.ts';
import { Scopes } from '../../kernel/contract/api.ts';
import type { Digest } from '../../kernel/digest.ts';
import { DEFAULT_PAGE } from '../../payments/http/payment-schemas.ts';
import type { BooksOwner, LedgerEntry } from '../../views/use/ledger-reader.ts';
import { listEntries } from '../../views/use/list-entries.ts';
import { entryId, parseEntryId } from './entry-id.ts';
import { entriesQuery } from './ledger-schemas.ts';
import { type Call, noSuchPayment, type Route, readable } from './route.ts';

export const getEntries: Route = {
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
