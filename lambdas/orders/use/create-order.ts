import { hasOmittedDetails, omitDetails, restoreDetails } from '../../kernel/answer.ts';
import type { Cause } from '../../kernel/cause.ts';
import { COMMIT_SECONDS, REQUEST_BUDGET_SECONDS } from '../../kernel/contract/timing.ts';
import { defined } from '../../kernel/defined.ts';
import type { Fingerprint } from '../../kernel/fingerprint.ts';
import type { Mode, OrderId, TenantId } from '../../kernel/ids.ts';
import { sealOf } from '../../kernel/sealed-details.ts';
import type { CompletedRecord, OpenRecord } from '../../once/domain/idempotency.ts';
import {
  type Attempt,
  type ClaimedKey,
  type Conclusion,
  type Executed,
  executeOnce,
  type Held,
  type LostRecord,
  type Operation,
  type RunNotes,
} from '../../once/use/execute-once.ts';
import type { CommitOutcome, ExpectedRecord } from '../../once/use/record-store.ts';
import { claimTransactionLost } from '../../once/use/rounds.ts';
import { type NoProcessor, processorFor } from '../../payments/use/pinned-processor.ts';
import { createOrderDraft, isSettled } from '../domain/order.ts';
import { contactsFields, orderAnswer } from '../domain/order-answer.ts';
import { processingDraft } from '../domain/order-steps.ts';
import {
  contactsOf,
  firstOrderTransition,
  isOrderedBy,
  nextOrderTransitions,
  type OrderLine,
  type OrderTransition,
} from '../domain/order-transition.ts';
import { orderOperation, paymentOfOrder } from '../ids.ts';
import { type Driven, driveOrder, openOrder, raiseAlarms, readOrderOrFail, recordFacts } from './drive-order.ts';
import { NothingBegun, type OrderTools } from './order-calls.ts';
import { type OrderChain, orderChainOf, readOrderChain, withTransitions } from './order-chain.ts';
import type { OrderAppend } from './order-store.ts';

export interface CreateOrder {
  /** Derived from tenant, mode, method, path and idempotency key. */
  readonly orderId: OrderId;
  readonly tenantId: TenantId;
  readonly mode: Mode;
  readonly fingerprint: Fingerprint;
  readonly requestId: string;
  /** The request, or the run of a job that finishes the order. */
  readonly cause: Cause;
  /** By this process's clock. The time budget begins at this time. @default now */
  readonly receivedAtMs?: number;
  readonly amountMinor: number;
  readonly currency: string;
  readonly source: string;
  readonly items: readonly OrderLine[];
  readonly email: string;
  readonly emailHash?: string;
  readonly referrer?: string;
  readonly affiliate?: string;
  readonly shopOrder?: number;
  readonly returnUrl?: string;
}

type Refusal =
  | { readonly kind: 'order_key_expired'; readonly orderId: OrderId }
  /** No processor accepts the order's payment, or the shop has the other mode. Nothing was started. */
  | { readonly kind: 'no_processor'; readonly why: NoProcessor };

/** `unknown` is set if the order did not finish within the time of the request. */
export type CreateOrderOutcome = Executed<Refusal>;

/** Maximum time for which one request or job run continues an order. */
export const DRIVE_FOR_MS = (REQUEST_BUDGET_SECONDS - COMMIT_SECONDS) * 1000;

/**
 * The order is completed or fully reversed, or an operator must review it. A retry with the same key repeats no step
 * that has taken effect, whether the retry is concurrent or years later.
 *
 * @throws as `executeOnce`
 */
export async function createOrder(
  tools: OrderTools,
  request: CreateOrder,
  notes?: RunNotes,
): Promise<CreateOrderOutcome> {
  const outcome = await executeOnce(tools, new OrderOperation(tools, request), notes);
  if (outcome.kind !== 'replay' || !hasOmittedDetails(outcome.answer)) return outcome;
  const { details } = await readOrderOrFail(tools, request.orderId);
  return { ...outcome, answer: restoreDetails(outcome.answer, contactsFields(details)) };
}

function processorOf(tools: OrderTools, order: CreateOrder): ReturnType<typeof processorFor> {
  const { ordersOf = order.mode } = tools;
  return ordersOf === order.mode ? processorFor(tools, order) : `${order.mode}mode_not_available`;
}

class OrderOperation implements Operation<OrderChain, Driven, OrderAppend, Refusal> {
  readonly key: ClaimedKey;
  readonly expired: Refusal;
  readonly breaker: { readonly check: () => Promise<void> };
  readonly #tools: OrderTools;
  readonly #request: CreateOrder;
  readonly #untilMs: number;

  constructor(tools: OrderTools, request: CreateOrder) {
    const { orderId, fingerprint } = request;
    const paymentId = paymentOfOrder(tools.digest, orderId);
    this.key = { operationId: orderOperation(orderId), paymentId, fingerprint };
    this.expired = { kind: 'order_key_expired', orderId };
    this.breaker = {
      check: async () => {
        const processor = processorOf(tools, request);
        return typeof processor === 'string' ? undefined : processor.ready();
      },
    };
    this.#tools = tools;
    this.#request = request;
    const receivedAtMs = request.receivedAtMs ?? tools.clock.nowMs();
    this.#untilMs = receivedAtMs + DRIVE_FOR_MS;
  }

  async claim(open: (claimedAtMs: number, nowMs: number) => OpenRecord): Promise<Attempt<OrderChain, Refusal>> {
    const processor = processorOf(this.#tools, this.#request);
    if (typeof processor === 'string') return this.#findBegun(processor);
    const nowMs = this.#tools.clock.nowMs();
    const record = open(nowMs, nowMs);
    const first = this.#first(nowMs);
    const outcome = await this.#tools.orders.claimOrder({ record, first });
    switch (outcome.kind) {
      case 'claimed':
        return { kind: 'claimed', record, subject: orderChainOf([first]) };
      case 'record_exists':
        return outcome;
      case 'transition_exists':
        return { kind: 'begun', subject: await this.read() };
    }
  }

  /**
   * Called if no processor accepts the order's payment, or if the shop has the other mode. An order that has already
   * begun continues.
   */
  async #findBegun(why: NoProcessor): Promise<Attempt<OrderChain, Refusal>> {
    const { store, orders } = this.#tools;
    const record = await store.readRecord(this.key.operationId);
    if (record !== undefined) return { kind: 'record_exists', record };
    const chain = await readOrderChain(orders, this.#request.orderId);
    if (chain !== undefined) return { kind: 'begun', subject: chain };
    return { kind: 'refused', outcome: { kind: 'no_processor', why } };
  }

  lostRecord(chain: OrderChain): LostRecord {
    return {
      isAnswered: chain.order.answered,
      isSameRequest: () => isOrderedBy(this.#tools.digest, chain, this.#request),
      claimedAtMs: chain.order.createdAtMs,
    };
  }

  async claimAgain(record: OpenRecord): Promise<boolean> {
    return (await this.#tools.orders.claimOrder({ record })).kind === 'claimed';
  }

  async read(): Promise<OrderChain> {
    const chain = await readOrderChain(this.#tools.orders, this.#request.orderId);
    if (chain === undefined) throw claimTransactionLost();
    return chain;
  }

  async call({ subject, sent }: Held<OrderChain>): Promise<Driven> {
    const { cause } = this.#request;
    return driveOrder(this.#tools, subject, { cause, untilMs: this.#untilMs, nothingSent: sent === 'nothing' });
  }

  /**
   * Only `NothingBegun` proves that nothing was sent: any other error may follow a call to the processor or an external
   * service.
   */
  unsent(error: unknown): unknown {
    return error instanceof NothingBegun ? error.cause : undefined;
  }

  conclude(driven: Driven, nowMs: number): Conclusion<OrderAppend> {
    const drafts = [...driven.drafts];
    const processing = driven.concluded ? undefined : processingDraft(drafts.at(-1)?.order ?? driven.chain.order);
    if (processing !== undefined) drafts.push(processing);
    raiseAlarms(this.#tools, drafts);
    const transitions = nextOrderTransitions(this.#tools.digest, driven.chain.newest, drafts, {
      occurredAtMs: nowMs,
      cause: this.#request.cause,
    });
    const chain = withTransitions(driven.chain, transitions);
    const answer = orderAnswer(chain.order, chain.details);
    return {
      answer,
      stored: omitDetails(answer, contactsFields(chain.details)),
      unknown: chain.order.status === 'processing',
      // The chain contains every call, because each call is announced there first. Therefore, this response may be
      // committed even if the record was lost.
      isRefusal: false,
      write: { transitions, ...(isSettled(chain.order) ? {} : { open: openOrder(chain) }) },
    };
  }

  async commit(record: CompletedRecord, expects: ExpectedRecord, write: OrderAppend): Promise<CommitOutcome> {
    return this.#tools.orders.commitOrder({ record, expects, ...write });
  }

  async decideAgain({ learnt }: Driven): Promise<Driven> {
    const { cause } = this.#request;
    return driveOrder(this.#tools, await this.read(), { cause, untilMs: 0, nothingSent: false, learnt });
  }

  async keep(driven: Driven): Promise<void> {
    await recordFacts(this.#tools, this.#request.orderId, driven.learnt, this.#request.cause);
  }

  #first(createdAtMs: number): OrderTransition {
    const { orderId, tenantId, mode, amountMinor, currency, requestId } = this.#request;
    const { source, items, referrer, cause, emailHash, shopOrder } = this.#request;
    const { paymentId } = this.key;
    const order = { id: orderId, tenantId, mode, amountMinor, currency, paymentId, createdAtMs };
    const { digest, entropy } = this.#tools;
    const contacts = contactsOf(this.#request);
    const seal = sealOf(digest, contacts, entropy.salt());
    const found = defined({ emailHash });
    const inShop = defined({ shopOrder });
    const details = { requestId, source, items, ...inShop, ...contacts, ...seal, ...found };
    const draft = createOrderDraft(order, referrer);
    return firstOrderTransition(digest, draft, details, { occurredAtMs: createdAtMs, cause });
  }
}
