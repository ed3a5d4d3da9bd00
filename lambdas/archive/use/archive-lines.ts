import { fullJitter } from '../../kernel/backoff.ts';
import type { Digest } from '../../kernel/digest.ts';
import { isFault, TerminalError } from '../../kernel/faults.ts';
import type { Clock, Entropy } from '../../kernel/world.ts';
import type { ArchiveLine } from '../domain/archive-line.ts';
import { type ArchiveObject, archiveObject } from '../domain/archive-object.ts';
import { isLateLine } from '../domain/object-times.ts';

/** Objects are never changed or removed. */
export interface ArchiveObjects {
  /** @throws the fault of the failed write; after an {@link AmbiguousError}, the object may exist */
  put(object: ArchiveObject): Promise<'written' | 'there'>;
}

export interface ArchiveTools {
  readonly objects: ArchiveObjects;
  readonly digest: Digest;
  readonly clock: Pick<Clock, 'nowMs' | 'sleep'>;
  readonly entropy: Pick<Entropy, 'fraction'>;
  /** Called for each failed attempt that is followed by another one. */
  readonly report: (error: unknown) => void;
}

/**
 * Upper limits of the first and of the longest wait between attempts, in milliseconds. The limit doubles; each wait is
 * random (full jitter).
 */
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 60_000;

/**
 * Retries while the archive is unavailable. If the archiver failed immediately instead, Lambda would halve the batch at
 * every retry, and the objects written after an outage would be tiny:
 *
 *   batch of 1,000   unavailable ── 1 s ── unavailable ── 2 s ── … ── 9 minutes: redelivered as two batches
 *
 * An object's key is derived from its lines, so a batch that the Stream delivers twice yields the same objects. If
 * Lambda splits a batch between two deliveries, several objects contain its lines.
 *
 * @param deadlineMs time after which no attempt begins, in Unix milliseconds
 * @param isLate true if the rows are no longer in the Stream, so that their positions in it are unknown
 * @throws the error of the last attempt
 */
export async function archiveLines(
  tools: ArchiveTools,
  lines: readonly ArchiveLine[],
  deadlineMs: number,
  isLate = false,
): Promise<readonly ArchiveObject[]> {
  const { digest, clock } = tools;
  const { inTime = [], late = [] } = Object.groupBy(lines, (line) => (isLate || isLateLine(line) ? 'late' : 'inTime'));
  const lateAtMs = isLate ? clock.nowMs() : Math.min(...late.map(({ atMs }) => atMs));
  const objects = [...objectOf(digest, inTime), ...objectOf(digest, late, lateAtMs)];
  for (const object of objects) await putObject(tools, object, deadlineMs);
  return objects;
}

function objectOf(
  digest: Digest,
  [first, ...others]: readonly ArchiveLine[],
  lateAtMs?: number,
): readonly ArchiveObject[] {
  return first === undefined ? [] : [archiveObject(digest, [first, ...others], lateAtMs)];
}

async function putObject(
  { objects, clock, entropy, report }: ArchiveTools,
  object: ArchiveObject,
  deadlineMs: number,
): Promise<void> {
  for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(2 * waitMs, LONGEST_WAIT_MS)) {
    try {
      await objects.put(object);
      return;
    } catch (error) {
      const jitteredMs = fullJitter(waitMs, entropy);
      const isLast = clock.nowMs() + jitteredMs > deadlineMs;
      if (!isFault(error) || error instanceof TerminalError || isLast) throw error;
      report(error);
      await clock.sleep(jitteredMs);
    }
  }
}
