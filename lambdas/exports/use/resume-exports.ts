import type { JobCounts } from '../../jobs/use/job.ts';
import type { Piece } from '../../jobs/use/pieces-job.ts';
import type { Clock } from '../../kernel/world.ts';
import { hasNoWriter } from '../domain/data-export.ts';
import type { ExportStore, StartWriter } from './exports.ts';

export interface ResumeExportsTools {
  readonly exports: Pick<ExportStore, 'open' | 'read'>;
  readonly startWriter: StartWriter;
  readonly clock: Pick<Clock, 'nowMs'>;
  /** Called with the error when a writer could not be started. A later run starts the writer. */
  readonly report: (error: unknown) => void;
}

/**
 * Starts a writer for every unfinished export without an active writer, for all tenants. The writer of such an export
 * was never started, or failed in all of Lambda's attempts.
 */
export async function resumeExports(
  { exports, startWriter, clock, report }: ResumeExportsTools,
  { deadlineMs }: Parameters<Piece>[0],
): Promise<JobCounts> {
  const counts = { done: 0, left: 0, failed: 0 };
  for (const key of await exports.open()) {
    if (clock.nowMs() >= deadlineMs) {
      counts.left += 1;
      continue;
    }
    try {
      const found = await exports.read(key);
      if (found === undefined || !hasNoWriter(found, clock.nowMs())) continue;
      await startWriter(key);
      counts.done += 1;
    } catch (error) {
      report(error);
      counts.failed += 1;
    }
  }
  return counts;
}
