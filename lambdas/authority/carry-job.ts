import { moveCarriedUntil } from '../jobs/use/carried-until.ts';
import { type Job, ONE_DONE } from '../jobs/use/job.ts';
import type { JobMarks } from '../jobs/use/job-marks.ts';
import { type Piece, sweepsJob } from '../jobs/use/pieces-job.ts';
import { type CarryTools, carryShard, observeOutbox } from '../postgres/carry.ts';
import { OUTBOX_SHARDS } from '../postgres/outbox.ts';

export interface CarryJobTools extends CarryTools {
  readonly marks: JobMarks;
}

/**
 * Number of shards that are copied concurrently. The shards share a connection. Most of the time, they wait for
 * DynamoDB.
 */
const SHARDS_AT_ONCE = 8;

/**
 * Creates the job `carry`, which copies the waiting rows of the outbox, shard by shard. Runs of a job exclude each
 * other, so each shard has one worker. At its end, a run reports the oldest row that still waits, and stores the time
 * until which the copies are complete.
 */
export function carryJob(tools: CarryJobTools): Job<string> {
  const pieces: Record<string, Piece> = {};
  for (let shard = 0; shard < OUTBOX_SHARDS; shard += 1) {
    pieces[`shard-${shard}`] = async ({ deadlineMs }) => {
      const { carried, stopped, failed, left } = await carryShard(tools, shard, deadlineMs);
      return { done: carried, left: left + stopped, failed };
    };
  }
  // The number of shards is a multiple of `SHARDS_AT_ONCE`, so this piece begins after all shards.
  pieces['observe'] = async () => {
    const atMs = tools.clock.nowMs();
    await moveCarriedUntil(tools.marks, await observeOutbox(tools), atMs);
    return ONE_DONE;
  };
  return { ...sweepsJob(pieces), atOnce: SHARDS_AT_ONCE };
}
