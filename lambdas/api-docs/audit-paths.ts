import * as z from 'zod';
import type { ZodOpenApiPathsObject } from 'zod-openapi';
import { VERIFIED } from '../archive/domain/verification.ts';
import { unixSeconds } from '../payments/http/payment-objects.ts';
import { reading } from './operations.ts';

const counted = (what: string) =>
  z
    .int()
    .nullable()
    .meta({ description: `${what}; null when it failed.` });

const verification = z
  .looseObject({
    object: z.literal('verification'),
    from: unixSeconds.meta({ description: 'What happened at this time or later was verified. Unix seconds.' }),
    to: unixSeconds.meta({ description: 'What happened before this time was verified. Unix seconds.' }),
    began: unixSeconds,
    ended: unixSeconds,
    verdict: z
      .enum(['holds', 'differs', 'failed'])
      .meta({ description: '`failed`: it ended without a result, and nothing is known of this time.' }),
    failure: z.string().nullable().meta({ description: 'Why it failed; null otherwise.' }),
    rows: counted('Rows of the Ledger'),
    lines: counted('Lines of the archive'),
    objects: counted('Objects that manifests list'),
    manifests: counted('Manifests'),
    findings: z.int().meta({ description: 'How many places do not hold.' }),
    first_findings: z.array(z.looseObject({ kind: z.string() })).meta({
      description: 'The first 20 of them, each with the fields of its kind. `payonce verify` names all.',
    }),
  })
  .meta({ id: 'Verification' });

const verified = z
  .looseObject({
    kind: z.enum(VERIFIED).meta({
      description:
        '`day`: a day, verified in the night after it. `part`: a part of everything before the month. `asked`: a time that an operator asked for.',
    }),
    due: unixSeconds.nullable().meta({
      description: 'The hour in which the last one was due. Null when none has been due yet. Unix seconds.',
    }),
    overdue: z.boolean().meta({ description: 'Whether none has ended since.' }),
    unreadable: z.int().meta({ description: 'Records that the auditor did not write, or that cannot be read.' }),
    verifications: z.array(verification).meta({
      description: 'Newest first. Earlier ones that did not hold are shown longer than those that did.',
    }),
  })
  .meta({ id: 'Verified' });

const manifest = z
  .looseObject({
    object: z.literal('manifest'),
    number: z.int(),
    created: unixSeconds.nullable(),
    objects: z.int().nullable().meta({ description: 'How many objects it lists.' }),
    lines: z.int().nullable().meta({ description: 'The lines of these objects. The archive may repeat lines.' }),
    hash: z.string().nullable().meta({ description: 'SHA-256 in hexadecimal.' }),
    previous: z.string().nullable().meta({ description: 'The hash of the manifest before it.' }),
    signed: z.boolean().nullable(),
    failure: z.string().nullable().meta({ description: 'Why it cannot be read; all other fields are null then.' }),
  })
  .meta({ id: 'Manifest' });

export const audit = z
  .looseObject({
    object: z.literal('audit'),
    archive: z.string().nullable().meta({
      description: 'The bucket of the archive. Null when the deployment has none: then nothing is verified by itself.',
    }),
    verified: z.array(verified).meta({ description: 'Of each kind.' }),
    manifests_overdue: z.boolean().meta({ description: 'Whether the newest manifest is more than three hours old.' }),
    manifests: z.array(manifest).meta({ description: 'Newest first.' }),
  })
  .meta({ id: 'Audit' });

export const auditPaths: ZodOpenApiPathsObject = {
  '/v1/admin/audit': {
    get: reading({
      operationId: 'getAudit',
      summary: 'Show what was verified last',
      description:
        'The last verifications of the Ledger and its archive, with what they found, and the newest manifests, as they are in the bucket of the archive. ' +
        'It verifies nothing itself: `payonce verify` does.',
      role: 'viewer',
      answers: { 200: { description: 'What was verified last.', schema: audit } },
    }),
  },
};
