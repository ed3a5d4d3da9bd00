import { authenticatedApi } from '../../lambdas/http/authenticated-api.ts';
import type { GatewayEvent, GatewayResult } from '../../lambdas/http/gateway-request.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import { MAX_ENDPOINTS } from '../../lambdas/webhooks/domain/webhook-endpoint.ts';
import { WEBHOOK_ROUTES, type WebhookApiTools } from '../../lambdas/webhooks/http/webhook-routes.ts';
import type { Resolve } from '../../lambdas/webhooks/transport/addresses.ts';
import { webhookAddresses } from '../../lambdas/webhooks/transport/webhook-addresses.ts';
import type { WebhookTask } from '../../lambdas/webhooks/use/webhooks.ts';
import { API_KEY, ApiHarness, type Asked, type Reply } from '../payments/payments-api-harness.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { Stores } from '../world/stores.ts';
import { SECRETS } from './webhook-fixtures.ts';

const PUBLIC: Resolve = async () => [{ address: '93.184.216.34', family: 4 }];

/** The API of webhook endpoints with everything behind it in memory. */
export class WebhookHarness extends ApiHarness {
  readonly clock = new SimulatedClock();
  readonly #stores = new Stores(this.clock);
  readonly database = this.#stores.database;
  readonly store = this.#stores.webhooks;
  readonly enqueued: WebhookTask[] = [];
  readonly #changes: Partial<WebhookApiTools>;

  constructor(changes: Partial<WebhookApiTools> = {}) {
    super();
    this.#changes = changes;
    this.registerKey(API_KEY, {});
  }

  protected open(): (event: GatewayEvent) => Promise<GatewayResult> {
    return authenticatedApi<WebhookApiTools>(WEBHOOK_ROUTES, {
      webhooks: this.store,
      secrets: SECRETS,
      addresses: webhookAddresses(PUBLIC, { allowLoopback: false }),
      tasks: {
        enqueue: async (tasks) => {
          this.enqueued.push(...tasks);
        },
      },
      runner: idempotentRunner,
      clock: this.clock,
      entropy: countingEntropy(),
      digest: systemDigest,
      telemetry: this.telemetry,
      keys: this.keys,
      report: () => undefined,
      ...this.#changes,
    });
  }

  /** Sends a body under a key, or neither. */
  async send(method: string, path: string, key?: string, body?: unknown, asked: Asked = {}): Promise<Reply> {
    return this.ask(method, `/v1/webhook_endpoints${path}`, {
      ...asked,
      headers: {
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...(key === undefined ? {} : { 'Idempotency-Key': key }),
        ...asked.headers,
      },
      event: { body: body === undefined ? null : JSON.stringify(body), ...asked.event },
    });
  }

  /** Makes an endpoint, unless `body` says otherwise one that is good. */
  async create(key: string, body: Readonly<Record<string, unknown>> = {}, asked: Asked = {}): Promise<Reply> {
    return this.send('POST', '', key, { url: 'https://shop.co.uk/hooks', events: ['*'], ...body }, asked);
  }
}

/** How to be answered with the problems that only these routes have. */
export const PROVOKED_WEBHOOKS = {
  url_not_allowed: () => new WebhookHarness().create('k', { url: 'https://169.254.169.254/latest' }),
  webhook_endpoint_limit: async () => {
    const harness = new WebhookHarness();
    for (let made = 0; made < MAX_ENDPOINTS; made += 1) await harness.create(`k-${made}`);
    return harness.create('k');
  },
  webhook_endpoint_disabled: async () => {
    const harness = new WebhookHarness();
    const { body } = await harness.create('k');
    const path = `/${String(body['id'])}`;
    await harness.send('PATCH', path, undefined, { enabled: false });
    return harness.send('POST', `${path}/replay`, 'r', { created_from: 0, created_to: 10 });
  },
};
