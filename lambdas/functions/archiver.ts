import { ARCHIVER_WAITS_SECONDS, type ArchiverRequest } from '../archive/contract.ts';
import type { ArchiveLine } from '../archive/domain/archive-line.ts';
import { readArchiverConfig } from '../archive/settings.ts';
import { S3Archive } from '../archive/store/s3-archive.ts';
import { readStreamLine } from '../archive/store/stream-lines.ts';
import { archiveLines } from '../archive/use/archive-lines.ts';
import { configuredParking } from '../events/store/sqs-parking.ts';
import { s3Client } from '../kernel/platform/s3.ts';
import { queues } from '../kernel/platform/sqs.ts';
import { type Buckets, type Platform, type Queues, systemPlatform } from '../kernel/platform/system-platform.ts';
import { standardTelemetry } from '../kernel/platform/telemetry.ts';
import { idempotently } from '../once/idempotently.ts';
import type { OperationRunner } from '../once/use/operation-runner.ts';

/** Writes the records of the Ledger's Stream to the archive. A batch that was not written is redelivered. */
export const handler = idempotently(
  { unit: 'a batch of the Stream', record: 'the object in the archive, named after the content of the batch' },
  (runner) => wire({ ...systemPlatform(), ...queues, s3: s3Client }, runner),
);

export function wire(platform: Platform & Queues & Buckets, _runner: OperationRunner) {
  const { clock, entropy, digest } = platform;
  const config = readArchiverConfig(platform.variables);
  const telemetry = standardTelemetry('archiver', platform.instruments);
  const objects = new S3Archive(platform.s3(), config.bucket);
  const parking = configuredParking(platform, config.parkingQueueUrl);
  const report = (error: unknown) => telemetry.fault('archiver', error);
  const tools = { objects, digest, clock, entropy, report };
  return async ({ Records, isLate = false }: ArchiverRequest): Promise<void> => {
    const deadlineMs = clock.nowMs() + ARCHIVER_WAITS_SECONDS * 1_000;
    const read = Records.map((record) => readStreamLine(digest, record));
    const all = read.flatMap((each) => (each.kind === 'line' ? [each.line] : []));
    const lines = isLate ? all.map(withoutPosition) : all;
    const unreadable = read.filter((each) => each.kind === 'unreadable');
    // Park unreadable records first: a redelivered batch may then park a record twice, but no record is lost.
    for (const { whole, detail } of unreadable) await parking.park({ body: whole, reason: 'unreadable', detail });
    const written = await archiveLines(tools, lines, deadlineMs, isLate);
    const object = written.map(({ name }) => name).join(' ') || 'none';
    telemetry.run('archived', {}, { lines: lines.length, parked: unreadable.length, object });
  };
}

/** If the request has `isLate`, its rows were read from the Ledger, so their positions in the Stream are unknown. */
function withoutPosition({ sequence: _none, ...line }: ArchiveLine): ArchiveLine {
  return line;
}
