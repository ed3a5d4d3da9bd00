import * as z from 'zod';
import { defined } from '../kernel/defined.ts';
import { found, type Handled, refusal } from './authenticated-api.ts';
import type { GatewayRequest } from './gateway-request.ts';
import { problem } from './problems.ts';
import { MAX_UNIX_SECONDS, wholeNumber } from './validate.ts';

/** Also the default page size of lists that are shown oldest first. */
const MAX_PAGE = 100;
export const DEFAULT_PAGE = MAX_PAGE;
/** Default page size of lists that are shown newest first. */
const DEFAULT_LIST_PAGE = 10;

/** Default page size of lists that read each object by its key. */
export const SMALL_PAGE = 20;

export const pageLimit = (what: string, size: number | string = DEFAULT_PAGE) =>
  wholeNumber(1, MAX_PAGE, `Maximum number of ${what}. Default: ${size}.`);

const cursor = (what: string, id: RegExp, where: string) =>
  z
    .string()
    .regex(id, `must be the id of one of your ${what}`)
    .optional()
    .meta({ description: `The \`id\` of one of your ${what}: ${where}` });

/** @param id pattern of the ids */
export const pageOf = (what: string, id: RegExp) => ({
  created_from: wholeNumber(0, MAX_UNIX_SECONDS, 'Start of the range of creation times (inclusive), in Unix seconds.'),
  created_to: wholeNumber(0, MAX_UNIX_SECONDS, 'End of the range of creation times (exclusive), in Unix seconds.'),
  limit: wholeNumber(1, MAX_PAGE, `Maximum number of ${what}. Default: ${DEFAULT_LIST_PAGE}.`),
  starting_after: cursor(what, id, 'the page contains those directly after it, which are older.'),
  ending_before: cursor(
    what,
    id,
    'the page contains those directly before it, which are newer. Cannot be combined with `starting_after`.',
  ),
});

export const ONE_CURSOR = { path: ['ending_before'], message: 'cannot be combined with starting_after' };

interface Cursors {
  readonly starting_after?: string | undefined;
  readonly ending_before?: string | undefined;
}

export function hasOneCursor({ starting_after: after, ending_before: before }: Cursors): boolean {
  return after === undefined || before === undefined;
}

interface AskedPage {
  readonly created_from?: number | undefined;
  readonly created_to?: number | undefined;
  readonly limit?: number | undefined;
  readonly starting_after?: string | undefined;
  readonly ending_before?: string | undefined;
}

export function pageRequest(asked: AskedPage) {
  const { created_from: createdFrom, created_to: createdTo, starting_after: after, ending_before: before } = asked;
  return {
    limit: asked.limit ?? DEFAULT_LIST_PAGE,
    ...defined({ createdFrom, createdTo, after, before }),
  };
}

type Listed =
  | { readonly kind: 'unknown_cursor'; readonly param: string }
  | {
      readonly kind: 'found';
      readonly rows: readonly { readonly body: string }[];
      readonly hasMore: boolean;
      readonly next?: string;
    };

/** A cursor of another caller is an unknown cursor. */
export function listResponse(outcome: Listed, what: string, request: GatewayRequest): Handled {
  if (outcome.kind === 'unknown_cursor') {
    const detail = `${outcome.param} must be the id of one of your ${what}.`;
    return refusal(problem('invalid_request', detail, outcome.param), request);
  }
  const { rows, hasMore, next } = outcome;
  const data = rows.map(({ body }): unknown => JSON.parse(body));
  return found({ object: 'list', data, has_more: hasMore, ...defined({ next_cursor: next }) });
}
