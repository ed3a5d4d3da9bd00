import type { ChargeOrder, Clock, Processor } from '../../app/ports.ts';
import type { CreateCharge } from '../../contract/sandbox-api.ts';
import { type BreakerSettings, createCallGuard } from './circuit-breaker.ts';
import { callOnce } from './http-call.ts';
import {
  chargeMetadata,
  readChargeAnswer,
  readHealthAnswer,
  readLookupAnswer,
  tellsOfTrouble,
} from './sandbox-answers.ts';
import { SANDBOX_IDENTITY } from './sandbox-books.ts';

export interface SandboxClientOptions {
  /** Base URL without a trailing slash. */
  readonly url: string;
  readonly clock: Pick<Clock, 'nowMs'>;
  /** @default five failures in a row open the breaker for 10 seconds */
  readonly breaker?: BreakerSettings;
}

/** Two requests in a row that each failed twice, and one more; then a pause that a waiting client still lives through. */
const DEFAULT_BREAKER: BreakerSettings = { consecutiveFailures: 5, openForMs: 10_000 };

/** The health route does nothing, so an answer later than this is a bad sign by itself. Milliseconds. */
const PROBE_TIMEOUT_MS = 2_000;

/** The sandbox's books are read consistently and its keys honoured for a day. */
const KEY_RETENTION_MS = 24 * 60 * 60 * 1_000;

/**
 * The sandbox processor over HTTP. Sends each call once: whether to send twice is the engine's to decide. The
 * idempotency key is the operation's id, the same on every attempt.
 */
export function createSandboxClient(options: SandboxClientOptions): Processor {
  const { url, clock } = options;
  const guard = createCallGuard({
    settings: options.breaker ?? DEFAULT_BREAKER,
    probe: async () => {
      const answer = await callOnce({ method: 'GET', url: `${url}/health`, headers: {}, timeoutMs: PROBE_TIMEOUT_MS });
      readHealthAnswer(answer, clock.nowMs());
    },
    isFailure: tellsOfTrouble,
  });

  return {
    ...SANDBOX_IDENTITY,
    endpoint: url,
    apiVersion: '1',
    abilities: { lookup: { kind: 'strong' }, keyRetentionMs: KEY_RETENTION_MS },
    ready: () => guard.ready(),
    charge: (order, { timeoutMs }) =>
      guard.write(async () => {
        const answer = await callOnce({
          method: 'POST',
          url: `${url}/charges`,
          headers: { 'content-type': 'application/json', 'idempotency-key': order.operationId },
          body: JSON.stringify(chargeBody(order)),
          timeoutMs,
        });
        return readChargeAnswer(order, answer, clock.nowMs());
      }),
    findCharge: (order, { timeoutMs }) =>
      guard.read(async () => {
        const key = encodeURIComponent(order.operationId);
        const answer = await callOnce({ method: 'GET', url: `${url}/charges?key=${key}`, headers: {}, timeoutMs });
        return readLookupAnswer(order, answer, clock.nowMs());
      }),
  };
}

function chargeBody(order: ChargeOrder): CreateCharge {
  return {
    amount: order.amountMinor,
    currency: order.currency,
    source: order.source,
    capture: order.capture,
    metadata: chargeMetadata(order),
  };
}
