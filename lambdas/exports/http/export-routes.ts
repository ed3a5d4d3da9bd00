import {
  type Call as CallWith,
  causedByRequest,
  found,
  type Handled,
  type Route as RouteWith,
  refusal,
} from '../../http/authenticated-api.ts';
import { problemAnswer } from '../../http/http-answer.ts';
import { keyedCounts, ownKey, payloadMismatch, readKeyedRequest, replayed } from '../../http/keyed-request.ts';
import { DEFAULT_PAGE } from '../../http/lists.ts';
import { problem } from '../../http/problems.ts';
import { dayText } from '../../http/range-filters.ts';
import { emptyQuery, validateQuery } from '../../http/validate.ts';
import type { Answer } from '../../kernel/answer.ts';
import { Scopes } from '../../kernel/contract/api.ts';
import { defined } from '../../kernel/defined.ts';
import type { Digest } from '../../kernel/digest.ts';
import type { Clock } from '../../kernel/world.ts';
import {
  type DataExport,
  exportObject,
  fileEndsAtMs,
  isLeft,
  LINK_SECONDS,
  type RequestedExport,
} from '../domain/data-export.ts';
import { deriveExportId, EXPORT_ID, exportOperation } from '../ids.ts';
import { MAX_OPEN_EXPORTS } from '../use/exports.ts';
import { type RequestExportTools, type RequestedOutcome, requestExport } from '../use/request-export.ts';
import { exportBody, exportsQuery } from './export-schemas.ts';

export interface ExportsTools extends RequestExportTools {
  readonly digest: Digest;
  readonly clock: Pick<Clock, 'nowMs'>;
  /**
   * Creates a link to the file of a completed export.
   * @returns a link that is valid for `LINK_SECONDS`
   */
  readonly link: (asked: DataExport) => Promise<string>;
}

type Call = CallWith<ExportsTools>;
type Route = RouteWith<ExportsTools>;

const postExport: Route = {
  method: 'POST',
  path: '/v1/exports',
  scope: Scopes.exportsWrite,
  role: 'operator',
  handle: request,
};

async function request(call: Call): Promise<Handled> {
  const { tools, caller, request: sent, receivedAtMs } = call;
  const read = readKeyedRequest(tools.digest, sent, exportBody);
  if (read.kind === 'refused') return refusal(read.problem, sent);
  const { key, body, fingerprint } = read.value;
  const { kind, from, to, currency, account, status, type, amount_from: least, amount_to: most } = body;
  const id = deriveExportId(tools.digest, { ...ownKey(caller, key), method: 'POST', path: postExport.path });
  call.logFields.operationId = exportOperation(id);
  const asked: RequestedExport = {
    tenantId: caller.tenantId,
    mode: caller.mode,
    id,
    kind,
    from: dayText(from.fromMs),
    to: dayText(to.fromMs),
    filters: {
      ...defined({ currency, account, status, type, amountFromMinor: least, amountToMinor: most }),
    },
    fromMs: from.fromMs,
    // Truncated to whole seconds, so that balances can be requested for the same time.
    untilMs: Math.max(from.fromMs, Math.min(to.untilMs, Math.floor(receivedAtMs / 1000) * 1000)),
    requestedBy: caller.by.by === 'operator' ? caller.by.operator : caller.by.keyId,
    fingerprint,
    createdAtMs: receivedAtMs,
  };
  const outcome = await requestExport(tools, asked, causedByRequest(call));
  return { answer: answerOf(outcome, sent.requestId), outcome: outcome.kind, counts: keyedCounts(outcome) };
}

function answerOf(outcome: RequestedOutcome, requestId: string): Answer {
  switch (outcome.kind) {
    case 'first':
      return outcome.answer;
    case 'replay':
      return replayed(outcome.answer);
    case 'payload_mismatch':
      return payloadMismatch(requestId);
    case 'too_many': {
      const detail = `There are ${MAX_OPEN_EXPORTS} unfinished exports already, which is the maximum.`;
      return problemAnswer(problem('too_many_exports', detail), requestId);
    }
  }
}

const getExport: Route = {
  method: 'GET',
  path: '/v1/exports/{id}',
  scope: Scopes.exportsRead,
  role: 'viewer',
  handle: async ({ tools, caller, request: sent, id }) => {
    const query = validateQuery(emptyQuery, sent.query);
    if (query.kind === 'refused') return refusal(query.problem, sent);
    const { tenantId, mode } = caller;
    const asked = EXPORT_ID.test(id) ? await tools.exports.read({ tenantId, mode, id }) : undefined;
    if (asked === undefined) return refusal(problem('not_found', 'There is no such export.'), sent);
    const nowMs = tools.clock.nowMs();
    // The writer did not start, or has stopped. Starting a second writer is harmless: it finds the lease taken and
    // ends.
    if (isLeft(asked, nowMs)) await tools.startWriter(asked).catch(tools.report);
    return found({ ...exportObject(asked), ...(await linkOf(tools, asked, nowMs)) });
  },
};

async function linkOf(tools: ExportsTools, asked: DataExport, nowMs: number): Promise<Record<string, unknown>> {
  const isThere = asked.status === 'completed' && (fileEndsAtMs(asked) ?? 0) > nowMs;
  if (!isThere) return { url: null, url_expires: null };
  return { url: await tools.link(asked), url_expires: Math.floor(nowMs / 1000) + LINK_SECONDS };
}

const listExports: Route = {
  method: 'GET',
  path: '/v1/exports',
  scope: Scopes.exportsRead,
  role: 'viewer',
  handle: async ({ tools, caller, request: sent }) => {
    const query = validateQuery(exportsQuery, sent.query);
    if (query.kind === 'refused') return refusal(query.problem, sent);
    const { limit = DEFAULT_PAGE, starting_after: after } = query.value;
    const listed = await tools.exports.list(caller, limit + 1, after);
    if (listed === undefined) {
      const detail = 'starting_after must be the id of one of your exports.';
      return refusal(problem('invalid_request', detail, 'starting_after'), sent);
    }
    return found({ object: 'list', data: listed.slice(0, limit).map(exportObject), has_more: listed.length > limit });
  },
};

/** The routes of exports. */
export const EXPORT_ROUTES: readonly Route[] = [postExport, getExport, listExports];
