import { createHash } from 'node:crypto';
import { type ApiTools, authenticatedApi } from '../../lambdas/http/authenticated-api.ts';
import type { GatewayEvent, GatewayResult } from '../../lambdas/http/gateway-request.ts';
import { PAYMENT_SCOPES } from '../../lambdas/kernel/contract/api.ts';
import { tenantId } from '../../lambdas/kernel/ids.ts';
import { invariant } from '../../lambdas/kernel/invariant.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import type { RequestCount, RequestReport, Telemetry } from '../../lambdas/kernel/platform/telemetry.ts';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import { ProcessReplayCache } from '../../lambdas/once/process-records.ts';
import { PAYMENT_ROUTES } from '../../lambdas/payments/http/payment-routes.ts';
import type { PaymentsTools } from '../../lambdas/payments/http/post-payment.ts';
import type { ApiKeyRecord, ApiKeyRegistry } from '../../lambdas/tenants/api-key-registry.ts';
import { PAYMENT_LIST_ROUTES } from '../../lambdas/views/http/payment-list-routes.ts';
import type { ListPaymentsTools } from '../../lambdas/views/use/list-payments.ts';
import { undescribed } from '../api-docs/described-api.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { ProjectedViews } from '../views/projected-views.ts';
import { createSandboxInProcess, type SandboxInProcess } from '../world/sandbox-in-process.ts';
import { Stores } from '../world/stores.ts';

export const API_KEY = 'sk_test_0123456789abcdefghijkl';

export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  /** The parsed text; empty when there is none. */
  readonly body: Readonly<Record<string, unknown>>;
}

/** What a test says of a request; the rest is as the gateway gives it for a good one. */
export interface Asked {
  readonly headers?: Readonly<Record<string, string>>;
  readonly event?: Partial<GatewayEvent>;
}

/** A client in front of an API, the keys that the API knows, and what it tells of its requests. */
export abstract class ApiHarness {
  readonly reports: { readonly report: RequestReport; readonly counts: readonly RequestCount[] }[] = [];
  readonly faults: unknown[] = [];
  /** Every hash that was looked up. */
  readonly lookups: string[] = [];
  readonly #known = new Map<string, ApiKeyRecord>();
  #api: ((event: GatewayEvent) => Promise<GatewayResult>) | undefined;
  #requests = 0;

  protected readonly telemetry: Telemetry = {
    request: (report, counts) => this.reports.push({ report, counts }),
    run: () => undefined,
    fault: (_requestId, error) => this.faults.push(error),
  };

  protected readonly keys: ApiKeyRegistry = {
    findByHash: async (hash) => {
      this.lookups.push(hash);
      return this.#known.get(hash);
    },
  };

  protected abstract open(): (event: GatewayEvent) => Promise<GatewayResult>;

  /** For the payments of `ten_desk` in test mode, unless `changes` says otherwise. */
  registerKey(key: string, changes: Partial<ApiKeyRecord>): void {
    const hash = createHash('sha256').update(key).digest('hex');
    this.#known.set(hash, { tenantId: tenantId('ten_desk'), mode: 'test', scopes: PAYMENT_SCOPES, ...changes });
  }

  async get(path: string, asked: Asked = {}): Promise<Reply> {
    return this.ask('GET', path, asked);
  }

  async ask(method: string, path: string, { headers, event }: Asked = {}): Promise<Reply> {
    this.#api ??= this.open();
    this.#requests += 1;
    const result = await this.#api({
      ...gatewayEvent(method, path, { Authorization: `Bearer ${API_KEY}`, ...headers }),
      requestContext: { requestId: `req-${this.#requests}` },
      ...event,
    });
    const parsed: unknown = result.body === '' ? {} : JSON.parse(result.body);
    const reply = {
      status: result.statusCode,
      headers: Object.fromEntries(Object.entries(result.headers ?? {}).map(([name, value]) => [name, String(value)])),
      text: result.body,
      body: parsed as Record<string, unknown>,
    };
    const fault = undescribed(method, event?.path ?? path, reply);
    invariant(fault === undefined, `the API documents are wrong: ${fault}`);
    return reply;
  }
}

let processes = 0;

export type PaymentsApiTools = PaymentsTools & ListPaymentsTools & ApiTools;

/** The payments API with everything behind it in memory. */
export class PaymentsApiHarness extends ApiHarness {
  readonly clock = new SimulatedClock();
  readonly store = new Stores(this.clock);
  readonly processor: SandboxInProcess = createSandboxInProcess({ clock: this.clock });
  readonly #changes: Partial<PaymentsApiTools>;

  constructor(changes: Partial<PaymentsApiTools> = {}) {
    super();
    this.#changes = changes;
    this.registerKey(API_KEY, {});
  }

  protected open(): (event: GatewayEvent) => Promise<GatewayResult> {
    processes += 1;
    const { store = this.store } = this.#changes;
    const behind = store instanceof Stores ? store : this.store;
    return authenticatedApi<PaymentsTools & ListPaymentsTools>([...PAYMENT_ROUTES, ...PAYMENT_LIST_ROUTES], {
      store,
      views: new ProjectedViews(behind),
      transitions: behind.ledger,
      processor: this.processor,
      books: [this.processor],
      runner: idempotentRunner,
      replays: new ProcessReplayCache(),
      clock: this.clock,
      entropy: countingEntropy(`process-${processes}`),
      digest: systemDigest,
      telemetry: this.telemetry,
      keys: this.keys,
      ...this.#changes,
    });
  }

  /** Pays with 10.00 EUR from `tok_ok`, unless `body` says otherwise. */
  async pay(key: string, body: Readonly<Record<string, unknown>> = {}, asked: Asked = {}): Promise<Reply> {
    const sent = JSON.stringify({ amount: 1000, currency: 'EUR', source: 'tok_ok', ...body });
    return this.post(sent, { ...asked, headers: { 'Idempotency-Key': key, ...asked.headers } });
  }

  /**
   * Asks for a change of a payment, with no body at all unless one is given.
   *
   * @param of which payment and what, for example `pay_…/refunds`
   */
  async change(of: string, key: string, body?: Readonly<Record<string, unknown>>, asked: Asked = {}): Promise<Reply> {
    const type = body === undefined ? {} : { 'Content-Type': 'application/json' };
    return this.ask('POST', `/v1/payments/${of}`, {
      headers: { ...type, 'Idempotency-Key': key, ...asked.headers },
      event: { body: body === undefined ? null : JSON.stringify(body), ...asked.event },
    });
  }

  /** Posts a body as it is. */
  async post(body: string, { headers, event }: Asked = {}): Promise<Reply> {
    return this.ask('POST', '/v1/payments', {
      headers: { 'Content-Type': 'application/json', 'Idempotency-Key': 'a-key', ...headers },
      event: { body, ...event },
    });
  }
}

/** An event of a REST API with Lambda proxy integration (payload version 1.0), as far as the functions read it. */
export function gatewayEvent(
  method: string,
  address: string,
  headers: Readonly<Record<string, string>> = {},
): GatewayEvent {
  const [path = '', search] = address.split('?');
  const query = [...new URLSearchParams(search)];
  const names = query.map(([name]) => name);
  return {
    httpMethod: method,
    resource: '/{proxy+}',
    path,
    pathParameters: { proxy: path.replace(/^\//, '') },
    headers: { ...headers },
    multiValueHeaders: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]])),
    queryStringParameters: search === undefined ? null : Object.fromEntries(query),
    multiValueQueryStringParameters:
      search === undefined
        ? null
        : Object.fromEntries(
            names.map((name) => [name, query.filter(([each]) => each === name).map(([, text]) => text)]),
          ),
    body: null,
    isBase64Encoded: false,
    requestContext: { requestId: 'req-0' },
  };
}
