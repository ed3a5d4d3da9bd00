import type { OperationRunner } from '../lambdas/once/use/operation-runner.ts';
import type { Books } from './books.ts';
import type { Task } from './tasks.ts';

/** What the sandbox needs from the world. */
export interface SandboxWorld {
  readonly books: Books;
  readonly tasks: Tasks;
  readonly callbacks: Callbacks;
  /** Runs each request with a key, each change of a charge and each delivery once. */
  readonly runner: OperationRunner;
  readonly nowMs: () => number;
  readonly newId: (prefix: 'ch_' | 're_' | 'dp_' | 'evt_' | 'rsv_' | 'crd_' | 'eml_') => string;
  readonly wait: (milliseconds: number) => Promise<void>;
  /** The address under which the sandbox is called, without a trailing slash, for requests that do not tell it. */
  readonly baseUrl?: string;
}

/** What is done later. A task that was taken is done at least once, in no promised order. */
export interface Tasks {
  /** `delaySeconds` is a whole number from 0 to 900 (Amazon SQS, "Delay queues"). */
  enqueue(task: Task, delaySeconds: number): Promise<void>;
}

/** Where callbacks go, and what they are signed with. */
export interface Callbacks {
  /** The full address to post to; undefined while none is configured. */
  address(): Promise<string | undefined>;
  secret(): Promise<string>;
}
