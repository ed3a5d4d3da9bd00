import type { OperationRunner } from '../lambdas/once/use/operation-runner.ts';
import type { Books } from './books.ts';
import type { Task } from './tasks.ts';

export interface SandboxWorld {
  readonly books: Books;
  readonly tasks: Tasks;
  readonly callbacks: Callbacks;
  /**
   * Returns the accepted secrets. Every request, except requests for the payer's page, must contain one of the secrets.
   * @default every request is accepted, for example because all callers are in this process
   */
  readonly secrets?: () => Promise<readonly string[]>;
  /**
   * Posts a callback.
   * @returns whether a 2xx response arrived in time; false for every failure
   * @default posts over HTTP
   */
  readonly post?: (callback: Callback) => Promise<boolean>;
  readonly runner: OperationRunner;
  readonly nowMs: () => number;
  /** Signatures contain this time. @default the result of `nowMs` */
  readonly wireMs?: () => number;
  readonly newId: (prefix: 'ch_' | 're_' | 'dp_' | 'evt_' | 'rsv_' | 'crd_' | 'eml_') => string;
  readonly wait: (milliseconds: number) => Promise<void>;
  /** Simulates a processor in live mode, for tests. */
  readonly livemode?: boolean;
  /** Has no trailing slash. Used for requests that do not contain the base URL. */
  readonly baseUrl?: string;
}

/** An enqueued task runs at least once, in no guaranteed order. */
export interface Tasks {
  /** `delaySeconds` is an integer from 0 to 900 (Amazon SQS, "Delay queues"). */
  enqueue(task: Task, delaySeconds: number): Promise<void>;
}

export interface Callback {
  readonly address: string;
  readonly body: string;
  /** The value of SIGNATURE_HEADER. */
  readonly signature: string;
  readonly timeoutMs: number;
}

export interface Callbacks {
  /** Undefined while no address is configured. */
  address(): Promise<string | undefined>;
  secret(): Promise<string>;
}
