import { setTimeout as sleep } from 'node:timers/promises';
import type { Charge, EventList } from '../lambdas/kernel/contract/sandbox-api.ts';
import { runningProcesses, signalProcess } from '../local/processes.ts';
import type { EventKind } from './contract.ts';

/** Who takes payments, and where its owners are asked what happened. */
export interface SideConfig {
  /** Without a trailing slash; both have the same paths. */
  readonly apiUrl: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Its account at the processor. */
  readonly processorUrl: string;
  readonly paymentsFunction: string;
  readonly receiptsFunction: string;
  /** The payment that a key makes: known before it is there. */
  readonly paymentOf: (key: string) => string;
  /** Sets of postings in its books. */
  readonly postings: (payment: string, kind: EventKind) => Promise<number>;
  /** What its consumer got and did. */
  readonly receipts: (payment: string) => Promise<readonly Receipt[]>;
  /** Puts a payment's event on the bus once more, as a publisher does that died before it knew that it had done so. */
  readonly publishAgain: (payment: string) => Promise<void>;
}

export type Receipt =
  | { readonly row: 'delivery'; readonly kind: string; readonly eventId: string }
  | { readonly row: 'effect'; readonly kind: string };

export interface Answer {
  readonly status: number;
  /** Seconds; undefined when the client was not asked to come back. */
  readonly retryAfter: number | undefined;
}

/** A client asks again at most so often, a second or more apart: longer than any lease. */
const MAX_RETRIES = 60;
const RETRY_MS = 1_000;
const TOO_MANY = 429;

/** One of the two, as its clients, its processor and bad luck see it. */
export class Side {
  readonly config: SideConfig;

  constructor(config: SideConfig) {
    this.config = config;
  }

  pay(key: string, body: Readonly<Record<string, unknown>> = {}, signal?: AbortSignal): Promise<Answer> {
    return this.#post('/v1/payments', key, { amount: 10_000, currency: 'EUR', source: 'tok_ok', ...body }, signal);
  }

  refund(payment: string, key: string, amount: number): Promise<Answer> {
    return this.#post(`/v1/payments/${payment}/refunds`, key, { amount });
  }

  /** As a client does that wants its answer: asks again, with the same key, while it is told to or gets none. */
  async payUntilAnswered(key: string, body: Readonly<Record<string, unknown>> = {}): Promise<Answer> {
    for (let retry = 0; retry < MAX_RETRIES; retry += 1) {
      const answer = await this.pay(key, body);
      const isAnswered = answer.status < 500 && answer.status !== TOO_MANY && answer.retryAfter === undefined;
      if (isAnswered) return answer;
      await sleep(RETRY_MS * (answer.retryAfter ?? 1));
    }
    throw new Error(`there was no answer to ${key}`);
  }

  /** The processor's own list. */
  async charges(payment: string): Promise<readonly Charge[]> {
    const answer = await fetch(`${this.config.processorUrl}/charges?payment=${payment}`);
    return ((await answer.json()) as { data: readonly Charge[] }).data;
  }

  /** How often the processor has called back about a charge. */
  async callbacks(charge: Charge): Promise<number> {
    const answer = await fetch(`${this.config.processorUrl}/events?charge=${charge.id}`);
    const { data } = (await answer.json()) as EventList;
    return data.reduce((sum, { attempts }) => sum + attempts, 0);
  }

  /** Ends the processes of a function at once, as a machine does that dies. @returns how many there were */
  kill(functionName: string): number {
    const workers = runningProcesses().filter(
      ({ commandLine }) =>
        commandLine.includes(`ministack-lambda-${functionName}-`) && commandLine.includes('_worker.js'),
    );
    for (const { pid } of workers) signalProcess(pid, 'SIGKILL');
    return workers.length;
  }

  async #post(path: string, key: string, body: unknown, signal?: AbortSignal): Promise<Answer> {
    const answer = await fetch(`${this.config.apiUrl}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': key, ...this.config.headers },
      body: JSON.stringify(body),
      ...(signal === undefined ? {} : { signal }),
    });
    await answer.text();
    const retryAfter = answer.headers.get('retry-after');
    return { status: answer.status, retryAfter: retryAfter === null ? undefined : Number(retryAfter) };
  }
}
