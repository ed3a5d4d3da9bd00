import type { ActivityDraft } from '../../activity/domain/activity.ts';
import type { Answer } from '../../kernel/answer.ts';
import { commitOnce } from '../../once/use/execute-once.ts';
import { judgeEffect } from '../../once/use/judge-record.ts';
import type { OperationRunner } from '../../once/use/operation-runner.ts';
import { type DataExport, exportObject, initialExport, type RequestedExport } from '../domain/data-export.ts';
import { exportOperation } from '../ids.ts';
import type { ExportStore, StartWriter } from './exports.ts';

export interface RequestExportTools {
  readonly exports: ExportStore;
  readonly startWriter: StartWriter;
  readonly runner: OperationRunner;
  readonly report: (error: unknown) => void;
}

export type RequestedOutcome =
  | { readonly kind: 'first' | 'replay'; readonly answer: Answer }
  | { readonly kind: 'payload_mismatch' }
  | { readonly kind: 'too_many' };

/**
 * The export's row serves as the record of the request, and the response is rendered from fields that never change. If
 * the writer does not start, the next read of the export or the next run of the job that resumes exports starts one.
 *
 * @throws RetryableError, AmbiguousError: a retry with the same idempotency key is safe
 */
export async function requestExport(
  tools: RequestExportTools,
  asked: RequestedExport,
  actor: ActivityDraft['actor'],
): Promise<RequestedOutcome> {
  const { exports, startWriter, runner, report } = tools;
  const replay = (found: DataExport): RequestedOutcome =>
    judgeEffect({ request: { fingerprint: found.fingerprint, answer: accepted(found) } }, asked.fingerprint);
  const outcome = await commitOnce<undefined, RequestedOutcome>(runner, {
    operationId: exportOperation(asked.id),
    find: async () => {
      const found = await exports.read(asked);
      return found === undefined ? undefined : replay(found);
    },
    prepare: async () => undefined,
    write: async () => {
      const now = initialExport(asked);
      const made = await exports.make(now, {
        chain: { tenantId: asked.tenantId, mode: asked.mode },
        action: 'export.requested',
        actor,
        about: [asked.id],
        occurredAtMs: asked.createdAtMs,
      });
      if (made.kind === 'exists') return { kind: 'done', outcome: replay(made.found) };
      if (made.kind === 'too_many') return { kind: 'done', outcome: made };
      return { kind: 'done', outcome: { kind: 'first', answer: accepted(now) } };
    },
  });
  if (outcome.kind === 'first') await startWriter(asked).catch(report);
  return outcome;
}

function accepted(asked: DataExport): Answer {
  return {
    status: 202,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(exportObject(initialExport(asked))),
  };
}
