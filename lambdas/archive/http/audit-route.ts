import { found, type Handled } from '../../http/authenticated-api.ts';
import { type OperatorEndpoint, type ReadingCall, reading } from '../../http/endpoint.ts';
import type { emptyQuery } from '../../http/validate.ts';
import type { Clock } from '../../kernel/world.ts';
import type { Operator } from '../../tenants/operators.ts';
import type { Verification } from '../domain/verification.ts';
import { type Audit, type LastVerified, type ReadableArchive, readAudit } from '../use/read-audit.ts';
import { audit } from './audit-answers.ts';

export interface AuditRouteTools {
  /** Undefined when the deployment has no archive. */
  readonly archive: ReadableArchive | undefined;
  readonly clock: Pick<Clock, 'nowMs'>;
}

export const getAudit: OperatorEndpoint<AuditRouteTools> = reading({
  path: '/v1/admin/audit',
  role: 'viewer',
  handle: showAudit,
  docs: {
    operationId: 'getAudit',
    tag: 'Operators',
    summary: 'Show the latest verifications',
    description:
      'Reads, from the bucket of the archive, the latest verifications of the Ledger and the archive, with their findings, and the newest manifests. ' +
      'The request itself verifies nothing; to verify, run `payonce verify`.',
    answers: { 200: { description: 'The latest verifications.', schema: audit } },
  },
});

async function showAudit({ tools }: ReadingCall<AuditRouteTools, typeof emptyQuery, Operator>): Promise<Handled> {
  const { archive, clock } = tools;
  const read = archive === undefined ? NOTHING : await readAudit(archive, clock.nowMs());
  return found({
    object: 'audit',
    archive: archive?.bucket ?? null,
    verified: read.verified.map(verifiedObject),
    manifests_overdue: read.areManifestsOverdue,
    manifests: read.manifests.map(manifestObject),
  });
}

const NOTHING: Audit = { verified: [], manifests: [], areManifestsOverdue: false };

const seconds = (ms: number): number => Math.floor(ms / 1000);

function verifiedObject({ kind, dueMs, isOverdue, verifications, unreadable }: LastVerified) {
  return {
    kind,
    due: dueMs === undefined ? null : seconds(dueMs),
    overdue: isOverdue,
    unreadable,
    verifications: verifications.map(verificationObject),
  };
}

function verificationObject({ counts, because, ...verification }: Verification) {
  const { rows = null, lines = null, objects = null, manifests = null } = counts ?? {};
  return {
    object: 'verification',
    from: seconds(verification.fromMs),
    to: Math.ceil(verification.untilMs / 1000),
    began: seconds(verification.beganMs),
    ended: seconds(verification.endedMs),
    verdict: verification.verdict,
    failure: because ?? null,
    rows,
    lines,
    objects,
    manifests,
    findings: verification.found,
    first_findings: verification.first,
  };
}

function manifestObject(read: Audit['manifests'][number]) {
  const { number } = read;
  const absent = { created: null, objects: null, lines: null, hash: null, previous: null, signed: null };
  if (read.kind === 'unreadable') return { object: 'manifest', number, ...absent, failure: read.because };
  const { atMs, objects, hash, previous, signature } = read.manifest;
  return {
    object: 'manifest',
    number,
    created: seconds(atMs),
    objects: objects.length,
    lines: objects.reduce((sum, { lines }) => sum + lines, 0),
    hash,
    previous,
    signed: signature !== undefined,
    failure: null,
  };
}
