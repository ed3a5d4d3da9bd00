import * as z from 'zod';
import { unixSeconds } from '../../payments/http/payment-objects.ts';
import { VERIFIED } from '../domain/verification.ts';

/** Schemas of the responses about verifications. */

const counted = (what: string) =>
  z
    .int()
    .nullable()
    .meta({ description: `${what}; null when it failed.` });

const verification = z
  .looseObject({
    object: z.literal('verification'),
    from: unixSeconds.meta({ description: 'Start of the verified range of time, inclusive. Unix seconds.' }),
    to: unixSeconds.meta({ description: 'End of the verified range of time, exclusive. Unix seconds.' }),
    began: unixSeconds,
    ended: unixSeconds,
    verdict: z
      .enum(['holds', 'differs', 'failed'])
      .meta({ description: '`failed`: it ended without a result, so this range of time is not verified.' }),
    failure: z.string().nullable().meta({ description: 'The reason of the failure; null otherwise.' }),
    rows: counted('Rows of the Ledger'),
    lines: counted('Lines of the archive'),
    objects: counted('Objects that manifests list'),
    manifests: counted('Manifests'),
    findings: z.int().meta({ description: 'Number of violations.' }),
    first_findings: z.array(z.looseObject({ kind: z.string() })).meta({
      description: 'The first 20 violations, each with the fields of its kind. `payonce verify` lists all.',
    }),
  })
  .meta({ id: 'Verification' });

const verified = z
  .looseObject({
    kind: z.enum(VERIFIED).meta({
      description:
        '`day`: a day, verified in the night after it. `part`: a part of everything before the month. `asked`: a range of time requested by an operator.',
    }),
    due: unixSeconds.nullable().meta({
      description: 'The hour in which the last verification was due. Null when none has been due yet. Unix seconds.',
    }),
    overdue: z.boolean().meta({ description: 'Whether no verification has ended since.' }),
    unreadable: z
      .int()
      .meta({ description: 'Number of records that the auditor did not write, or that cannot be read.' }),
    verifications: z.array(verification).meta({
      description: 'Newest first. Verifications with violations are shown longer than others.',
    }),
  })
  .meta({ id: 'Verified' });

const manifest = z
  .looseObject({
    object: z.literal('manifest'),
    number: z.int(),
    created: unixSeconds.nullable(),
    objects: z.int().nullable().meta({ description: 'Number of listed objects.' }),
    lines: z.int().nullable().meta({ description: 'The lines of these objects. The archive may repeat lines.' }),
    hash: z.string().nullable().meta({ description: 'SHA-256 in hexadecimal.' }),
    previous: z.string().nullable().meta({ description: 'The hash of the previous manifest.' }),
    signed: z.boolean().nullable(),
    failure: z
      .string()
      .nullable()
      .meta({ description: 'The reason why it cannot be read; all other fields are then null.' }),
  })
  .meta({ id: 'Manifest' });

export const audit = z
  .looseObject({
    object: z.literal('audit'),
    archive: z.string().nullable().meta({
      description:
        'The bucket of the archive. Null when the deployment has none; no verification then runs automatically.',
    }),
    verified: z.array(verified).meta({ description: 'Of each kind.' }),
    manifests_overdue: z.boolean().meta({ description: 'Whether the newest manifest is more than three hours old.' }),
    manifests: z.array(manifest).meta({ description: 'Newest first.' }),
  })
  .meta({ id: 'Audit' });
