import { moveCarriedUntil } from '../jobs/use/carried-until.ts';
import { type Job, ONE_DONE } from '../jobs/use/job.ts';
import type { JobMarks } from '../jobs/use/job-marks.ts';
import { type Piece, sweepsJob } from '../jobs/use/pieces-job.ts';
import { type CarriedCounts, type CarryTools, carryShard, observeOutbox } from '../postgres/carry.ts';
import { OUTBOX_SHARDS } from '../postgres/outbox.ts';

export interface CarriedDatabase extends CarryTools {
  /**
   * Records the identity of the database in the Registry, under the name from the settings, once the database has
   * payments or orders. From then on, a different database under this name is refused.
   */
  readonly record: () => Promise<void>;
}

export interface CarryJobTools extends CarriedDatabase {
  readonly marks: JobMarks;
  /** All databases except the first one. @default the deployment has one database */
  readonly others?: readonly CarriedDatabase[];
}

/**
 * Number of shards of the outbox that are copied concurrently. They share one database connection, because copying
 * mostly waits for DynamoDB.
 */
const SHARDS_AT_ONCE = 8;

/**
 * A job has only one run at a time, so each shard has one worker. At its end, a run reports the oldest row that is not
 * yet copied, and stores the time until which the copies are complete, even if the outbox of one database cannot be
 * read.
 */
export function carryJob(tools: CarryJobTools): Job<string> {
  const outboxes = [tools, ...(tools.others ?? [])];
  const pieces: Record<string, Piece> = {};
  for (let shard = 0; shard < OUTBOX_SHARDS; shard += 1) {
    pieces[`shard-${shard}`] = async ({ deadlineMs }) => {
      const counts = await ofAll(outboxes, (each) => carryShard(each, shard, deadlineMs));
      const sum = (count: keyof CarriedCounts): number => counts.reduce((total, each) => total + each[count], 0);
      return { done: sum('carried'), left: sum('left') + sum('stopped'), failed: sum('failed') };
    };
  }
  // Pieces run in groups of `SHARDS_AT_ONCE`, which divides the number of shards, so this piece starts only after all
  // shards are done.
  pieces['observe'] = async () => {
    const atMs = tools.clock.nowMs();
    const read = await Promise.allSettled(outboxes.map(observeOutbox));
    const times = read.map((each) => (each.status === 'fulfilled' ? each.value : undefined));
    if (times.some((time) => time !== undefined)) await moveCarriedUntil(tools.marks, times, atMs);
    valuesOf(read);
    return ONE_DONE;
  };
  pieces['record'] = async () => {
    await ofAll(outboxes, ({ record }) => record());
    return ONE_DONE;
  };
  return { ...sweepsJob(pieces), atOnce: SHARDS_AT_ONCE };
}

/**
 * Runs the work on all databases, even if one of them does not respond.
 * @throws the first error, after the work on all databases has ended
 */
async function ofAll<Result>(
  outboxes: readonly CarriedDatabase[],
  work: (outbox: CarriedDatabase) => Promise<Result>,
): Promise<readonly Result[]> {
  return valuesOf(await Promise.allSettled(outboxes.map(work)));
}

function valuesOf<Result>(results: readonly PromiseSettledResult<Result>[]): readonly Result[] {
  return results.map((result) => {
    if (result.status === 'rejected') throw result.reason;
    return result.value;
  });
}
