import * as z from 'zod';
import { causedByRequest, found, type Handled, refusal } from '../../http/authenticated-api.ts';
import { type KeyedCall, keyed, type ReadingCall, reading, type TenantEndpoint } from '../../http/endpoint.ts';
import { problemAnswer } from '../../http/http-answer.ts';
import { keyedCounts, ownKey, payloadMismatch, replayed } from '../../http/keyed-request.ts';
import { DEFAULT_PAGE } from '../../http/lists.ts';
import { problem } from '../../http/problems.ts';
import { dayText } from '../../http/range-filters.ts';
import type { Answer } from '../../kernel/answer.ts';
import { Scopes } from '../../kernel/contract/api.ts';
import { defined } from '../../kernel/defined.ts';
import type { Digest } from '../../kernel/digest.ts';
import type { Clock } from '../../kernel/world.ts';
import {
  type DataExport,
  exportObject,
  fileEndsAtMs,
  hasNoWriter,
  LINK_SECONDS,
  type RequestedExport,
} from '../domain/data-export.ts';
import { deriveExportId, EXPORT_ID, exportOperation } from '../ids.ts';
import { MAX_OPEN_EXPORTS } from '../use/exports.ts';
import { type RequestExportTools, type RequestedOutcome, requestExport } from '../use/request-export.ts';
import { exportList, listedExport, shownExport } from './export-answers.ts';
import { exportBody, exportsQuery } from './export-schemas.ts';

export interface ExportsTools extends RequestExportTools {
  readonly digest: Digest;
  readonly clock: Pick<Clock, 'nowMs'>;
  /** @returns a URL that is valid for `LINK_SECONDS` */
  readonly link: (asked: DataExport) => Promise<string>;
}

const PATH = '/v1/exports';

const postExport = keyed({
  path: PATH,
  scope: Scopes.exportsWrite,
  role: 'operator',
  body: exportBody,
  handle: request,
  docs: {
    operationId: 'createExport',
    tag: 'Exports',
    summary: 'Export rows as a CSV file',
    description:
      'Writes all rows of a kind from a range of days to one file (RFC 4180, UTF-8), oldest first. `payments` and `disputes` are selected by ' +
      'the day on which they were created; `entries` of the ledger, outcomes of `refunds`, and `events` by the day on which they occurred. Amounts are given as decimals and ' +
      'in minor units. A text that a spreadsheet would interpret as a formula begins with an apostrophe. The file is written in ' +
      `the background. A tenant has at most ${MAX_OPEN_EXPORTS} unfinished exports in each mode.`,
    key: ['export', 'no second export is ever made'],
    expires: false,
    requests: {
      entries: {
        summary: 'The entries of a day',
        value: { kind: 'entries', from: '2026-03-01', to: '2026-03-01', currency: 'EUR' },
      },
    },
    answers: { 202: { description: 'The export was accepted.', schema: listedExport } },
    problems: ['too_many_exports'],
  },
});

async function request(call: KeyedCall<ExportsTools, typeof exportBody>): Promise<Handled> {
  const { tools, caller, request: sent, receivedAtMs, key, body, fingerprint } = call;
  const { kind, from, to, currency, account, status, type, amount_from: least, amount_to: most } = body;
  const id = deriveExportId(tools.digest, { ...ownKey(caller, key), method: 'POST', path: PATH });
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
    // Truncate to whole seconds, so that balances can be requested for the same time.
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
      const detail = `There are already ${MAX_OPEN_EXPORTS} unfinished exports, which is the maximum.`;
      return problemAnswer(problem('too_many_exports', detail), requestId);
    }
  }
}

const getExport = reading({
  path: `${PATH}/{id}`,
  scope: Scopes.exportsRead,
  role: 'viewer',
  handle: async ({ tools, caller, request: sent, id }: ReadingCall<ExportsTools>) => {
    const { tenantId, mode } = caller;
    const asked = EXPORT_ID.test(id) ? await tools.exports.read({ tenantId, mode, id }) : undefined;
    if (asked === undefined) return refusal(problem('not_found', 'There is no such export.'), sent);
    const nowMs = tools.clock.nowMs();
    // The writer did not start, or has stopped. A second writer that is started by mistake finds that the lease is
    // taken, and ends.
    if (hasNoWriter(asked, nowMs)) await tools.startWriter(asked).catch(tools.report);
    return found({ ...exportObject(asked), ...(await linkOf(tools, asked, nowMs)) });
  },
  docs: {
    operationId: 'getExport',
    tag: 'Exports',
    summary: 'Retrieve an export',
    description: 'Returns the progress of the export and, after its completion, a pre-signed URL for the file.',
    path: z.object({ id: z.string().meta({ description: 'The id of the export.' }) }),
    answers: { 200: { description: 'The export.', schema: shownExport } },
  },
});

async function linkOf(tools: ExportsTools, asked: DataExport, nowMs: number): Promise<Record<string, unknown>> {
  const isThere = asked.status === 'completed' && (fileEndsAtMs(asked) ?? 0) > nowMs;
  if (!isThere) return { url: null, url_expires: null };
  return { url: await tools.link(asked), url_expires: Math.floor(nowMs / 1000) + LINK_SECONDS };
}

const listExports = reading({
  path: PATH,
  scope: Scopes.exportsRead,
  role: 'viewer',
  query: exportsQuery,
  handle: async ({ tools, caller, request: sent, query }: ReadingCall<ExportsTools, typeof exportsQuery>) => {
    const { limit = DEFAULT_PAGE, starting_after: after } = query;
    const listed = await tools.exports.list(caller, limit + 1, after);
    if (listed === undefined) {
      const detail = 'starting_after must be the id of one of your exports.';
      return refusal(problem('invalid_request', detail, 'starting_after'), sent);
    }
    return found({ object: 'list', data: listed.slice(0, limit).map(exportObject), has_more: listed.length > limit });
  },
  docs: {
    operationId: 'listExports',
    tag: 'Exports',
    summary: 'List exports',
    description: 'Newest first, without URLs.',
    answers: { 200: { description: 'A page of exports.', schema: exportList } },
  },
});

export const EXPORT_ROUTES: readonly TenantEndpoint<ExportsTools>[] = [postExport, listExports, getExport];
