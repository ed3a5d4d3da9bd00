import * as z from 'zod';
import { unixSeconds } from '../../payments/http/payment-objects.ts';
import { VERIFIED } from '../domain/verification.ts';

const counted = (what: string) =>
  z
    .int()
    .nullable()
    .meta({ description: `${what}. Null if the verification failed.` });

const verification = z
  .looseObject({
    object: z.literal('verification'),
    from: unixSeconds.meta({ description: 'Start of the verified time range (inclusive), in Unix seconds.' }),
    to: unixSeconds.meta({ description: 'End of the verified time range (exclusive), in Unix seconds.' }),
    began: unixSeconds,
    ended: unixSeconds,
    verdict: z.enum(['holds', 'differs', 'failed']).meta({
      description:
        '`holds`: no violation was found. `differs`: violations were found. `failed`: the verification ended without a result, so the time range is not verified.',
    }),
    failure: z.string().nullable().meta({ description: 'Why the verification failed; null if it did not.' }),
    rows: counted('Number of verified rows of the Ledger'),
    lines: counted('Number of verified lines of the archive'),
    objects: counted('Number of listed objects that exist in the archive'),
    manifests: counted('Number of verified manifests'),
    findings: z.int().meta({ description: 'Number of violations.' }),
    first_findings: z.array(z.looseObject({ kind: z.string() })).meta({
      description:
        'The first 20 violations. `kind` determines the other fields. `payonce verify` lists all violations.',
    }),
  })
  .meta({ id: 'Verification' });

const verified = z
  .looseObject({
    kind: z.enum(VERIFIED).meta({
      description:
        '`day`: a day, verified in the following night. `part`: a slice of the data from before the current month. `asked`: a time range that an operator requested.',
    }),
    due: unixSeconds.nullable().meta({
      description:
        'Start of the hour in which the last verification was due, in Unix seconds. Null when none has been due yet.',
    }),
    overdue: z.boolean().meta({ description: 'True if no verification has finished since the last one was due.' }),
    unreadable: z
      .int()
      .meta({ description: 'Number of stored records that the auditor did not write, or that cannot be read.' }),
    verifications: z.array(verification).meta({
      description: 'Newest first. Verifications that failed or found violations remain in the list longer than others.',
    }),
  })
  .meta({ id: 'Verified' });

const manifest = z
  .looseObject({
    object: z.literal('manifest'),
    number: z.int(),
    created: unixSeconds.nullable(),
    objects: z.int().nullable().meta({ description: 'Number of listed objects.' }),
    lines: z
      .int()
      .nullable()
      .meta({ description: 'Number of lines in the listed objects. The archive may contain a line more than once.' }),
    hash: z.string().nullable().meta({ description: 'The SHA-256 hash of the manifest, in hexadecimal.' }),
    previous: z.string().nullable().meta({ description: 'The hash of the previous manifest.' }),
    signed: z.boolean().nullable(),
    failure: z
      .string()
      .nullable()
      .meta({ description: 'Why the manifest cannot be read (only its `number` is then known), or null.' }),
  })
  .meta({ id: 'Manifest' });

export const audit = z
  .looseObject({
    object: z.literal('audit'),
    archive: z.string().nullable().meta({
      description:
        'The bucket of the archive. Null when the deployment has none; no verification then runs automatically.',
    }),
    verified: z.array(verified).meta({ description: 'The latest verifications of each kind.' }),
    manifests_overdue: z.boolean().meta({ description: 'Whether the newest manifest is more than three hours old.' }),
    manifests: z.array(manifest).meta({ description: 'Newest first.' }),
  })
  .meta({ id: 'Audit' });
