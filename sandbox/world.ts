import type { OperationRunner } from '../lambdas/once/use/operation-runner.ts';
import type { Books } from './books.ts';
import type { Task } from './tasks.ts';

/** The dependencies of the sandbox. */
export interface SandboxWorld {
  readonly books: Books;
  readonly tasks: Tasks;
  readonly callbacks: Callbacks;
  /**
   * Every request except those of the payer's page requires one of them. @default none: all callers are in this process
   */
  readonly secrets?: () => Promise<readonly string[]>;
  /** Posts a callback. @returns whether it was answered 2xx in time; false for every failure. @default over HTTP */
  readonly post?: (callback: Callback) => Promise<boolean>;
  /** Runs each request with a key, each change of a charge and each delivery once. */
  readonly runner: OperationRunner;
  readonly nowMs: () => number;
  readonly newId: (prefix: 'ch_' | 're_' | 'dp_' | 'evt_' | 'rsv_' | 'crd_' | 'eml_') => string;
  readonly wait: (milliseconds: number) => Promise<void>;
  /** Whether it plays a processor of live mode, in tests. @default false */
  readonly livemode?: boolean;
  /** The sandbox's base URL without a trailing slash, for requests that do not contain it. */
  readonly baseUrl?: string;
}

/** The queue of tasks. An enqueued task runs at least once, in no guaranteed order. */
export interface Tasks {
  /** `delaySeconds` is a whole number from 0 to 900 (Amazon SQS, "Delay queues"). */
  enqueue(task: Task, delaySeconds: number): Promise<void>;
}

export interface Callback {
  readonly address: string;
  readonly body: string;
  /** The value of SIGNATURE_HEADER. */
  readonly signature: string;
  readonly timeoutMs: number;
}

/** The address and the signing secret of callbacks. */
export interface Callbacks {
  /** The URL to which callbacks are posted; undefined while none is configured. */
  address(): Promise<string | undefined>;
  secret(): Promise<string>;
}
