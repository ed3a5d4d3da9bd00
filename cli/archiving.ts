import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LambdaClient } from '@aws-sdk/client-lambda';
import type { ArchiverRequest } from '../lambdas/archive/contract.ts';
import { archivedLines } from '../lambdas/archive/store/archived-lines.ts';
import { DynamoDbLedgerRows } from '../lambdas/archive/store/dynamodb-ledger-rows.ts';
import { lateRecords } from '../lambdas/archive/store/late-records.ts';
import { RowFiles } from '../lambdas/archive/store/row-files.ts';
import { S3Objects } from '../lambdas/archive/store/s3-objects.ts';
import { StoredManifests } from '../lambdas/archive/store/stored-manifests.ts';
import { boundsOfBatch, missingRows } from '../lambdas/archive/use/missing-rows.ts';
import type { ParkedWork } from '../lambdas/events/use/redrive-parked.ts';
import { DynamoDbJobMarks } from '../lambdas/jobs/store/dynamodb-job-marks.ts';
import { readCarriedUntil } from '../lambdas/jobs/use/carried-until.ts';
import { systemClock, systemDigest } from '../lambdas/kernel/platform/platform.ts';
import { s3Client } from '../lambdas/kernel/platform/s3.ts';
import { type AwsTarget, openTables, stackOutputs } from './deployment.ts';
import { CliFailure, ExitCode } from './failure.ts';
import { invoke } from './republishing.ts';

/**
 * Only the archiver writes to the archive: this function reads the rows from the Ledger. A repeated call finds no
 * missing rows.
 *
 * @throws CliFailure when the message does not describe a batch, when the archiver did not archive a row, or when a
 * chain is broken, so that its rows cannot be archived
 */
export async function archiveAgain(target: AwsTarget, work: ParkedWork): Promise<void> {
  if (work.kind === 'record')
    throw new CliFailure(
      ExitCode.incomplete,
      'the message does not describe a batch of Ledger rows: see the runbook, "The archive is behind".',
    );
  const [archiver] = await stackOutputs(target, 'service', ['archiverFunction']);
  const [bucket] = await stackOutputs(target, 'data', ['archiveBucket']);
  const { client, tables, pacing } = await openTables(target);
  const objects = new S3Objects(s3Client(target), bucket);
  const tools = {
    archive: archivedLines(objects),
    ledger: new DynamoDbLedgerRows(client, tables.ledger, pacing),
    parts: () => new RowFiles(mkdtempSync(join(tmpdir(), 'payonce-redrive-'))),
  };
  const isCopied = (await readCarriedUntil(new DynamoDbJobMarks(client, tables.registry, pacing))) !== undefined;
  const manifests = { manifests: new StoredManifests(objects), digest: systemDigest };
  const bounds = await boundsOfBatch(manifests, work, isCopied);
  const lambda = new LambdaClient(target);
  // One read returns a limited number of missing rows. If the next read begins with the same row again, the archiver
  // failed to archive that row.
  for (let before: string | undefined; ; ) {
    const { rows, broken } = await missingRows(tools, bounds, systemClock.nowMs());
    for (const Records of lateRecords(rows))
      await invoke(lambda, archiver, { Records, isLate: true } satisfies ArchiverRequest);
    const [first] = rows;
    const place = first && `${first.row.chain} ${first.row.sort}`;
    if (place !== undefined && place !== before) {
      before = place;
      continue;
    }
    if (place !== undefined)
      throw new CliFailure(ExitCode.incomplete, `the archiver did not archive ${place}: see the log of ${archiver}.`);
    if (broken.length === 0) return;
    const because = `the chain ${broken[0]} is broken, so its missing rows were not archived: see the runbook, "The Ledger was changed".`;
    throw new CliFailure(ExitCode.incomplete, because);
  }
}
