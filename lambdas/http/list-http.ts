import type { GatewayRequest } from './gateway-request.ts';
import { found, type Handled, refusal } from './http-api.ts';
import { DEFAULT_LIST_PAGE } from './list-schemas.ts';
import { problem } from './problems.ts';

interface AskedPage {
  readonly created_from?: number | undefined;
  readonly created_to?: number | undefined;
  readonly limit?: number | undefined;
  readonly starting_after?: string | undefined;
  readonly ending_before?: string | undefined;
}

/** The page that a query asks for. */
export function askedPage(asked: AskedPage) {
  const { created_from: createdFrom, created_to: createdTo, starting_after: after, ending_before: before } = asked;
  return {
    limit: asked.limit ?? DEFAULT_LIST_PAGE,
    ...(createdFrom === undefined ? {} : { createdFrom }),
    ...(createdTo === undefined ? {} : { createdTo }),
    ...(after === undefined ? {} : { after }),
    ...(before === undefined ? {} : { before }),
  };
}

/** What became of asking for a page. */
type Listed =
  | { readonly kind: 'unknown_cursor'; readonly param: string }
  | { readonly kind: 'found'; readonly rows: readonly { readonly body: string }[]; readonly hasMore: boolean };

/** A page as it is shown; the same refusal for every cursor that names nothing of the caller's. */
export function listHandled(outcome: Listed, what: string, request: GatewayRequest): Handled {
  if (outcome.kind === 'unknown_cursor') {
    const detail = `${outcome.param} must be the id of one of your ${what}.`;
    return refusal(problem('invalid_request', detail, outcome.param), request);
  }
  const data = outcome.rows.map(({ body }): unknown => JSON.parse(body));
  return found({ object: 'list', data, has_more: outcome.hasMore });
}
