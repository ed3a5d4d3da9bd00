import type * as z from 'zod';
import { type Call as CallWith, found, type Handled, type Route, refusal } from '../../http/authenticated-api.ts';
import { DEFAULT_PAGE } from '../../http/lists.ts';
import { type Parsed, problem, refused, valid } from '../../http/problems.ts';
import { validateQuery } from '../../http/validate.ts';
import { Scopes } from '../../kernel/contract/api.ts';
import { REQUEST_BUDGET_SECONDS } from '../../kernel/contract/timing.ts';
import { RetryableError, TerminalError } from '../../kernel/faults.ts';
import type { ProcessorBooks } from '../../payments/use/processor.ts';
import type { LedgerReader } from '../../views/use/ledger-reader.ts';
import type { ViewStore } from '../../views/use/view-store.ts';
import type { Mismatch } from '../domain/compare-books.ts';
import type { OpenMismatch } from '../domain/mismatch-view.ts';
import { type FindMismatchesTools, findMismatches } from '../use/find-mismatches.ts';
import { listMismatches } from '../use/mismatch-view.ts';
import { mismatchesQuery } from './ledger-schemas.ts';

export interface MismatchTools extends Omit<FindMismatchesTools, 'ledger' | 'books'> {
  /** For comparisons: every row of the Ledger as it stands. */
  readonly wholeLedger: LedgerReader;
  /** For what the comparisons of the clock have found. */
  readonly views: Pick<ViewStore, 'range'>;
  /** Of every processor that is called here. */
  readonly books: readonly ProcessorBooks[];
}

type Call = CallWith<MismatchTools>;

export const getMismatches: Route<MismatchTools> = {
  method: 'GET',
  path: '/v1/admin/mismatches',
  scope: Scopes.admin,
  handle: (call) => readable(call, () => handle(call)),
};

const DAY_SECONDS = 24 * 60 * 60;
/** What the processor lists in one go. */
const LONGEST_SECONDS = 31 * DAY_SECONDS;

type Asked = z.output<typeof mismatchesQuery>;

/** For a time, compares now; without one, tells what the comparisons of the clock have left open. */
async function handle(call: Call): Promise<Handled> {
  const query = validateQuery(mismatchesQuery, call.request.query);
  if (query.kind === 'refused') return refusal(query.problem, call.request);
  const { created_from: from, created_to: to } = query.value;
  return from === undefined && to === undefined ? listOpen(call, query.value) : compareNow(call, query.value);
}

async function listOpen({ tools, caller, request }: Call, asked: Asked): Promise<Handled> {
  const { limit = DEFAULT_PAGE, starting_after: after } = asked;
  const listed = await listMismatches(tools.views, caller, { limit, ...(after === undefined ? {} : { after }) });
  if (listed.kind === 'unknown_cursor') {
    return refusal(problem('invalid_request', `${listed.param} must be the id of a mismatch.`, listed.param), request);
  }
  return found({ object: 'list', data: listed.open.map(openObject), has_more: listed.hasMore });
}

async function compareNow(call: Call, query: Asked): Promise<Handled> {
  const { tools, caller, request, receivedAtMs } = call;
  const asked = readWindow(call, query);
  if (asked.kind === 'refused') return refusal(asked.problem, request);
  const answerByMs = receivedAtMs + REQUEST_BUDGET_SECONDS * 1000;
  const data: Record<string, unknown>[] = [];
  const compared = { charges: 0, payments: 0 };
  let hasMore = false;
  for (const books of tools.books) {
    const outcome = await findMismatches({ ...tools, ledger: tools.wholeLedger, books }, caller, {
      ...asked.value,
      answerByMs,
    });
    if (outcome.kind === 'too_many') {
      const detail = `There are more than ${outcome.most} ${outcome.of} in this time. Ask for a shorter one.`;
      return refusal(problem('invalid_request', detail, 'created_from'), request);
    }
    data.push(...outcome.mismatches.map(mismatchObject));
    compared.charges += outcome.charges;
    compared.payments += outcome.payments;
    hasMore ||= outcome.hasMore;
  }
  const { limit } = asked.value;
  return found({ object: 'list', data: data.slice(0, limit), has_more: hasMore || data.length > limit, compared });
}

interface Window {
  readonly fromSeconds: number;
  readonly untilSeconds: number;
  readonly limit: number;
}

function readWindow({ receivedAtMs }: Call, asked: Asked): Parsed<Window> {
  // What is being written in this very second counts too.
  const nowSeconds = Math.floor(receivedAtMs / 1000) + 1;
  const { created_to: untilSeconds = nowSeconds, limit = DEFAULT_PAGE } = asked;
  const { created_from: fromSeconds = Math.max(0, untilSeconds - DAY_SECONDS) } = asked;
  if (fromSeconds >= untilSeconds) {
    return refused('invalid_request', 'created_from must be before created_to.', 'created_from');
  }
  if (untilSeconds - fromSeconds > LONGEST_SECONDS) {
    return refused('invalid_request', 'created_from must be at most 31 days before created_to.', 'created_from');
  }
  return valid({ fromSeconds, untilSeconds, limit });
}

/** Amounts in minor units. */
function mismatchObject(mismatch: Mismatch): Record<string, unknown> {
  const { paymentId, paymentStatus, currency, processorMinor, ledgerMinor, chargeIds, kind } = mismatch;
  return {
    object: 'mismatch',
    payment: paymentId ?? null,
    payment_status: paymentStatus ?? null,
    currency,
    processor_amount: processorMinor,
    ledger_amount: ledgerMinor,
    difference: processorMinor - ledgerMinor,
    charges: chargeIds,
    kind,
  };
}

function openObject({
  id,
  books,
  mismatch,
  status,
  firstSeenAtMs,
  lastSeenAtMs,
}: OpenMismatch): Record<string, unknown> {
  return {
    id,
    ...mismatchObject(mismatch),
    processor: books.name,
    account: books.account,
    status,
    first_seen: Math.floor(firstSeenAtMs / 1000),
    last_seen: Math.floor(lastSeenAtMs / 1000),
  };
}

/** Says so where the Ledger is there and healthy, and yet cannot be told: asking again with the same words is in vain. */
export async function readable({ request }: Pick<Call, 'request'>, read: () => Promise<Handled>): Promise<Handled> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof RetryableError && error.code === 'ledger_too_large') {
      const detail = 'The Ledger is too large to be read as a whole. Ask for the entries of one payment.';
      return refusal(problem('ledger_too_large', detail), request);
    }
    if (error instanceof TerminalError && error.code === 'balance_too_large') {
      const detail = 'A sum is beyond 2^53 - 1 and would lose digits as a JSON number. Add up the entries instead.';
      return refusal(problem('balance_too_large', detail), request);
    }
    throw error;
  }
}
