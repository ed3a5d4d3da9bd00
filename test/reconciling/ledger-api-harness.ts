import { DynamoDbActivity } from '../../lambdas/activity/store/dynamodb-activity.ts';
import { authenticatedApi } from '../../lambdas/http/authenticated-api.ts';
import type { GatewayEvent, GatewayResult } from '../../lambdas/http/gateway-request.ts';
import { ALL_SCOPES } from '../../lambdas/kernel/contract/api.ts';
import { ownerToken, type PaymentId, parsePaymentId, storedOperationId } from '../../lambdas/kernel/ids.ts';
import { invariant } from '../../lambdas/kernel/invariant.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import { decide } from '../../lambdas/payments/domain/decide.ts';
import type { Fact } from '../../lambdas/payments/domain/facts.ts';
import { factsOf } from '../../lambdas/payments/domain/processor-charge.ts';
import { nextTransition } from '../../lambdas/payments/domain/transition.ts';
import { readChain } from '../../lambdas/payments/use/payment-chain.ts';
import { LEDGER_ROUTES, type LedgerTools } from '../../lambdas/reconciling/http/ledger-routes.ts';
import { ViewLedgerReader } from '../../lambdas/views/use/view-ledger-reader.ts';
import { API_KEY, ApiHarness, type Asked, PaymentsApiHarness, type Reply } from '../payments/payments-api-harness.ts';
import { requestedAt } from '../support/causes.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { MemoryViews } from '../views/memory-views.ts';
import { ProjectedViews } from '../views/projected-views.ts';
import { TABLES } from '../world/tables.ts';

/** The ledger API beside a payments API, on one store, one processor and one clock. */
export class LedgerApiHarness extends ApiHarness {
  readonly payments: PaymentsApiHarness;
  /** What comparisons have found; all else is projected when it is asked for. */
  readonly views = new MemoryViews();
  readonly #changes: Partial<LedgerTools>;

  constructor(changes: Partial<LedgerTools> = {}, payments = new PaymentsApiHarness()) {
    super();
    this.#changes = changes;
    this.payments = payments;
    this.registerKey(API_KEY, { scopes: ALL_SCOPES });
  }

  protected open(): (event: GatewayEvent) => Promise<GatewayResult> {
    const { store, clock } = this.payments;
    return authenticatedApi<LedgerTools>(LEDGER_ROUTES, {
      ledger: new ViewLedgerReader(new ProjectedViews(store)),
      views: this.views,
      effects: store,
      activity: new DynamoDbActivity(store.database.client, TABLES, { clock, entropy: countingEntropy() }),
      runner: idempotentRunner,
      clock,
      entropy: countingEntropy(),
      digest: systemDigest,
      telemetry: this.telemetry,
      keys: this.keys,
      ...this.#changes,
    });
  }

  /** Pays 10.00 EUR, unless `body` says otherwise, and waits a second. @returns the payment's id */
  async paid(key: string, body: Readonly<Record<string, unknown>> = {}, asked: Asked = {}): Promise<PaymentId> {
    const reply = await this.payments.pay(key, body, asked);
    const { payment = reply.body } = reply.body as { payment?: Record<string, unknown> };
    const id = parsePaymentId(String((payment as Record<string, unknown>)['id']));
    invariant(id !== undefined, `no payment was made: ${reply.text}`);
    this.payments.clock.advance(1000);
    return id;
  }

  /** Corrects the books, by default as an operator who gives a reason. */
  async correct(key: string, body: Readonly<Record<string, unknown>>, asked: Asked = {}): Promise<Reply> {
    const sent = JSON.stringify({ reason: 'Booked twice', operator: 'Ada Example', ...body });
    return this.ask('POST', '/v1/admin/corrections', {
      ...asked,
      headers: { 'Content-Type': 'application/json', 'Idempotency-Key': key, ...asked.headers },
      event: { body: sent, ...asked.event },
    });
  }

  /** Takes in what the processor now says of a payment, as callbacks would bring it about. */
  async learn(paymentId: PaymentId): Promise<void> {
    const { clock } = this.payments;
    for (const charge of this.payments.processor.charges(paymentId)) {
      for (const fact of factsOf(charge, paymentId, clock.nowMs())) await this.record(paymentId, fact);
    }
  }

  /** Appends what the fact causes, if it causes anything. */
  async record(paymentId: PaymentId, fact: Fact): Promise<void> {
    const { store, clock } = this.payments;
    const chain = await readChain(store, paymentId);
    invariant(chain !== undefined, 'there is such a payment');
    const decision = decide(fact, chain.state);
    if (decision.kind !== 'append') return;
    const name = `${paymentId}_${chain.newest.sequence}`;
    const outcome = await store.recordEffect({
      record: {
        operationId: storedOperationId(`cb_${name}`),
        paymentId,
        owner: ownerToken(`fact-${name}`),
        recordedAtMs: clock.nowMs(),
        expiresAtSeconds: clock.nowMs() / 1000 + 86_400,
      },
      transitions: [nextTransition(systemDigest, chain.newest, decision.draft, requestedAt(clock.nowMs()))],
    });
    invariant(outcome.kind === 'recorded', 'nobody else writes');
  }
}

/** The objects of a list. */
export function dataOf(reply: Pick<Reply, 'body'>): readonly Readonly<Record<string, unknown>>[] {
  const { data } = reply.body;
  if (!Array.isArray(data)) throw new Error(`no list: ${JSON.stringify(reply.body)}`);
  return data as Record<string, unknown>[];
}
