import {
  GetObjectCommand,
  ListObjectsV2Command,
  ListObjectVersionsCommand,
  PutObjectCommand,
} from '@aws-sdk/client-s3';
import { beforeAll, expect, test } from '@jest/globals';
import { MANIFESTS_PREFIX } from '../../lambdas/archive/domain/manifest.ts';
import { VERIFICATIONS_PREFIX } from '../../lambdas/archive/domain/verification.ts';
import type { wire as Wire } from '../../lambdas/functions/archive-auditor.ts';
import { Environment } from '../../lambdas/kernel/contract/environment.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { QUIET_INSTRUMENTS } from '../support/quiet-instruments.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { Stores } from '../world/stores.ts';
import { TABLES } from '../world/tables.ts';
import { AuditedArchive } from './audited-archive.ts';
import { answerPut, refused } from './memory-s3.ts';

const VARIABLES = {
  [Environment.ledgerTable]: TABLES.ledger,
  [Environment.registryTable]: TABLES.registry,
  [Environment.archiveBucket]: 'payonce-archive',
};
/** A time in the night at which the auditor also verifies a part of the older archive. */
const NIGHT_MS = Date.UTC(2026, 2, 10, 2, 5);
const HOUR_MS = 3_600_000;
const YESTERDAY_NOON_MS = Date.UTC(2026, 2, 9, 12);

let wire: typeof Wire;
beforeAll(async () => {
  Object.assign(process.env, { AWS_REGION: 'eu-west-1', ...VARIABLES });
  ({ wire } = await import('../../lambdas/functions/archive-auditor.ts'));
});

/**
 * Lambda invokes the auditor three times if the first attempt and the first retry of an hourly run fail. Here, the
 * retries also follow a success.
 * @param called called for each request to the bucket
 * @returns the keys of the recorded verifications
 */
async function audit(
  archive: AuditedArchive,
  isAway: (name: string) => boolean,
  called: () => void = () => undefined,
): Promise<readonly string[]> {
  const { objects } = archive;
  const clock = new SimulatedClock(NIGHT_MS);
  const send = async (command: unknown): Promise<unknown> => {
    called();
    if (command instanceof PutObjectCommand) return answerPut(objects, command);
    if (command instanceof ListObjectVersionsCommand) return {};
    if (command instanceof ListObjectsV2Command) {
      const { Prefix = '', StartAfter = '', MaxKeys = 1_000 } = command.input;
      return { Contents: (await objects.names(Prefix, StartAfter, MaxKeys)).map((Key) => ({ Key })) };
    }
    if (command instanceof GetObjectCommand) {
      const { Key = '' } = command.input;
      if (isAway(Key)) throw refused('AccessDenied', 403);
      const text = await objects.text(Key);
      return text === undefined ? {} : { Body: { transformToString: async () => text } };
    }
    throw refused('AccessDenied', 403);
  };
  const platform = {
    clock,
    entropy: countingEntropy(),
    digest: systemDigest,
    documents: new Stores(clock).database.client,
    variables: VARIABLES,
    instruments: QUIET_INSTRUMENTS,
    s3: () => ({ send }),
    kms: () => ({ send: () => Promise.reject(new Error('unexpected')) }),
  };
  const auditor = wire(platform as never, idempotentRunner);
  for (let attempt = 0; attempt < 3; attempt += 1) {
    await auditor({}).catch(() => undefined);
    clock.advance(120_000);
  }
  return [...objects.objects.keys()].filter((name) => name.startsWith(VERIFICATIONS_PREFIX));
}

async function archiveOfAYear(): Promise<AuditedArchive> {
  const archive = new AuditedArchive();
  for (const atMs of [Date.UTC(2025, 2, 1), YESTERDAY_NOON_MS]) await archive.manifest(atMs);
  return archive;
}

test.each(['can', 'cannot'])(
  'the auditor verifies the older part of the archive if the last day %s be read',
  async (how) => {
    const names = await audit(await archiveOfAYear(), (name) => how === 'cannot' && name.includes('2026/03/09'));
    expect(names.map((name) => name.split('/')[1])).toContain('part');
  },
);

test.each(['valid', 'changed'])('the auditor verifies the archive if the newest manifest is %s', async (how) => {
  const archive = await archiveOfAYear();
  const newest = [...archive.objects.objects.keys()]
    .filter((name) => name.startsWith(MANIFESTS_PREFIX))
    .sort()
    .at(-1);
  if (how === 'changed' && newest !== undefined)
    archive.objects.objects.set(newest, { name: newest, text: '{}', sha256: new Uint8Array(32) });
  expect((await audit(archive, () => false)).length).toBeGreaterThan(0);
});

test('the auditor’s requests to the bucket grow at most in proportion to the number of objects', async () => {
  const calls = new Map<number, number>();
  for (const objects of [10, 100, 1_000]) {
    const archive = await archiveOfAYear();
    const atOnce = objects / 10;
    for (let hour = 0; hour < 10; hour += 1) {
      for (let each = 1; each <= atOnce; each += 1) await archive.lineAt(YESTERDAY_NOON_MS + hour * HOUR_MS + each);
      await archive.manifest(YESTERDAY_NOON_MS + (hour + 1) * HOUR_MS);
    }
    let made = 0;
    await audit(
      archive,
      () => false,
      () => void (made += 1),
    );
    calls.set(objects, made);
  }
  const [few = 0, more = 0, most = 0] = calls.values();
  const [first, second] = [(more - few) / 90, (most - more) / 900];
  expect(first).toBeGreaterThan(0);
  expect(second).toBeLessThanOrEqual(1.2 * first);
});
