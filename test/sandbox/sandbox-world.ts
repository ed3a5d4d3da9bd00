import type { SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import type { Books } from '../../sandbox/books.ts';
import { type ApiHandler, createHandler } from '../../sandbox/entry.ts';
import type { Tasks } from '../../sandbox/world.ts';
import { emptyBooks } from '../world/sandbox-books.ts';

export type SandboxHandler = ApiHandler;

/** Waits end immediately and are recorded. */
export interface TestSandbox {
  readonly handler: SandboxHandler;
  readonly books: Books;
  /** In milliseconds. */
  readonly waits: readonly number[];
  /** Includes finished tasks. */
  readonly queued: readonly QueuedTask[];
  /** The callback URL; undefined until set. */
  address: string | undefined;
  nowMs(): number;
  advance(milliseconds: number): void;
  /** Runs all due tasks, and the tasks that they make due, without advancing the time. */
  runDue(): Promise<void>;
  /** Each task runs when it is due. */
  runFor(milliseconds: number): Promise<void>;
  /** The messages of the batch have the ids `m1`, `m2` and so on. */
  batch(...bodies: readonly string[]): Promise<SQSBatchResponse>;
}

interface QueuedTask {
  readonly body: string;
  readonly delaySeconds: number;
  readonly dueMs: number;
}

export const SANDBOX_SECRET = 'sandbox-signing-secret';

/** 2026-01-01T00:00:00Z */
export const SANDBOX_START_MS = 1_767_225_600_000;

/** More tasks are treated as an endless chain, and cause an error. */
const MAX_STEPS = 1_000;

/**
 * Without `tasks`, uses a queue in memory, which `runDue` and `runFor` process.
 * @param run part of every id that this sandbox creates, because books on DynamoDB may be shared with other runs
 */
export function createTestSandbox(
  books: Books = emptyBooks(),
  tasks?: Tasks,
  run: string = crypto.randomUUID().slice(0, 8),
  secrets?: readonly string[],
): TestSandbox {
  let nowMs = SANDBOX_START_MS;
  let ids = 0;
  const waits: number[] = [];
  const queued: QueuedTask[] = [];
  const waiting: QueuedTask[] = [];
  const handler = createHandler({
    books,
    tasks: tasks ?? {
      enqueue: async (task, delaySeconds) => {
        const added = { body: JSON.stringify(task), delaySeconds, dueMs: nowMs + delaySeconds * 1_000 };
        queued.push(added);
        waiting.push(added);
      },
    },
    runner: idempotentRunner,
    ...(secrets === undefined ? {} : { secrets: async () => secrets }),
    callbacks: { address: async () => sandbox.address, secret: async () => SANDBOX_SECRET },
    nowMs: () => nowMs,
    newId: (prefix) => {
      ids += 1;
      return `${prefix}${run}_${String(ids).padStart(6, '0')}`;
    },
    wait: async (milliseconds) => {
      waits.push(milliseconds);
    },
  });

  const batch = (...bodies: readonly string[]) => handler({ Records: bodies.map(message) });
  const takeNext = (untilMs: number) => {
    const [next] = waiting.filter(({ dueMs }) => dueMs <= untilMs).toSorted((a, b) => a.dueMs - b.dueMs);
    if (next !== undefined) waiting.splice(waiting.indexOf(next), 1);
    return next;
  };
  const runUntil = async (untilMs: number) => {
    for (let steps = 1; ; steps += 1) {
      const next = takeNext(untilMs);
      if (next === undefined) break;
      if (steps > MAX_STEPS) throw new Error('the queue does not become empty');
      nowMs = Math.max(nowMs, next.dueMs);
      const { batchItemFailures } = await batch(next.body);
      if (batchItemFailures.length > 0) throw new Error(`the task failed: ${next.body}`);
    }
    nowMs = untilMs;
  };

  const sandbox: TestSandbox = {
    handler,
    books,
    waits,
    queued,
    address: undefined,
    nowMs: () => nowMs,
    advance: (milliseconds) => {
      nowMs += milliseconds;
    },
    runDue: () => runUntil(nowMs),
    runFor: (milliseconds) => runUntil(nowMs + milliseconds),
    batch,
  };
  return sandbox;
}

function message(body: string, index: number): SQSEvent['Records'][number] {
  const record: SQSRecord = {
    messageId: `m${index + 1}`,
    receiptHandle: `r${index + 1}`,
    body,
    attributes: {
      ApproximateReceiveCount: '1',
      SentTimestamp: '0',
      SenderId: 'sandbox',
      ApproximateFirstReceiveTimestamp: '0',
    },
    messageAttributes: {},
    md5OfBody: '',
    eventSource: 'aws:sqs',
    eventSourceARN: 'arn:aws:sqs:us-east-1:000000000000:sandbox-tasks',
    awsRegion: 'us-east-1',
  };
  return record;
}
