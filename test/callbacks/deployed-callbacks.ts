import { createHmac } from 'node:crypto';
import { type CallbacksApiTools, callbacksApi } from '../../lambdas/callbacks/callbacks-api.ts';
import type { GatewayEvent } from '../../lambdas/http/gateway-request.ts';
import type { SandboxEvent } from '../../lambdas/kernel/contract/sandbox-api.ts';
import type { RequestCount, RequestReport } from '../../lambdas/kernel/platform/telemetry.ts';
import type { ConfiguredSource } from '../../lambdas/processors/configured-processors.ts';
import { readSandboxEvent } from '../../lambdas/processors/sandbox/sandbox-event.ts';
import { SCHEMES, type SignatureSchemeName } from '../processors/signature-schemes.ts';
import { gatewayEvent } from '../world/api.ts';
import { World } from '../world/world.ts';

export const SECRET = 'a-secret-of-the-processor';

/** The callbacks API with in-memory dependencies, and a processor that signs its callbacks. */
export class DeployedCallbacks {
  readonly harness = new World();
  readonly reports: { readonly report: RequestReport; readonly counts: readonly RequestCount[] }[] = [];
  readonly faults: unknown[] = [];
  /** The active secrets. A test may change them, as an operator does. */
  secrets: readonly string[] = [SECRET];
  readonly #changes: Partial<CallbacksApiTools>;
  readonly #scheme: SignatureSchemeName;
  #requests = 0;

  constructor(scheme: SignatureSchemeName = 'sandbox', changes: Partial<CallbacksApiTools> = {}) {
    this.#scheme = scheme;
    this.#changes = changes;
  }

  /** Posts bytes unchanged. */
  async post(event: Partial<GatewayEvent>, path = '/callbacks/memory/test', method = 'POST') {
    this.#requests += 1;
    const { effects, runner, clock, entropy, digest } = this.harness.tools;
    const source: ConfiguredSource = {
      name: 'memory',
      mode: 'test',
      scheme: this.#scheme,
      secretId: 'a-secret',
      signature: SCHEMES[this.#scheme],
      readEvent: (body) => readSandboxEvent({ processorName: 'memory', mode: 'test' }, body),
      books: this.harness.processor,
    };
    const api = callbacksApi({
      sources: [source],
      secrets: { active: async () => this.secrets, renewed: async () => undefined },
      effects,
      runner,
      clock,
      entropy,
      digest,
      telemetry: {
        request: (report, counts) => this.reports.push({ report, counts }),
        run: () => undefined,
        fault: (_requestId, error) => this.faults.push(error),
      },
      ...this.#changes,
    });
    const result = await api({
      ...gatewayEvent(method, path),
      requestContext: { requestId: `req-${this.#requests}` },
      ...event,
    });
    return {
      status: result.statusCode,
      headers: result.headers ?? {},
      body: JSON.parse(result.body) as Record<string, unknown>,
    };
  }

  /** Posts an event signed as by the sandbox. `headers` and `event` change the request after it was signed. */
  deliver(body: string | Uint8Array, { headers = {}, event = {} }: Changes = {}) {
    const bytes = Buffer.from(body);
    const signed = { 'Sandbox-Signature': this.sign(bytes), ...headers };
    return this.post({
      ...gatewayEvent('POST', '/callbacks/memory/test', signed),
      body: bytes.toString('utf8'),
      ...event,
    });
  }

  sign(bytes: Uint8Array, secret = SECRET, atMs = this.harness.clock.nowMs()): string {
    const seconds = Math.floor(atMs / 1000);
    const mac = createHmac('sha256', secret).update(`${seconds}.`).update(bytes).digest('hex');
    return `t=${seconds},v1=${mac}`;
  }

  /** All stored effects of callbacks. */
  stored(): number {
    return this.harness.store.effectIds().length;
  }
}

interface Changes {
  readonly headers?: Readonly<Record<string, string>>;
  readonly event?: Partial<GatewayEvent>;
}

export function eventBody(eventId: string, charge: string, changes: Partial<SandboxEvent> = {}): string {
  const event: SandboxEvent = {
    id: eventId,
    object: 'event',
    type: 'charge.succeeded',
    created: 1_772_366_400,
    data: { charge, payment: null },
    ...changes,
  };
  return JSON.stringify(event);
}
