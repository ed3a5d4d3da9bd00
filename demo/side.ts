import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { defined } from '../lambdas/kernel/defined.ts';
import { invariant } from '../lambdas/kernel/invariant.ts';
import {
  type Charge,
  type EventList,
  type SandboxEvent,
  SIGNATURE_HEADER,
} from '../lambdas/processors/sandbox/sandbox-api.ts';
import { runningProcesses, signalProcess } from '../local/processes.ts';
import type { EventKind } from './contract.ts';

export interface SideConfig {
  /** Address of the API, without a trailing slash. Both sides have the same paths. */
  readonly apiUrl: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly callbackUrl: string;
  readonly processorUrl: string;
  readonly processorHeaders: Readonly<Record<string, string>>;
  readonly paymentsFunction: string;
  readonly receiptsFunction: string;
  /** Id of the process whose group contains the processes of the local AWS. */
  readonly keeperPid: number;
  /** Time after the failure, after which absent results are considered missing. */
  readonly givenUpAfterMs: number;
  /** Returns the payment id for an idempotency key, even before the payment exists. */
  readonly paymentOf: (key: string) => string;
  readonly postings: (payment: string, kind: EventKind) => Promise<number>;
  readonly receipts: (payment: string) => Promise<readonly Receipt[]>;
  readonly paymentOfEvent: (eventId: string) => string;
  /** Invokes the function that consumes payment requests with a Kafka batch of this event, as Lambda does. */
  readonly consume: (eventId: string) => Promise<void>;
  /**
   * Stops the publisher while `save` stores payments, so that their events are not published. Then restarts the
   * publisher.
   */
  readonly withoutPublisher: (save: () => Promise<void>) => Promise<void>;
  /** Publishes a payment's event again, like a publisher that crashed before it recorded the first publication. */
  readonly publishAgain: (payment: string) => Promise<void>;
}

export type Receipt =
  | { readonly row: 'delivery'; readonly kind: string; readonly eventId: string }
  | { readonly row: 'effect'; readonly kind: string };

export interface Answer {
  readonly status: number;
  /** In seconds; undefined when the response has no `Retry-After`. */
  readonly retryAfter: number | undefined;
}

/** Retries are at least a second apart, and together last longer than any lease. */
const MAX_RETRIES = 60;
const RETRY_MS = 1_000;
const TOO_MANY = 429;

export class Side {
  readonly config: SideConfig;

  constructor(config: SideConfig) {
    this.config = config;
  }

  pay(key: string, body: Readonly<Record<string, unknown>> = {}, signal?: AbortSignal): Promise<Answer> {
    return this.#post('/v1/payments', key, { amount: 10_000, currency: 'EUR', source: 'tok_ok', ...body }, signal);
  }

  refund(payment: string, key: string, amount: number, signal?: AbortSignal): Promise<Answer> {
    return this.#post(`/v1/payments/${payment}/refunds`, key, { amount }, signal);
  }

  payUntilAnswered(key: string, body: Readonly<Record<string, unknown>> = {}): Promise<Answer> {
    return this.untilAnswered(key, () => this.pay(key, body));
  }

  /**
   * Retries with the same key until a response is final: no 429, no 5xx and no `Retry-After`.
   * @throws Error after {@link MAX_RETRIES} attempts without a final response
   */
  async untilAnswered(key: string, ask: () => Promise<Answer>): Promise<Answer> {
    for (let retry = 0; retry < MAX_RETRIES; retry += 1) {
      const answer = await ask();
      const isAnswered = answer.status < 500 && answer.status !== TOO_MANY && answer.retryAfter === undefined;
      if (isAnswered) return answer;
      await sleep(RETRY_MS * (answer.retryAfter ?? 1));
    }
    throw new Error(`there was no final response for ${key}`);
  }

  async charges(payment: string): Promise<readonly Charge[]> {
    const { data } = (await this.#atProcessor(`/charges?payment=${payment}`)) as { data: readonly Charge[] };
    return data;
  }

  async callbacks(charge: Charge): Promise<number> {
    const { data } = (await this.#atProcessor(`/events?charge=${charge.id}`)) as EventList;
    return data.reduce((sum, { attempts }) => sum + attempts, 0);
  }

  /** Makes the processor send a charge's event again, under a new event id. */
  async resend(charge: Charge): Promise<void> {
    const { data } = (await this.#atProcessor(`/events?charge=${charge.id}`)) as EventList;
    const event = data.find(({ type }) => type === 'charge.succeeded');
    await this.#control('POST', `/control/events/${event?.id}/resend`, { id: 'new' });
  }

  async dispute(charge: Charge): Promise<void> {
    await this.#control('POST', `/control/charges/${charge.id}/dispute`, {});
  }

  /** During `use`, the processor executes the next charge, or change of a charge, without sending a response. */
  async withSilentProcessor<Result>(
    calls: 'failures' | 'change-failures',
    use: () => Promise<Result>,
  ): Promise<Result> {
    const source = 'tok_timeout_charged';
    await this.#control('PUT', `/control/${calls}`, { count: 1, source });
    try {
      return await use();
    } finally {
      await this.#control('PUT', `/control/${calls}`, { count: 0, source });
    }
  }

  /** An attacker may know the charge but not the signing secret. */
  async forgeCallback(charge: Charge): Promise<void> {
    const { livemode, metadata } = charge;
    const data = { charge: charge.id, payment: metadata['payment'] ?? null };
    const created = Math.floor(Date.now() / 1000);
    const id = `evt_${randomUUID()}`;
    const event: SandboxEvent = { id, object: 'event', type: 'charge.succeeded', livemode, created, data };
    const answer = await fetch(this.config.callbackUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/json', [SIGNATURE_HEADER]: `t=${created},v1=${'0'.repeat(64)}` },
      body: JSON.stringify(event),
    });
    await answer.body?.cancel();
    invariant(answer.status < 500, `the forged callback caused an error: ${answer.status}`);
  }

  async #atProcessor(path: string): Promise<unknown> {
    const { processorUrl, processorHeaders: headers } = this.config;
    return (await fetch(`${processorUrl}${path}`, { headers })).json();
  }

  async #control(method: 'POST' | 'PUT', path: string, body: unknown): Promise<void> {
    const { processorUrl, processorHeaders } = this.config;
    const headers = { 'content-type': 'application/json', ...processorHeaders };
    const answer = await fetch(`${processorUrl}${path}`, { method, headers, body: JSON.stringify(body) });
    await answer.body?.cancel();
    invariant(answer.ok, `the sandbox returned ${answer.status} for ${path}`);
  }

  async #post(path: string, key: string, body: unknown, signal?: AbortSignal): Promise<Answer> {
    const answer = await fetch(`${this.config.apiUrl}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': key, ...this.config.headers },
      body: JSON.stringify(body),
      ...defined({ signal }),
    });
    await answer.text();
    const retryAfter = answer.headers.get('retry-after');
    return { status: answer.status, retryAfter: retryAfter === null ? undefined : Number(retryAfter) };
  }
}

/**
 * Kills only processes in the keeper's group, because functions of another local AWS on this machine can have the same
 * name.
 *
 * @param keeperPid id of the process whose group contains the processes of the local AWS
 * @returns the number of killed processes
 */
export function kill(functionName: string, keeperPid: number): number {
  const workers = runningProcesses().filter(
    ({ group, commandLine }) =>
      group === keeperPid &&
      commandLine.includes(`ministack-lambda-${functionName}-`) &&
      commandLine.includes('_worker.js'),
  );
  for (const { pid } of workers) signalProcess(pid, 'SIGKILL');
  return workers.length;
}
