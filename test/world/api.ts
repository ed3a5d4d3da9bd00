import { createHash } from 'node:crypto';
import { PutCommand } from '@aws-sdk/lib-dynamodb';
import type { AuditRouteTools } from '../../lambdas/archive/http/audit-route.ts';
import type { CallbacksApiTools } from '../../lambdas/callbacks/callbacks-api.ts';
import { fileOf } from '../../lambdas/exports/domain/data-export.ts';
import type { ExportsTools } from '../../lambdas/exports/http/export-routes.ts';
import { DynamoDbExports } from '../../lambdas/exports/store/dynamodb-exports.ts';
import { exportRows } from '../../lambdas/exports/use/export-rows.ts';
import { writeExport } from '../../lambdas/exports/use/write-export.ts';
import { authenticatedApi, type TenantApiTools } from '../../lambdas/http/authenticated-api.ts';
import type { GatewayEvent, GatewayResult } from '../../lambdas/http/gateway-request.ts';
import { byPath, operatorApi } from '../../lambdas/http/operator-api.ts';
import type { JobsApiTools } from '../../lambdas/jobs/http/job-routes.ts';
import type { signJobCredential } from '../../lambdas/jobs/job-credential.ts';
import type { KeyId } from '../../lambdas/kernel/cause.ts';
import { ALL_SCOPES } from '../../lambdas/kernel/contract/api.ts';
import { RegistryRow } from '../../lambdas/kernel/contract/rows.ts';
import { KeyAttribute } from '../../lambdas/kernel/contract/tables.ts';
import { type PaymentId, tenantId } from '../../lambdas/kernel/ids.ts';
import { invariant } from '../../lambdas/kernel/invariant.ts';
import type { RequestCount, RequestReport, Telemetry } from '../../lambdas/kernel/platform/telemetry.ts';
import type { Clock } from '../../lambdas/kernel/world.ts';
import { ProcessReplayCache } from '../../lambdas/once/process-records.ts';
import type { AdminTools } from '../../lambdas/operators/http/admin-routes.ts';
import type { LedgerTools } from '../../lambdas/operators/http/ledger-routes.ts';
import { DynamoDbQueues } from '../../lambdas/operators/store/dynamodb-queues.ts';
import type { OrderRouteTools } from '../../lambdas/orders/http/order-routes.ts';
import type { PaymentsTools } from '../../lambdas/payments/http/post-payment.ts';
import { parsePaymentId } from '../../lambdas/payments/ids.ts';
import type { ApiKeyRecord, ApiKeyRegistry } from '../../lambdas/tenants/api-key-registry.ts';
import { TenantLimits } from '../../lambdas/tenants/limits.ts';
import { byOperatorKey, type OperatorKeyRecord, type OperatorKeyRegistry } from '../../lambdas/tenants/operators.ts';
import type { IsTenant } from '../../lambdas/tenants/owners.ts';
import { DynamoDbLimits } from '../../lambdas/tenants/store/dynamodb-limits.ts';
import { LimitAdministration } from '../../lambdas/tenants/store/limit-administration.ts';
import { TenantAdministration } from '../../lambdas/tenants/store/tenant-administration.ts';
import { idOfKeyHash, keyRowKey } from '../../lambdas/tenants/store/tenant-registry.ts';
import type { ListOrdersTools } from '../../lambdas/views/use/list-orders.ts';
import type { ListPaymentsTools } from '../../lambdas/views/use/list-payments.ts';
import type { ReadEventTools } from '../../lambdas/views/use/read-event.ts';
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
/** Registered by the tests that use them. */
export const OTHER_KEY = 'sk_test_zyxwvutsrqponmlkjihgfe';
export const LIVE_KEY = 'sk_live_0123456789abcdefghijkl';
export const OPERATOR_KEY = 'ok_0123456789abcdefghijkl';

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

/** What the routes of all APIs are given. */
export type ApiWorldTools = TenantApiTools &
  PaymentsTools &
  ListPaymentsTools &
  OrderRouteTools &
  ListOrdersTools &
  LedgerTools &
  AdminTools &
  AuditRouteTools &
  JobsApiTools &
  ReadEventTools &
  WebhookApiTools &
  Pick<ExportsTools, 'exports' | 'startWriter' | 'link'> & {
    readonly callbacks: Pick<CallbacksApiTools, 'sources' | 'secrets'>;
  };

type Handler = (event: GatewayEvent) => Promise<GatewayResult>;

/** One function per kind of path, as the stacks deploy them; each loads its own routes. */
const FUNCTIONS: readonly (readonly [RegExp, (tools: ApiWorldTools) => Promise<Handler>])[] = [
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
    /^\/v1\/(?:ledger|balances|corrections|decisions|annotations|admin)/,
    async (tools) => {
      const { LEDGER_ROUTES } = await import('../../lambdas/operators/http/ledger-routes.ts');
      const { ADMIN_ROUTES } = await import('../../lambdas/operators/http/admin-routes.ts');
      return byPath(operatorApi(ADMIN_ROUTES, tools, tools.identify), authenticatedApi(LEDGER_ROUTES, tools));
    },
  ],
  [
    /^\/v1\/(?:events|reports)/,
    async (tools) => authenticatedApi((await import('../../lambdas/views/http/event-routes.ts')).EVENT_ROUTES, tools),
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
  [
    /^/,
    async (tools) => {
      const { PAYMENT_ROUTES } = await import('../../lambdas/payments/http/payment-routes.ts');
      const { PAYMENT_LIST_ROUTES } = await import('../../lambdas/views/http/payment-list-routes.ts');
      const routes = [...PAYMENT_ROUTES, ...PAYMENT_LIST_ROUTES];
      return authenticatedApi<PaymentsTools & ListPaymentsTools>(routes, tools);
    },
  ],
];

const TEA = {
  amount: 2_000,
  currency: 'EUR',
  source: 'tok_ok',
  items: [{ sku: 'sku_tea', quantity: 2 }],
  email: 'ada@example.com',
  referrer: 'ref_friend',
};

/** The worlds of tests name tenants without creating them. */
export const UNKNOWN_TENANT = 'ten_nobody';
export const isAnyTenant: IsTenant = async (id) => id !== UNKNOWN_TENANT;

/** Limits that are high enough for every test that is not about limits. */
export function limitsIn({ client }: Pick<MemoryDynamoDb, 'client'>, clock: Clock): TenantLimits {
  return new TenantLimits(new DynamoDbLimits(client, TABLES.registry, { rate: 1_000_000, burst: 1_000_000 }), clock);
}

let processes = 0;

/** All APIs on one world, as one process of each function serves them, and a client with a key for everything. */
export class Api<Of extends World = World> {
  readonly world: Of;
  /** What was written at once, not at the end of a request. */
  readonly alarms: string[] = [];
  readonly reports: { readonly report: RequestReport; readonly counts: readonly RequestCount[] }[] = [];
  readonly faults: unknown[] = [];
  /** Every hash of a key that was looked up. */
  readonly lookups: string[] = [];
  /** Every last use that was stored, with its day. */
  readonly uses: string[] = [];
  /** The files of exports. */
  readonly files = new MemoryExportFiles();
  readonly #known = new Map<string, ApiKeyRecord>();
  readonly #operators = new Map<string, OperatorKeyRecord>();
  readonly #changes: Partial<ApiWorldTools>;
  readonly #handlers = new Map<RegExp, Promise<Handler>>();
  readonly #secrets = {
    active: async () => ['0123456789abcdefghijABCDEFGHIJ01'],
    renewed: async () => undefined,
  };
  #tools: ApiWorldTools | undefined;
  #requests = 0;

  /** @param changes what these processes have otherwise than the world */
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

  /** Other processes on the same world. */
  with(changes: Partial<ApiWorldTools> = {}): Api<Of> {
    return new Api({ ...this.#changes, ...changes }, this.world);
  }

  /** For everything of `ten_desk` in test mode, unless `changes` says otherwise. */
  registerKey(key: string, changes: Partial<ApiKeyRecord>): void {
    const hash = createHash('sha256').update(key).digest('hex');
    this.#known.set(hash, { tenantId: tenantId('ten_desk'), mode: 'test', scopes: ALL_SCOPES, ...changes });
  }

  /** An owner, unless `changes` says otherwise. */
  registerOperator(key: string, changes: Partial<OperatorKeyRecord> = {}): void {
    const hash = createHash('sha256').update(key).digest('hex');
    this.#operators.set(hash, { operator: 'Ada Example', role: 'owner', ...changes });
  }

  /** Stores an operator's key in the Registry, where the API lists it. @returns its id */
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

  /** Approves, or rejects, what another operator asked for. By default as the operator of all other requests. */
  approve(id: string, asked: Asked = {}, verdict: 'approve' | 'reject' = 'approve'): Promise<Reply> {
    return this.ask('POST', `/v1/admin/approvals/${id}/${verdict}`, asked);
  }

  reject(id: string, asked: Asked = {}): Promise<Reply> {
    return this.approve(id, asked, 'reject');
  }

  /** Asks to revoke a key by its id. */
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
    const result = await (await this.#handlerOf(asked))({
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
    invariant(fault === undefined, `the API documents are wrong: ${fault}`);
    return reply;
  }

  /** For a client that takes a `fetch`. */
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

  /** Posts with a key, and a body unless there is none. */
  write(path: string, key: string, body?: unknown, { headers, event }: Asked = {}): Promise<Reply> {
    const type = body === undefined ? {} : { 'Content-Type': 'application/json' };
    return this.ask('POST', path, {
      headers: { ...type, 'Idempotency-Key': key, ...headers },
      event: { body: body === undefined ? null : JSON.stringify(body), ...event },
    });
  }

  /** Pays with 10.00 EUR from `tok_ok`, unless `body` says otherwise. */
  pay(key: string, body: Readonly<Record<string, unknown>> = {}, asked: Asked = {}): Promise<Reply> {
    return this.write('/v1/payments', key, { amount: 1000, currency: 'EUR', source: 'tok_ok', ...body }, asked);
  }

  /** Pays, and waits a second. @returns the payment's id */
  async paid(key: string, body: Readonly<Record<string, unknown>> = {}, asked: Asked = {}): Promise<PaymentId> {
    const reply = await this.pay(key, body, asked);
    const { payment = reply.body } = reply.body as { payment?: Record<string, unknown> };
    const id = parsePaymentId(String((payment as Record<string, unknown>)['id']));
    invariant(id !== undefined, `no payment was made: ${reply.text}`);
    this.world.clock.advance(1000);
    return id;
  }

  /** Posts a payment's body as it is. */
  post(body: string, { headers, event }: Asked = {}): Promise<Reply> {
    return this.ask('POST', '/v1/payments', {
      headers: { 'Content-Type': 'application/json', 'Idempotency-Key': 'a-key', ...headers },
      event: { body, ...event },
    });
  }

  /** @param of which payment and what, for example `pay_…/refunds` */
  change(of: string, key: string, body?: Readonly<Record<string, unknown>>, asked: Asked = {}): Promise<Reply> {
    return this.write(`/v1/payments/${of}`, key, body, asked);
  }

  /** Orders tea for 20.00 EUR with a referrer, unless `body` says otherwise. */
  order(key: string, body: Readonly<Record<string, unknown>> = {}, asked: Asked = {}): Promise<Reply> {
    return this.write('/v1/orders', key, { ...TEA, ...body }, asked);
  }

  /** Corrects the books, by default as an operator who gives a reason. */
  correct(key: string, body: Readonly<Record<string, unknown>>, asked: Asked = {}): Promise<Reply> {
    const sent = { reason: 'Booked twice', ...body };
    return this.write('/v1/admin/corrections', key, sent, asked);
  }

  /** Annotates a payment, by default as an operator who gives a reason. */
  annotate(
    payment: string,
    key: string,
    body: Readonly<Record<string, unknown>> = {},
    asked: Asked = {},
  ): Promise<Reply> {
    const sent = { reason: 'Charged for the wrong order', ...body };
    return this.write(`/v1/admin/payments/${payment}/annotations`, key, sent, asked);
  }

  /** Asks for a run of a job. */
  run(key: string, body?: Readonly<Record<string, unknown>>, asked: Asked = {}, path = RUNS): Promise<Reply> {
    return this.write(path, key, body, asked);
  }

  /** Asks for a run as the executor does, unless `changes` says otherwise. */
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

  /** Calls the API of webhook endpoints, with a key and a body or without. */
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

  /** Creates a webhook endpoint, a good one unless `body` says otherwise. */
  create(key: string, body: Readonly<Record<string, unknown>> = {}, asked: Asked = {}): Promise<Reply> {
    return this.send('POST', '', key, { url: 'https://shop.co.uk/hooks', events: ['*'], ...body }, asked);
  }

  #handlerOf(path: string): Promise<Handler> {
    const [pattern, open] = FUNCTIONS.find(([each]) => each.test(path)) ?? [];
    invariant(pattern !== undefined && open !== undefined, 'the last pattern fits all');
    const handler = this.#handlers.get(pattern) ?? open((this.#tools ??= this.#open()));
    this.#handlers.set(pattern, handler);
    return handler;
  }

  #open(): ApiWorldTools {
    processes += 1;
    const { world, clock } = this;
    const ownKeys = { operators: this.#operatorKeys, clock, digest: world.tools.digest };
    const { store = world.store, identify = byOperatorKey(ownKeys) } = this.#changes;
    const behind = store instanceof Stores ? store : world.store;
    const views = new ProjectedViews(behind);
    const entropy = countingEntropy(`process-${processes}`);
    const exports = new DynamoDbExports(behind.database.client, TABLES, { clock, entropy });
    const rows = exportRows({ views, transitions: behind.ledger });
    const writer = { exports, rows, files: this.files, startWriter: async () => undefined, clock, entropy };
    return {
      ...world.tools,
      replays: new ProcessReplayCache(),
      entropy,
      telemetry: this.#telemetry,
      keys: this.#keys,
      limits: limitsIn(behind.database, clock),
      identify,
      operators: { identify, isTenant: isAnyTenant },
      isTenant: isAnyTenant,
      report: (error) => this.faults.push(error),
      views,
      ...emailTools(behind),
      transitions: behind.ledger,
      ledger: new ViewLedgerReader(views),
      queues: new DynamoDbQueues(behind.database.client, TABLES, { clock, entropy }),
      messages: { deployed: {}, count: async () => 0, peek: async () => [], putBack: async () => 0 },
      keysBy: (by) => new TenantAdministration(behind.database.client, TABLES, by, { clock, entropy }),
      limitsBy: (by) => new LimitAdministration(behind.database.client, TABLES, by, { clock, entropy }),
      deployedLimit: { rate: 100, burst: 200 },
      activity: behind.activity,
      search: { views, store, transitions: behind.ledger, ...emailTools(behind) },
      timeline: {
        chains: store,
        records: store,
        effects: world.tools.effects,
        webhooks: world.store.webhooks,
        activity: behind.activity,
        digest: world.tools.digest,
      },
      verify: async (token, path) =>
        (await import('../../lambdas/jobs/job-credential.ts')).verifyJobCredential(this.credentials, token, path),
      webhooks: world.store.webhooks,
      listed: [],
      archive: undefined,
      exports,
      // A writer that has ended when the request is answered.
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

/** @param time ISO 8601 */
export function unixSeconds(time: string): number {
  return Math.floor(Date.parse(time) / 1000);
}

/** The objects of a list. */
export function dataOf(reply: Pick<Reply, 'body'>): readonly Readonly<Record<string, unknown>>[] {
  const { data } = reply.body;
  if (!Array.isArray(data)) throw new Error(`no list: ${JSON.stringify(reply.body)}`);
  return data as Record<string, unknown>[];
}
export const idsOf = (reply: Reply): readonly string[] => dataOf(reply).map(({ id }) => String(id));

/** A request with this key. */
export const as = (key: string) => ({ headers: { Authorization: `Bearer ${key}` } });
