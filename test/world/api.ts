import { createHash } from 'node:crypto';
import { PutCommand } from '@aws-sdk/lib-dynamodb';
import type { AuditRouteTools } from '../../lambdas/archive/http/audit-route.ts';
import type { CallbacksApiTools } from '../../lambdas/callbacks/callbacks-api.ts';
import { fileOf } from '../../lambdas/exports/domain/data-export.ts';
import type { ExportsTools } from '../../lambdas/exports/http/export-routes.ts';
import { DynamoDbExports } from '../../lambdas/exports/store/dynamodb-exports.ts';
import { exportRows } from '../../lambdas/exports/use/export-rows.ts';
import { writeExport } from '../../lambdas/exports/use/write-export.ts';
import { authenticatedApi, type Handler, type TenantApiTools } from '../../lambdas/http/authenticated-api.ts';
import type { GatewayEvent } from '../../lambdas/http/gateway-request.ts';
import { byPath, operatorApi } from '../../lambdas/http/operator-api.ts';
import { jobsOf } from '../../lambdas/jobs/contract/jobs.ts';
import type { JobsApiTools } from '../../lambdas/jobs/http/job-routes.ts';
import type { signJobCredential } from '../../lambdas/jobs/job-credential.ts';
import type { KeyId } from '../../lambdas/kernel/cause.ts';
import { ALL_SCOPES } from '../../lambdas/kernel/contract/api.ts';
import { RegistryRow } from '../../lambdas/kernel/contract/rows.ts';
import { KeyAttribute } from '../../lambdas/kernel/contract/tables.ts';
import { defined } from '../../lambdas/kernel/defined.ts';
import { type PaymentId, tenantId } from '../../lambdas/kernel/ids.ts';
import { invariant } from '../../lambdas/kernel/invariant.ts';
import type { RequestCount, RequestReport, Telemetry } from '../../lambdas/kernel/platform/telemetry.ts';
import type { Clock } from '../../lambdas/kernel/world.ts';
import type { AdminTools } from '../../lambdas/operators/http/admin-routes.ts';
import { DynamoDbQueues } from '../../lambdas/operators/store/dynamodb-queues.ts';
import type { OrderRouteTools } from '../../lambdas/orders/http/order-routes.ts';
import type { PaymentsTools } from '../../lambdas/payments/http/post-payment.ts';
import { parsePaymentId } from '../../lambdas/payments/ids.ts';
import { DynamoDbEffects } from '../../lambdas/payments/store/dynamodb-effects.ts';
import type { ApiKeyRecord, ApiKeyRegistry } from '../../lambdas/tenants/api-key-registry.ts';
import { TenantLimits } from '../../lambdas/tenants/limits.ts';
import { byOperatorKey, type OperatorKeyRecord, type OperatorKeyRegistry } from '../../lambdas/tenants/operators.ts';
import type { IsTenant } from '../../lambdas/tenants/owners.ts';
import { DynamoDbLimits } from '../../lambdas/tenants/store/dynamodb-limits.ts';
import { LimitAdministration } from '../../lambdas/tenants/store/limit-administration.ts';
import { TenantAdministration } from '../../lambdas/tenants/store/tenant-administration.ts';
import { idOfKeyHash, keyRowKey } from '../../lambdas/tenants/store/tenant-registry.ts';
import type { ReadTools } from '../../lambdas/views/http/read-routes.ts';
import type { ListOrdersTools } from '../../lambdas/views/use/list-orders.ts';
import { ViewLedgerReader } from '../../lambdas/views/use/view-ledger-reader.ts';
import type { WebhookApiTools } from '../../lambdas/webhooks/http/webhook-routes.ts';
import { webhookAddresses } from '../../lambdas/webhooks/transport/webhook-addresses.ts';
import { undescribed } from '../api-docs/described-api.ts';
import { MemoryExportFiles } from '../exports/memory-export-files.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { emailTools } from '../views/email-tools.ts';
import { ProjectedViews } from '../views/projected-views.ts';
import { SECRETS } from '../webhooks/webhook-fixtures.ts';
import { gatewayEvent } from './gateway-event.ts';
import type { MemoryDynamoDb } from './memory-dynamodb.ts';
import { Stores } from './stores.ts';
import { TABLES } from './tables.ts';
import { World } from './world.ts';

export const RUNS = '/v1/admin/jobs/close-days/runs';
export const API_KEY = 'sk_test_0123456789abcdefghijkl';
export const OTHER_KEY = 'sk_test_zyxwvutsrqponmlkjihgfe';
export const LIVE_KEY = 'sk_live_0123456789abcdefghijkl';
export const OPERATOR_KEY = 'ok_0123456789abcdefghijkl';

export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  /** Empty when the response has no body. */
  readonly body: Readonly<Record<string, unknown>>;
}

/** {@link gatewayEvent} supplies the other fields of a valid request. */
export interface Asked {
  readonly headers?: Readonly<Record<string, string>>;
  readonly event?: Partial<GatewayEvent>;
}

export type ApiWorldTools = TenantApiTools &
  PaymentsTools &
  ReadTools &
  OrderRouteTools &
  ListOrdersTools &
  AdminTools &
  AuditRouteTools &
  JobsApiTools &
  WebhookApiTools &
  Pick<ExportsTools, 'exports' | 'startWriter' | 'link'> & {
    readonly callbacks: Pick<CallbacksApiTools, 'sources' | 'secrets'>;
  };

async function reads(tools: ApiWorldTools): Promise<Handler> {
  const { READ_PATHS, READ_ROUTES } = await import('../../lambdas/views/http/read-routes.ts');
  return authenticatedApi(READ_ROUTES, tools, READ_PATHS);
}

type Open = (tools: ApiWorldTools) => Promise<Handler>;

/** The stacks route requests to a function by this path and, if set, this method. */
const FUNCTIONS: readonly (readonly [path: RegExp, open: Open, method?: string])[] = [
  [
    /^\/callbacks/,
    async ({ callbacks, ...tools }) =>
      (await import('../../lambdas/callbacks/callbacks-api.ts')).callbacksApi({ ...tools, ...callbacks }),
  ],
  [
    /^\/v1\/admin\/audit/,
    async (tools) =>
      operatorApi([(await import('../../lambdas/archive/http/audit-route.ts')).getAudit], tools, tools.identify),
  ],
  [/^\/v1\/admin\/jobs/, async (tools) => (await import('../../lambdas/jobs/http/job-routes.ts')).jobsApi(tools)],
  [
    /^\/v1\/(?:corrections|decisions|annotations|admin)/,
    async (tools) => {
      const { OPERATOR_EFFECT_ROUTES } = await import('../../lambdas/operators/http/operator-effects.ts');
      const { ADMIN_ROUTES } = await import('../../lambdas/operators/http/admin-routes.ts');
      return byPath(operatorApi(ADMIN_ROUTES, tools, tools.identify), authenticatedApi(OPERATOR_EFFECT_ROUTES, tools));
    },
  ],
  [
    /^\/v1\/exports/,
    async (tools) =>
      authenticatedApi((await import('../../lambdas/exports/http/export-routes.ts')).EXPORT_ROUTES, tools),
  ],
  [
    /^\/v1\/webhook_endpoints/,
    async (tools) =>
      authenticatedApi((await import('../../lambdas/webhooks/http/webhook-routes.ts')).WEBHOOK_ROUTES, tools),
  ],
  [
    /^\/v1\/orders/,
    async (tools) => {
      const { ORDER_ROUTES } = await import('../../lambdas/orders/http/order-routes.ts');
      const { getOrders } = await import('../../lambdas/views/http/order-list.ts');
      return authenticatedApi<OrderRouteTools & ListOrdersTools>([...ORDER_ROUTES, getOrders], tools);
    },
  ],
  [/^\/v1\/(?:events|reports|ledger|balances)/, reads],
  [
    /^/,
    async (tools) => {
      const { PAYMENT_POST_ROUTES } = await import('../../lambdas/payments/http/payment-routes.ts');
      const { PAYMENT_PATHS } = await import('../../lambdas/payments/http/payment-paths.ts');
      return authenticatedApi(PAYMENT_POST_ROUTES, tools, PAYMENT_PATHS);
    },
    'POST',
  ],
  [/^/, reads],
];

const TEA = {
  amount: 2_000,
  currency: 'EUR',
  source: 'tok_ok',
  items: [{ sku: 'sku_tea', quantity: 2 }],
  email: 'ada@example.com',
  referrer: 'ref_friend',
};

/** Id of a tenant that does not exist. Tests treat every other tenant id as existing, so they create no tenants. */
export const UNKNOWN_TENANT = 'ten_unknown';
export const isAnyTenant: IsTenant = async (id) => id !== UNKNOWN_TENANT;

export function limitsIn({ client }: Pick<MemoryDynamoDb, 'client'>, clock: Clock): TenantLimits {
  return new TenantLimits(new DynamoDbLimits(client, TABLES.registry, { rate: 1_000_000, burst: 1_000_000 }), clock);
}

let processes = 0;

/** One process per function. By default, requests use an API key with every scope. */
export class Api<Of extends World = World> {
  readonly world: Of;
  /** Alarms that were written immediately instead of at the end of a request. */
  readonly alarms: string[] = [];
  readonly reports: { readonly report: RequestReport; readonly counts: readonly RequestCount[] }[] = [];
  readonly faults: unknown[] = [];
  /** Hashes of the API keys and operator keys that were looked up. */
  readonly lookups: string[] = [];
  /** Uses of keys, each with the key's id and the day. */
  readonly uses: string[] = [];
  readonly files = new MemoryExportFiles();
  readonly #known = new Map<string, ApiKeyRecord>();
  readonly #operators = new Map<string, OperatorKeyRecord>();
  readonly #changes: Partial<ApiWorldTools>;
  readonly #handlers = new Map<Open, Promise<Handler>>();
  readonly #secrets = {
    active: async () => ['0123456789abcdefghijABCDEFGHIJ01'],
    renewed: async () => undefined,
  };
  #tools: ApiWorldTools | undefined;
  #requests = 0;

  /** @param changes tools that these processes use instead of the tools of `world` */
  constructor(changes: Partial<ApiWorldTools> = {}, world: Of = new World() as Of) {
    this.world = world;
    this.#changes = changes;
    this.registerKey(API_KEY, {});
    this.registerOperator(OPERATOR_KEY);
  }

  get clock() {
    return this.world.clock;
  }
  get store() {
    return this.world.store;
  }
  get processor() {
    return this.world.processor;
  }
  get views() {
    return this.world.views;
  }
  get enqueued() {
    return this.world.enqueued;
  }

  get credentials(): Parameters<typeof signJobCredential>[0] {
    return { secrets: this.#secrets, secretId: 'job-credential', clock: this.world.clock };
  }

  with(changes: Partial<ApiWorldTools> = {}): Api<Of> {
    return new Api({ ...this.#changes, ...changes }, this.world);
  }

  registerKey(key: string, changes: Partial<ApiKeyRecord>): void {
    const hash = createHash('sha256').update(key).digest('hex');
    this.#known.set(hash, { tenantId: tenantId('ten_desk'), mode: 'test', scopes: ALL_SCOPES, ...changes });
  }

  registerOperator(key: string, changes: Partial<OperatorKeyRecord> = {}): void {
    const hash = createHash('sha256').update(key).digest('hex');
    this.#operators.set(hash, { operator: 'Ada Example', role: 'owner', ...changes });
  }

  /** Stores the key in the Registry, so that the API lists it. @returns the key's id */
  async storeOperatorKey(key: string, rights: OperatorKeyRecord): Promise<KeyId> {
    const keyHash = createHash('sha256').update(key).digest('hex');
    const id = idOfKeyHash(keyHash);
    const { partition, sort } = KeyAttribute;
    const stored = { keyHash, hint: key.slice(-4), createdAtMs: this.clock.nowMs(), ...rights };
    for (const Item of [
      { ...keyRowKey(RegistryRow.operatorKey, id), ...stored },
      { [partition]: RegistryRow.operatorKeys, [sort]: id },
    ])
      await this.world.store.database.client.send(new PutCommand({ TableName: TABLES.registry, Item }));
    return id;
  }

  approve(id: string, asked: Asked = {}, verdict: 'approve' | 'reject' = 'approve'): Promise<Reply> {
    return this.ask('POST', `/v1/admin/approvals/${id}/${verdict}`, asked);
  }

  reject(id: string, asked: Asked = {}): Promise<Reply> {
    return this.approve(id, asked, 'reject');
  }

  revoke(id: string, body: Readonly<Record<string, unknown>> = { revoked: true }, asked: Asked = {}): Promise<Reply> {
    return this.ask('PATCH', `/v1/admin/keys/${id}`, {
      headers: { 'Content-Type': 'application/json', ...asked.headers },
      event: { body: JSON.stringify(body), ...asked.event },
    });
  }

  get(path: string, asked: Asked = {}): Promise<Reply> {
    return this.ask('GET', path, asked);
  }

  async ask(method: string, path: string, { headers, event }: Asked = {}): Promise<Reply> {
    const asked = event?.path ?? path;
    this.#requests += 1;
    const result = await (await this.#handlerOf(event?.httpMethod ?? method, asked))({
      ...gatewayEvent(method, path, {
        Authorization: `Bearer ${asked.startsWith('/v1/admin/') ? OPERATOR_KEY : API_KEY}`,
        ...headers,
      }),
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
    const fault = undescribed(method, asked, reply);
    invariant(fault === undefined, `the response does not match the API documents: ${fault}`);
    return reply;
  }

  /** `fetch` implementation for a client under test. */
  readonly fetch = async (request: Request): Promise<Response> => {
    const { pathname, search } = new URL(request.url);
    const body = await request.text();
    const event = { body: body === '' ? null : body };
    const reply = await this.ask(request.method, `${pathname}${search}`, {
      headers: Object.fromEntries(request.headers),
      event,
    });
    return new Response(reply.text, { status: reply.status, headers: reply.headers });
  };

  write(path: string, key: string, body?: unknown, { headers, event }: Asked = {}): Promise<Reply> {
    const type = body === undefined ? {} : { 'Content-Type': 'application/json' };
    return this.ask('POST', path, {
      headers: { ...type, 'Idempotency-Key': key, ...headers },
      event: { body: body === undefined ? null : JSON.stringify(body), ...event },
    });
  }

  pay(key: string, body: Readonly<Record<string, unknown>> = {}, asked: Asked = {}): Promise<Reply> {
    return this.write('/v1/payments', key, { amount: 1000, currency: 'EUR', source: 'tok_ok', ...body }, asked);
  }

  /** @returns the payment's id */
  async paid(key: string, body: Readonly<Record<string, unknown>> = {}, asked: Asked = {}): Promise<PaymentId> {
    const reply = await this.pay(key, body, asked);
    const { payment = reply.body } = reply.body as { payment?: Record<string, unknown> };
    const id = parsePaymentId(String((payment as Record<string, unknown>)['id']));
    invariant(id !== undefined, `the request created no payment: ${reply.text}`);
    this.world.clock.advance(1000);
    return id;
  }

  post(body: string, { headers, event }: Asked = {}): Promise<Reply> {
    return this.ask('POST', '/v1/payments', {
      headers: { 'Content-Type': 'application/json', 'Idempotency-Key': 'a-key', ...headers },
      event: { body, ...event },
    });
  }

  /** @param of path below `/v1/payments`, for example `pay_…/refunds` */
  change(of: string, key: string, body?: Readonly<Record<string, unknown>>, asked: Asked = {}): Promise<Reply> {
    return this.write(`/v1/payments/${of}`, key, body, asked);
  }

  order(key: string, body: Readonly<Record<string, unknown>> = {}, asked: Asked = {}): Promise<Reply> {
    return this.write('/v1/orders', key, { ...TEA, ...body }, asked);
  }

  correct(key: string, body: Readonly<Record<string, unknown>>, asked: Asked = {}): Promise<Reply> {
    const sent = { reason: 'Booked twice', ...body };
    return this.write('/v1/admin/corrections', key, sent, asked);
  }

  annotate(
    payment: string,
    key: string,
    body: Readonly<Record<string, unknown>> = {},
    asked: Asked = {},
  ): Promise<Reply> {
    const sent = { reason: 'Charged for the wrong order', ...body };
    return this.write(`/v1/admin/payments/${payment}/annotations`, key, sent, asked);
  }

  run(key: string, body?: Readonly<Record<string, unknown>>, asked: Asked = {}, path = RUNS): Promise<Reply> {
    return this.write(path, key, body, asked);
  }

  async fire(
    scheduledFor: string,
    changes: { path?: string; credited?: string; scopes?: readonly string[]; key?: string; body?: object } = {},
  ): Promise<Reply> {
    const { signJobCredential } = await import('../../lambdas/jobs/job-credential.ts');
    const runId = `close-days:${scheduledFor}`;
    const { path = RUNS, credited = runId, scopes = ['jobs:run'], key = runId } = changes;
    const token = await signJobCredential(this.credentials, { path, runId: credited, scopes });
    const headers = { Authorization: `Bearer ${token}` };
    return this.run(key, { scheduled_for: unixSeconds(scheduledFor), ...changes.body }, { headers }, RUNS);
  }

  send(method: string, path: string, key?: string, body?: unknown, { headers, event }: Asked = {}): Promise<Reply> {
    return this.ask(method, `/v1/webhook_endpoints${path}`, {
      headers: {
        ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...(key === undefined ? {} : { 'Idempotency-Key': key }),
        ...headers,
      },
      event: { body: body === undefined ? null : JSON.stringify(body), ...event },
    });
  }

  create(key: string, body: Readonly<Record<string, unknown>> = {}, asked: Asked = {}): Promise<Reply> {
    return this.send('POST', '', key, { url: 'https://shop.co.uk/hooks', events: ['*'], ...body }, asked);
  }

  #handlerOf(method: string, path: string): Promise<Handler> {
    const [, open] = FUNCTIONS.find(([each, , only = method]) => only === method && each.test(path)) ?? [];
    invariant(open !== undefined, 'the last pattern matches every path');
    const handler = this.#handlers.get(open) ?? open((this.#tools ??= this.#open()));
    this.#handlers.set(open, handler);
    return handler;
  }

  #open(): ApiWorldTools {
    processes += 1;
    const { world, clock } = this;
    const ownKeys = { operators: this.#operatorKeys, clock, digest: world.tools.digest };
    const { store = world.store, identify = byOperatorKey(ownKeys) } = this.#changes;
    const behind = store instanceof Stores ? store : world.store;
    const { client } = behind.database;
    const { postgres } = behind;
    const activity = postgres === undefined ? [behind.activity] : [postgres.activity, behind.activity];
    const views = new ProjectedViews(behind);
    const entropy = countingEntropy(`process-${processes}`);
    const exports = new DynamoDbExports(client, TABLES, { clock, entropy });
    const rows = exportRows({ views, transitions: behind.ledger });
    const writer = { exports, rows, files: this.files, startWriter: async () => undefined, clock, entropy };
    return {
      ...world.tools,
      replays: behind.newReplays(),
      ...defined({ copies: postgres?.copies }),
      accessRecords: new DynamoDbEffects(client, TABLES, { clock, entropy }, behind),
      entropy,
      telemetry: this.#telemetry,
      keys: this.#keys,
      limits: limitsIn(behind.database, clock),
      identify,
      operators: { identify, isTenant: isAnyTenant },
      isTenant: isAnyTenant,
      report: (error) => this.faults.push(error),
      views,
      marks: behind.jobMarks,
      ...emailTools(behind),
      transitions: behind.ledger,
      ledger: new ViewLedgerReader(views),
      queues: postgres?.queues ?? new DynamoDbQueues(client, TABLES, { clock, entropy }),
      messages: {
        deployed: {},
        count: async () => 0,
        peek: async () => [],
        redrive: async () => 0,
        dismiss: async () => undefined,
        hold: async () => undefined,
      },
      keysBy: (by) => new TenantAdministration(client, TABLES, by, { clock, entropy }),
      limitsBy: (by) => new LimitAdministration(client, TABLES, by, { clock, entropy }),
      deployedLimit: { rate: 100, burst: 200 },
      activity,
      search: { views, store, transitions: behind.ledger, ...emailTools(behind) },
      timeline: {
        chains: store,
        records: store,
        effects: world.tools.effects,
        webhooks: world.store.webhooks,
        activity,
        digest: world.tools.digest,
      },
      verify: async (token, path) =>
        (await import('../../lambdas/jobs/job-credential.ts')).verifyJobCredential(this.credentials, token, path),
      webhooks: world.store.webhooks,
      own: jobsOf(postgres === undefined ? 'dynamodb' : 'postgres'),
      listed: [],
      archive: undefined,
      exports,
      // Write the whole file now, so that the export is complete before the response.
      startWriter: async (key) => void (await writeExport(writer, key, Infinity)),
      link: async (asked) => `https://exports.example/${fileOf(asked)}`,
      secrets: SECRETS,
      callbacks: { sources: [], secrets: this.#secrets },
      addresses: webhookAddresses(async () => [{ address: '93.184.216.34', family: 4 }], { allowLoopback: false }),
      ...this.#changes,
    };
  }

  readonly #telemetry: Telemetry = {
    request: (report, counts) => this.reports.push({ report, counts }),
    run: (name, counts) => void (name === 'alarm' && this.alarms.push(...Object.keys(counts))),
    fault: (_requestId, error) => this.faults.push(error),
  };

  readonly #operatorKeys: OperatorKeyRegistry = {
    findOperator: async (hash) => {
      this.lookups.push(hash);
      return this.#operators.get(hash);
    },
    noteUse: async (id, day) => {
      this.uses.push(`${id} ${day}`);
    },
  };

  readonly #keys: ApiKeyRegistry = {
    findByHash: async (hash) => {
      this.lookups.push(hash);
      return this.#known.get(hash);
    },
    noteUse: async (id, day) => {
      this.uses.push(`${id} ${day}`);
    },
  };
}

export function unixSeconds(time: string): number {
  return Math.floor(Date.parse(time) / 1000);
}

export function dataOf(reply: Pick<Reply, 'body'>): readonly Readonly<Record<string, unknown>>[] {
  const { data } = reply.body;
  if (!Array.isArray(data)) throw new Error(`no list: ${JSON.stringify(reply.body)}`);
  return data as Record<string, unknown>[];
}
export const idsOf = (reply: Reply): readonly string[] => dataOf(reply).map(({ id }) => String(id));

export const as = (key: string) => ({ headers: { Authorization: `Bearer ${key}` } });
