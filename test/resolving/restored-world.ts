import { commissionOfChain } from '../../lambdas/follow-ups/recover-commission.ts';
import { DynamoDbLostCommissions } from '../../lambdas/follow-ups/store/dynamodb-lost-commissions.ts';
import type { PaymentId } from '../../lambdas/kernel/ids.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { isAsPosted, moneyOf } from '../../lambdas/payments/domain/charge-money.ts';
import { readChain } from '../../lambdas/payments/use/payment-chain.ts';
import { DynamoDbImpliedRows } from '../../lambdas/resolving/store/dynamodb-implied-rows.ts';
import { DynamoDbRowsOfChains } from '../../lambdas/resolving/store/dynamodb-rows-of-chains.ts';
import { closeRemnants, type LostOperation } from '../../lambdas/resolving/use/close-remnants.ts';
import { expireAuthorizationsJob } from '../../lambdas/resolving/use/expire-authorizations.ts';
import { initialQueueRebuildState, rebuildQueues } from '../../lambdas/resolving/use/rebuild-queues.ts';
import { sweepJob } from '../jobs/sweep-job.ts';
import { paymentIdFor } from '../payments/payment-fixtures.ts';
import { ReconcileHarness } from '../reconciliation/reconcile-harness.ts';
import { Api, type Reply } from '../world/api.ts';
import { TABLES } from '../world/tables.ts';

const MINUTE_MS = 60_000;
/** Downtime of the functions while tables are restored, in milliseconds. */
const STOPPED_MS = 10 * MINUTE_MS;

export interface HistoryStep {
  readonly what: string;
  /**
   * Whether the step is a request with an idempotency key, which the client retries.
   *
   * @default false: the step happens once
   */
  readonly isKeyed?: true;
  readonly act: (world: RestoredWorld) => Promise<Reply | undefined | void>;
}

/** Each row is described by its table and its kind. */
export interface Transaction {
  readonly rows: readonly string[];
}

/** `kept` are the indexes of the rows that the restored copy contains. */
export interface Cut {
  readonly transaction: number;
  readonly kept: readonly number[];
}

const APPROVALS = { aboveMinor: { EUR: 5_000 }, lifetimeMs: 72 * 60 * MINUTE_MS };

/** Runs all APIs and jobs on tables restored to a point in time within a transaction. */
export class RestoredWorld {
  api: Api;
  readonly transactions: Transaction[] = [];
  /** Payments that the comparison reported, and payments whose chains the recovery reported as broken or unreadable. */
  readonly #named = new Set<string>();
  /** Payments and orders with an operation that the recovery reported as lost. */
  readonly #lost = new Set<string>();
  /** Payments and orders about which a job raised an alarm. */
  readonly #alarmed = new Set<string>();
  readonly #made = new Map<string, Reply>();

  constructor(cut?: Cut) {
    this.api = new Api({ approvals: APPROVALS });
    this.#registerBen();
    this.api.store.database.cutTransaction((rows) => {
      if (rows.some(({ table }) => table === TABLES.views)) return undefined;
      const place = this.transactions.length;
      this.transactions.push({ rows: rows.map(({ table, before, after }) => nameOf(table, after ?? before ?? {})) });
      return place === cut?.transaction ? cut.kept : undefined;
    });
  }

  get world() {
    return this.api.world;
  }

  get inside() {
    return this.world.processor.inside;
  }

  #registerBen(): void {
    this.api.registerOperator('ok_benbenbenbenbenbenbenben00', { operator: 'Ben Example', role: 'approver' });
  }

  made(what: string): Reply {
    const reply = this.#made.get(what);
    if (reply === undefined) throw new Error(`the step ${what} has no response`);
    return reply;
  }

  /** Id of the payment requested with the key `pay`, even if that request got no response. */
  get paymentId(): PaymentId {
    return paymentIdFor('pay', 'ten_desk');
  }

  get isCut(): boolean {
    return this.api.store.database.isCut;
  }

  /** Returns true if the tables were lost during the step. */
  async do(step: HistoryStep): Promise<boolean> {
    this.world.clock.advance(1_000);
    const reply = await step.act(this).catch((error: unknown) => {
      if (!this.isCut) throw error;
    });
    if (this.isCut) return true;
    if (reply !== undefined && reply !== null) this.#made.set(step.what, reply);
    return false;
  }

  /** The client retries in the same way. @returns a violation if the last response is still a 5xx */
  async repeat(step: HistoryStep): Promise<readonly string[]> {
    let reply = await step.act(this);
    for (let tries = 0; tries < 3 && reply !== undefined && reply !== null && reply.status >= 500; tries += 1) {
      await this.work(10);
      reply = await step.act(this);
    }
    if (reply === undefined || reply === null) return [];
    this.#made.set(step.what, reply);
    return reply.status < 500 ? [] : [`${step.what} gets the response ${reply.status}`];
  }

  adopt(): void {
    this.world.store.database.resume();
    this.api = this.api.with();
    this.#registerBen();
    this.api.faults.length = 0;
    this.world.reported.length = 0;
    this.world.clock.advance(STOPPED_MS);
  }

  async recover(): Promise<readonly LostOperation[]> {
    this.adopt();
    const { store, clock, basics } = this.world;
    const { client } = store.database;
    const implied = new DynamoDbImpliedRows(client, TABLES, basics);
    const chainRows = new DynamoDbRowsOfChains(client, TABLES, basics);
    const remnants = await closeRemnants(
      { store, approvals: store, orders: store, chainRows, implied, clock },
      1,
      () => undefined,
    );
    for (const { chainId } of remnants.lost) this.#lost.add(chainId);
    const { unreadable, broken } = await this.rebuild();
    for (const id of [...unreadable, ...broken, ...remnants.unreadable]) this.#named.add(id);
    return remnants.lost;
  }

  /** The second half of the recovery. */
  rebuild(): ReturnType<typeof rebuildQueues> {
    const { store, basics } = this.world;
    const { client } = store.database;
    const lost = new DynamoDbLostCommissions(client, TABLES.registry, basics);
    return rebuildQueues(
      {
        store,
        orders: store,
        ledger: store.ledgerScan,
        rows: new DynamoDbImpliedRows(client, TABLES, basics),
        clock: this.world.clock,
        commission: async (chain) => {
          const implied = commissionOfChain(systemDigest, chain);
          return implied !== undefined && lost.restore(implied);
        },
      },
      initialQueueRebuildState(1),
      async () => undefined,
    );
  }

  async work(minutes: number, everyMs = MINUTE_MS): Promise<void> {
    const { world } = this;
    const alarm = (_what: unknown, about: string) => void this.#alarmed.add(about);
    for (let minute = 0; minute < minutes; minute += 1) {
      world.clock.advance(everyMs);
      await world.resolve({ alarm });
      await world.retryOrphans({ alarm });
    }
    const { errors } = await sweepJob(expireAuthorizationsJob({ ...world.tools, alarm }), {
      nowMs: world.clock.nowMs(),
    });
    world.reported.push(...errors);
  }

  /** Returns the errors of jobs that keep failing although nothing new happens. */
  async endless(): Promise<readonly string[]> {
    this.world.reported.length = 0;
    await this.work(3);
    await this.work(3, 60 * MINUTE_MS);
    return this.world.reported.map((error) => `a job fails in every run: ${(error as Error).message}`);
  }

  async compare(): Promise<void> {
    if (this.inside.all.length === 0) return;
    const comparing = new ReconcileHarness({}, this.world);
    for (const { paymentId } of await comparing.mismatches()) if (paymentId !== undefined) this.#named.add(paymentId);
  }

  async differences(): Promise<readonly string[]> {
    const found: string[] = [];
    for (const charge of this.world.processor.inside.all) {
      const { paymentId, chargeId } = charge;
      if (paymentId === undefined || this.#named.has(paymentId) || this.#alarmed.has(paymentId)) continue;
      const chain = await readChain(this.world.store, paymentId);
      if (chain === undefined) {
        if (charge.capturedMinor > 0 && !this.#lost.has(paymentId))
          found.push(`${chargeId} has no payment, which was not reported`);
        continue;
      }
      if (!isAsPosted(charge, chain.state)) found.push(`${chargeId} differs from the chain`);
      if (charge.capturedMinor > 0 && moneyOf(chargeId, chain.state) === undefined)
        found.push(`${chargeId} has money that is not posted`);
      const status = chain.state.payment.status;
      if (status === 'processing' && charge.status !== 'pending') found.push(`${paymentId} stays ${status}`);
    }
    return found;
  }

  /** Returns a violation if an operator's effect was acknowledged but is missing from the chain. */
  async unmade(): Promise<readonly string[]> {
    const effects = [...this.#made].filter(([what]) => /^(?:decision|correction|annotation|approval)$/.test(what));
    if (effects.length === 0) return [];
    const chain = await readChain(this.world.store, this.paymentId);
    const { corrections, decisions, annotations, refunds } = chain?.state ?? {};
    const made = [corrections, decisions, annotations, refunds].reduce((sum, each) => sum + (each?.size ?? 0), 0);
    const isAnswered = effects.some(([, { status }]) => status === 200 || status === 201);
    return isAnswered && made === 0 ? ['an operator’s effect was acknowledged but is missing from the chain'] : [];
  }

  /** Returns a sentence for each approval whose verdict contradicts the chain of its payment. */
  async misjudged(): Promise<readonly string[]> {
    const { store } = this.world;
    const found: string[] = [];
    const approvals = await store.listApprovals({ limit: 100, withReasons: false });
    for (const { operationId, paymentId, end } of approvals) {
      // The request was repeated after its record was lost. A second approval made the effect; this one expires.
      const isRepeated = approvals.some((other) => other.operationId === operationId && other.end !== undefined);
      if (end === undefined && isRepeated) continue;
      const chain = await readChain(store, paymentId);
      const { corrections, decisions, refunds } = chain?.state ?? {};
      const isMade = [corrections, decisions, refunds].some((each) => each?.has(operationId) === true);
      if (isMade !== (end?.verdict === 'approved'))
        found.push(`an approval with the verdict ${end?.verdict} has ${isMade ? 'an' : 'no'} effect`);
    }
    return found;
  }

  left(): readonly string[] {
    const { store } = this.world;
    const open = store.openClaims();
    return open === 0 ? [] : [`${open} claims stay open`];
  }
}

function nameOf(table: string, row: Readonly<Record<string, unknown>>): string {
  const [kind = ''] = String(row['pk']).split('#');
  const name = kind === 'OP' ? String(row['pk']).slice(3, 6) : kind;
  return `${table} ${name}`;
}
