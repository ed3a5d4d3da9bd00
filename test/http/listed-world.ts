import { acceptedRun } from '../../lambdas/jobs/domain/job-run.ts';
import { RegistryRow, ViewsRow } from '../../lambdas/kernel/contract/rows.ts';
import { KeyAttribute, RegistryTable } from '../../lambdas/kernel/contract/tables.ts';
import { BASE32_ALPHABET } from '../../lambdas/kernel/digest.ts';
import { tenantId } from '../../lambdas/kernel/ids.ts';
import { invariant } from '../../lambdas/kernel/invariant.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { QUEUES } from '../../lambdas/operators/use/queue-lists.ts';
import { readChain } from '../../lambdas/payments/use/payment-chain.ts';
import { compareBooks } from '../../lambdas/reconciliation/domain/compare-books.ts';
import { recordComparison } from '../../lambdas/reconciliation/use/mismatch-view.ts';
import { TenantAdministration } from '../../lambdas/tenants/store/tenant-administration.ts';
import { ViewLedgerReader } from '../../lambdas/views/use/view-ledger-reader.ts';
import { newDelivery } from '../../lambdas/webhooks/domain/webhook-delivery.ts';
import { webhookMessage } from '../../lambdas/webhooks/use/fan-out-webhooks.ts';
import { recordOf } from '../jobs/job-fixtures.ts';
import { comparedPayment } from '../reconciliation/mismatch-fixtures.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { emailTools } from '../views/email-tools.ts';
import { MemoryViews } from '../views/memory-views.ts';
import { eventNamed } from '../webhooks/webhook-fixtures.ts';
import { Api, dataOf, type Reply } from '../world/api.ts';
import { CountedDynamoDb } from '../world/counted-dynamodb.ts';
import type { Item } from '../world/dynamodb-values.ts';
import { Stores } from '../world/stores.ts';
import { TABLES } from '../world/tables.ts';
import { World } from '../world/world.ts';

const { partition: PK, sort: SK } = KeyAttribute;
const EMAIL = 'ada@example.com';
const REFERENCE = 'order-4711';
const OWNER = { tenantId: tenantId('ten_desk'), mode: 'test' } as const;
const TENANT = { tenant: 'ten_desk', mode: 'test' } as const;
/** Number of payments, and of orders: enough for one in each partition of a list. `multiply` copies their rows. */
const REAL = 8;
const DAY_SECONDS = 86_400;
/** With these annotations, the transitions of the disputed payment exceed one page. */
const TRANSITIONS = 100;
const POSTINGS = [
  { account: 'refunds', direction: 'debit', amount: 10 },
  { account: 'fees', direction: 'credit', amount: 10 },
];

/** Each list has many rows with equal values in all filterable fields. */
export class ListedWorld {
  readonly database: CountedDynamoDb;
  /** The seeded rows contain these enumeration values. */
  readonly held: ReadonlySet<string> = new Set([
    'EUR',
    'test',
    'failed',
    'payment.failed',
    'order.completed',
    'completed',
    'lost',
  ]);
  readonly range: Readonly<Record<string, string>>;
  readonly #api: Api;
  readonly #seeds: Seeds;

  private constructor(database: CountedDynamoDb, api: Api, seeds: Seeds) {
    this.database = database;
    this.#api = api;
    this.#seeds = seeds;
    this.range = {
      created_from: String(seeds.nowSeconds - 15 * DAY_SECONDS),
      created_to: String(seeds.nowSeconds + 15 * DAY_SECONDS),
    };
  }

  static async with(rows: number): Promise<ListedWorld> {
    const database = new CountedDynamoDb(new SimulatedClock());
    const store = new Stores(new SimulatedClock(), database);
    const world = new World({ store });
    const api = new Api({}, world);
    const seeds = await seed(api, database, rows);
    const views = new MemoryViews(database);
    const read = { views, store, transitions: store.ledger, ...emailTools(store) };
    return new ListedWorld(database, api.with({ views, ledger: new ViewLedgerReader(views), search: read }), seeds);
  }

  get(path: string, query: Readonly<Record<string, string>>): Promise<Reply> {
    const search = new URLSearchParams(query).toString();
    return this.#api.get(search === '' ? path : `${path}?${search}`);
  }

  /** The ids in the paths exist. */
  pathsOf(path: string): readonly string[] {
    const { payment, endpoint, event } = this.#seeds;
    if (path === '/v1/admin/queues/{id}') return Object.keys(QUEUES).map((id) => path.replace('{id}', id));
    const id = path.includes('webhook')
      ? endpoint
      : path.includes('/jobs/')
        ? 'resolve'
        : path.includes('/events/')
          ? event
          : payment;
    return [path.replace('{id}', id)];
  }

  baseOf(path: string): Readonly<Record<string, string>> {
    if (/corrections|decisions|annotations/.test(path)) return { payment: this.#seeds.payment };
    if (/admin\/(?:payments|activity)$/.test(path)) return TENANT;
    if (path === '/v1/admin/limits') return { tenant: this.#seeds.tenant };
    if (path === '/v1/admin/keys') return { tenant: this.#seeds.tenant };
    if (path === '/v1/reports/volume') return { from: '2026-03-01', to: '2026-03-01' };
    return {};
  }

  /** Undefined for an enumeration, whose values come from its schema. */
  async samplesOf(path: string, name: string): Promise<readonly string[] | undefined> {
    const { nowSeconds, payment, tenant } = this.#seeds;
    switch (name) {
      case 'email':
        return [EMAIL, 'none@example.com'];
      case 'reference':
        return [REFERENCE, 'order-none'];
      case 'q':
        return [REFERENCE, REFERENCE.slice(1), EMAIL, this.#seeds.payment, 'order-none'];
      case 'charge_id':
        return [this.#seeds.charge, 'ch_none'];
      case 'amount':
        return ['1000', '1'];
      case 'amount_from':
        return ['1', '1001'];
      case 'amount_to':
        return ['1000000', '999'];
      case 'created_from':
        return [String(nowSeconds - 15 * DAY_SECONDS), String(nowSeconds + 15 * DAY_SECONDS)];
      case 'created_to':
        return [String(nowSeconds + 16 * DAY_SECONDS), String(nowSeconds - 15 * DAY_SECONDS)];
      case 'currency':
        return path === '/v1/reports/volume' ? ['EUR', 'GBP'] : undefined;
      case 'payment':
        return [payment];
      case 'tenant':
        return [path === '/v1/admin/keys' || path === '/v1/admin/limits' ? tenant : TENANT.tenant];
      case 'day':
      case 'from':
      case 'to':
        return ['2026-03-01', '2026-03-02'];
      case 'at':
        return [String(nowSeconds + DAY_SECONDS), '0'];
      case 'starting_after':
      case 'ending_before': {
        const pages = await Promise.all(this.pathsOf(path).map((real) => this.get(real, this.baseOf(path))));
        const data = pages.map(dataOf).find((each) => each.length > 0) ?? [];
        const { id, sequence } = data[Math.floor(data.length / 2)] ?? {};
        const cursor: unknown = id ?? sequence ?? '0';
        return [String(cursor)];
      }
      default:
        return undefined;
    }
  }
}

interface Seeds {
  readonly payment: string;
  readonly charge: string;
  readonly endpoint: string;
  readonly event: string;
  readonly tenant: string;
  readonly nowSeconds: number;
}

async function seed(api: Api, database: CountedDynamoDb, rows: number): Promise<Seeds> {
  const nowMs = api.clock.nowMs();
  await seedPayments(api);
  const payment = await api.paid('disputed', { metadata: { receipt_email: EMAIL } });
  const charge = api.processor.charges(payment)[0]?.chargeId;
  invariant(charge !== undefined, 'the payment has no charge');
  await seedMismatch(api, payment);
  await api.processor.inside.closeDispute(await api.processor.inside.dispute(charge, 400), 'lost');
  await api.world.learn(payment);
  await api.correct('c', { payment, reverses: 2 });
  await api
    .with({ approvals: { aboveMinor: { EUR: 1 }, lifetimeMs: 3_600_000 } })
    .correct('d', { payment, postings: POSTINGS });
  for (let number = 0; number < TRANSITIONS; number += 1) await api.annotate(payment, `a-${number}`);
  await api.pay('held', { capture: 'manual' });
  for (let number = 0; number < REAL; number += 1) await api.order(`order-${number}`, { email: EMAIL });
  await api.write('/v1/exports', 'e', { kind: 'payments', from: '2026-03-01', to: '2026-03-01' });
  const endpoint = String((await api.create('endpoint')).body['id']);
  await seedDeliveries(api, endpoint, rows);
  for (let number = 0; number < rows; number += 1) {
    const run = acceptedRun('resolve', nowMs - number * 60_000, nowMs);
    await api.store.jobRuns.accept(recordOf(run), run);
  }
  // Reading a list projects all events into the Views.
  const events = dataOf(await api.get('/v1/events'));
  const tenant = await seedTenants(database, api);
  await multiply(database, rows);
  return { payment, charge, endpoint, event: String(events[0]?.['id']), tenant, nowSeconds: Math.floor(nowMs / 1000) };
}

async function seedPayments(api: Api): Promise<void> {
  // Failed payments can have the same reference.
  const body = { source: 'tok_declined', reference: REFERENCE, metadata: { receipt_email: EMAIL } };
  for (let number = 0; number < REAL; number += 1) await api.paid(`payment-${number}`, body);
}

async function seedMismatch(
  { store, processor, views, clock }: Api,
  paymentId: Awaited<ReturnType<Api['paid']>>,
): Promise<void> {
  const chain = await readChain(store, paymentId);
  const [charge] = processor.charges(paymentId);
  invariant(chain !== undefined && charge !== undefined, 'the payment or its charge is missing');
  const charges = [charge, { ...charge, chargeId: 'ch_2', capturedMinor: 250 }];
  const { transitions, state } = chain;
  const [mismatch] = compareBooks(charges, { paymentId, paymentStatus: state.payment.status, transitions });
  await recordComparison(
    { views, digest: systemDigest },
    comparedPayment('k', { subject: paymentId }),
    mismatch,
    clock.nowMs(),
  );
}

async function seedDeliveries({ store, clock }: Api, id: string, rows: number): Promise<void> {
  for (let number = 0; number < rows; number += 1) {
    const atMs = clock.nowMs() + number;
    const now = newDelivery(systemDigest, OWNER, { id }, webhookMessage(eventNamed(`event-${number}`, atMs)), atMs);
    await store.webhooks.write({ deliveries: [{ now }] });
  }
}

async function seedTenants(database: CountedDynamoDb, api: Api): Promise<string> {
  const tenant = await new TenantAdministration(database.client, TABLES, 'ada').createTenant('Web shop');
  await api.write('/v1/admin/keys', 'k', { tenant, mode: 'live', name: 'Web shop', scopes: ['payments:read'] });
  return tenant;
}

/** The lists are sorted by time or id. */
async function multiply(database: CountedDynamoDb, rows: number): Promise<void> {
  const copy = (table: string, prefix: string, changed: Parameters<CountedDynamoDb['copy']>[3]): Promise<void> =>
    database.copy(table, prefix, Math.ceil(rows / database.items(table, prefix).length), changed);
  const lists = [
    ViewsRow.payment,
    ViewsRow.reference,
    ViewsRow.order,
    ViewsRow.dispute,
    ViewsRow.event,
    ViewsRow.book,
    ViewsRow.allMismatches,
  ];
  for (const prefix of lists) {
    await copy(TABLES.views, prefix, (row, number) => ({ [SK]: later(text(row, SK), number) }));
  }
  const { partitionKey, sortKey } = RegistryTable.emailIndex;
  await database.copy(TABLES.registry, RegistryRow.details, Math.ceil(rows / REAL), (row, number) =>
    row[partitionKey] === undefined ? {} : { [SK]: `copy-${number}`, [sortKey]: later(text(row, sortKey), number) },
  );
  for (const prefix of [RegistryRow.approvals, RegistryRow.export, RegistryRow.hold]) {
    await copy(TABLES.registry, prefix, (row, number) =>
      /^\d{13}/.test(text(row, SK)) ? { [SK]: later(text(row, SK), number) } : {},
    );
  }
  const other = (id: string, number: number) => `${id.slice(0, -4)}${letters(number)}`;
  for (const [prefix, name] of [
    [RegistryRow.tenants, SK],
    [RegistryRow.apiKeys, SK],
    [RegistryRow.apiKey, PK],
  ] as const) {
    await copy(TABLES.registry, prefix, (row, number) => ({ [name]: other(text(row, name), number) }));
  }
}

function text(row: Item, name: string): string {
  return row[name] as string;
}

function later(sort: string, number: number): string {
  const seconds = number % 2 === 0 ? number : -number;
  return sort.replace(/^\d+/, (ms) => String(Number(ms) + seconds * 1000).padStart(ms.length, '0'));
}

function letters(number: number): string {
  return [3, 2, 1, 0].map((place) => BASE32_ALPHABET[Math.floor(number / 32 ** place) % 32]).join('');
}
