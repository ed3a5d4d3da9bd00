import type { JobCounts } from '../../jobs/use/job.ts';
import type { Piece } from '../../jobs/use/pieces-job.ts';
import type { Clock } from '../../kernel/world.ts';
import { hasNoWriter } from '../domain/data-export.ts';
import type { ExportStore, StartWriter } from './exports.ts';

export interface ResumeExportsTools {
  readonly exports: Pick<ExportStore, 'open' | 'read'>;
  readonly startWriter: StartWriter;
  readonly clock: Pick<Clock, 'nowMs'>;
  /** Receives the error of an export whose writer could not be started. A later run starts it. */
  readonly report: (error: unknown) => void;
}

/**
 * Starts a writer for each unfinished export of any tenant without an active writer. Either no writer was started, or
 * all of Lambda's attempts failed.
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
