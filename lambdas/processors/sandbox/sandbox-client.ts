import { defined } from '../../kernel/defined.ts';
import type { OperationId } from '../../kernel/ids.ts';
import { type BreakerSettings, createCircuitBreaker } from '../../outbound/circuit-breaker.ts';
import type { HttpAnswer } from '../../outbound/http-call.ts';
import type { ChangeOrder, ChargeOrder, Processor } from '../../payments/use/processor.ts';
import { chargeUnknown, isProcessorUnhealthy } from '../answers.ts';
import { sandboxContract } from './contract.ts';
import { abilitiesWithout } from './sandbox-abilities.ts';
import { chargeMetadata, readChargeAnswer, readHealthAnswer, readLookupAnswer } from './sandbox-answers.ts';
import type { CreateCharge } from './sandbox-api.ts';
import { createSandboxBooks, type SandboxAccess, sandboxCalls } from './sandbox-books.ts';
import { changeRequest, readChangeAnswer, readChangeLookup } from './sandbox-change.ts';

// Every function that uses the client also uses the books, so this file exports both.
export { createSandboxBooks } from './sandbox-books.ts';

export interface SandboxClientOptions extends SandboxAccess {
  /** The abilities that the processor lacks, as in the setting `processorWithout`. @default it has all abilities */
  readonly without?: string;
  /** @default five consecutive failures open the breaker for 10 seconds */
  readonly breaker?: BreakerSettings;
  /** Called each time the breaker opens, including after a failed probe. */
  readonly onBreakerOpened?: () => void;
}

/**
 * Default settings of the breaker. Two requests, each with two failed attempts, and one more failure open the breaker.
 * It stays open for a shorter time than a client waits.
 */
const DEFAULT_BREAKER: BreakerSettings = { consecutiveFailures: 5, openForMs: 10_000 };

/**
 * Timeout of the probe, in milliseconds. A healthy processor responds faster, because the health route does no work.
 */
const PROBE_TIMEOUT_MS = 2_000;

/** Leaves room for the maximum number of refunds by Payonce, and for refunds by other users of the account. */
export const MAX_CHARGE_BYTES = 1_024 * 1_024;

/**
 * Each method sends one request; the caller decides about retries. The idempotency key is the operation id, the same
 * for every attempt.
 */
export function createSandboxClient(options: SandboxClientOptions): Processor {
  const { name = sandboxContract.name, mode = 'test', url, clock } = options;
  const send = sandboxCalls(options);
  const books = createSandboxBooks(options);
  const get = (path: string, timeoutMs: number): Promise<HttpAnswer> =>
    send({ method: 'GET', url: `${url}${path}`, headers: {}, timeoutMs, maxAnswerBytes: MAX_CHARGE_BYTES });
  const post = (path: string, key: OperationId, body: object, timeoutMs: number): Promise<HttpAnswer> =>
    send({
      method: 'POST',
      url: `${url}${path}`,
      headers: { 'content-type': 'application/json', 'idempotency-key': key },
      body: JSON.stringify(body),
      timeoutMs,
    });
  const breaker = createCircuitBreaker({
    settings: options.breaker ?? DEFAULT_BREAKER,
    clock,
    probe: async () => readHealthAnswer(await get('/health', PROBE_TIMEOUT_MS), clock.nowMs()),
    isFailure: isProcessorUnhealthy,
    ...defined({ onOpened: options.onBreakerOpened }),
  });

  return {
    name,
    mode,
    account: name,
    endpoint: url,
    apiVersion: '1',
    abilities: abilitiesWithout(options.without),
    ready: () => breaker.ready(),
    charge: (order, { timeoutMs }) =>
      breaker.write(async () => {
        const answer = await post('/charges', order.operationId, chargeBody(order), timeoutMs);
        return readChargeAnswer(order, answer, clock.nowMs());
      }),
    findCharge: (order, { timeoutMs }) =>
      breaker.read(async () => {
        const key = encodeURIComponent(order.operationId);
        const answer = await get(`/charges?key=${key}`, timeoutMs);
        return readLookupAnswer(order, answer, clock.nowMs());
      }),
    change: (order, { timeoutMs }) =>
      breaker.write(async () => {
        const { path, body } = changeRequest(order);
        const answer = await post(`${chargePath(order)}/${path}`, order.operationId, body, timeoutMs);
        return readChangeAnswer(order, answer, clock.nowMs());
      }),
    findChange: (order, { timeoutMs }) =>
      breaker.read(async () => readChangeLookup(order, await get(chargePath(order), timeoutMs), clock.nowMs())),
    showCharge: (chargeId, limit) =>
      breaker.read(async () => {
        const charge = await books.readCharge(chargeId, limit);
        if (charge === undefined) throw chargeUnknown();
        return charge;
      }),
  };
}

function chargePath({ chargeId }: ChangeOrder): string {
  return `/charges/${encodeURIComponent(chargeId)}`;
}

function chargeBody(order: ChargeOrder): CreateCharge {
  return {
    amount: order.amountMinor,
    currency: order.currency,
    source: order.source,
    capture: order.capture,
    metadata: chargeMetadata(order),
    ...defined({ return_url: order.returnUrl }),
  };
}
