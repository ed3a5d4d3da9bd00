import type { Cause } from '../../kernel/cause.ts';
import type { OrderId } from '../../kernel/ids.ts';
import { invariant } from '../../kernel/invariant.ts';
import type { Clock } from '../../kernel/world.ts';
import { rounds } from '../../once/use/rounds.ts';
import type { OpenOrder } from '../../payments/use/payment-store.ts';
import type { Order, OrderDraft } from '../domain/order.ts';
import { isSettled } from '../domain/order.ts';
import { decideOrder, isMoneyMissing, type OrderFact } from '../domain/order-facts.ts';
import { nextOrderStep, type OrderCall } from '../domain/order-steps.ts';
import { nextOrderTransitions } from '../domain/order-transition.ts';
import { callForOrder, type OrderCallContext, type OrderTools, readOrderPayment } from './order-calls.ts';

import { type OrderChain, readOrderChain, withTransitions } from './order-chain.ts';
import type { OrderStore } from './order-store.ts';

export interface Drive extends OrderCallContext {
  /** Facts that are known but not yet in the chain. @default none */
  readonly learnt?: readonly OrderFact[];
  /**
   * Called before each call that the order needs. If it returns false, the turn ends.
   *
   * @default every call may be made
   */
  readonly mayCall?: (call: OrderCall) => Promise<boolean>;
}

/** The result of a turn: the chain as written, and the drafts that are not yet written. */
export interface Driven {
  readonly chain: OrderChain;
  readonly drafts: readonly OrderDraft[];
  /** If a rival has taken the drafts' position in the chain, new drafts are decided from the same facts. */
  readonly learnt: readonly OrderFact[];
  /** If false, the response is 202 `processing`. */
  readonly concluded: boolean;
}

/** Minimum remaining time for a call to begin. */
const SHORTEST_CALL_MS = 1_000;
/** Calls that may take effect only if the order is paid. */
const EFFECTS: ReadonlySet<OrderCall> = new Set(['reserve', 'send_email', 'credit']);
/** Each call once, the transitions before and after it, and some repetitions because of rivals. */
const MAX_STEPS = 60;

/**
 * Continues an order as far as possible now. Before each call, a transition announces it. One write contains the result
 * of a call and the announcement of the next.
 *
 *   driver  reserve? ── reserved ── append T5 ✗ ── read ── decide again: released, because the order was given up
 *   rival      └─ append T5: given up ─┘
 *
 * @throws NothingBegun as {@link callForOrder}
 */
export async function driveOrder(tools: OrderTools, chain: OrderChain, drive: Drive): Promise<Driven> {
  const turn = new OrderTurn(tools, chain, drive);
  return turn.run();
}

class OrderTurn {
  readonly #tools: OrderTools;
  readonly #context: OrderCallContext;
  readonly #mayCall: NonNullable<Drive['mayCall']>;
  readonly #tried = new Set<OrderCall>();
  #chain: OrderChain;
  #order: Order;
  #drafts: OrderDraft[] = [];
  #learnt: OrderFact[] = [];

  constructor(tools: OrderTools, chain: OrderChain, drive: Drive) {
    const { learnt = [], mayCall = async () => true, ...context } = drive;
    this.#tools = tools;
    this.#context = context;
    this.#mayCall = mayCall;
    this.#chain = chain;
    this.#order = chain.order;
    for (const fact of learnt) this.#learn(fact);
  }

  async run(): Promise<Driven> {
    const { clock } = this.#tools;
    for (let taken = 0; taken < MAX_STEPS; taken += 1) {
      const nowMs = clock.nowMs();
      const timeLeft = this.#context.untilMs - nowMs >= SHORTEST_CALL_MS;
      const step = nextOrderStep(this.#order, { nowMs, tried: this.#tried, timeLeft });
      switch (step.do) {
        case 'append':
          this.#draft(step.draft);
          break;
        case 'call':
          if (!(await this.#mayCall(step.call))) return this.#driven();
          if (await this.#written()) await this.#call(step.call);
          break;
        case 'conclude':
          if (step.draft.type !== 'order.completed' || (await this.#isPaid())) {
            this.#draft(step.draft);
            return this.#driven();
          }
          if (this.#order.failure === undefined) return this.#driven();
          break;
        case 'rest':
          return this.#driven();
      }
    }
    invariant(false, `the order ${this.#order.id} did not settle within ${MAX_STEPS} steps`);
  }

  async #call(call: OrderCall): Promise<void> {
    this.#tried.add(call);
    if (EFFECTS.has(call) && !(await this.#isPaid())) return;
    const { details } = this.#chain;
    const fact = await callForOrder(this.#tools, call, { order: this.#order, details }, this.#context);
    if (fact !== undefined) this.#learn(fact);
  }

  /**
   * Reads the payment again, immediately before an effect and before the completion.
   *
   *   driver  charge ✓ ── e-mail delayed ─────────── read ── no e-mail, no credit
   *   payer                        └─ dispute ─┘
   *
   * @returns false when money is missing, or the payment could not be read
   */
  async #isPaid(): Promise<boolean> {
    const fact = await readOrderPayment(this.#tools, this.#order);
    if (fact === undefined) return false;
    const isMissing = isMoneyMissing(fact, this.#order);
    if (isMissing) this.#learn(fact);
    return !isMissing;
  }

  /** @returns false if a rival has taken the position of the drafts */
  async #written(): Promise<boolean> {
    if (this.#drafts.length === 0) return true;
    const appended = await appendDrafts(this.#tools, this.#chain, this.#drafts, this.#context.cause);
    if (appended !== undefined) {
      this.#chain = appended;
      this.#drafts = [];
      this.#learnt = [];
      return true;
    }
    const known = this.#learnt;
    this.#chain = await readOrderOrFail(this.#tools, this.#order.id);
    this.#order = this.#chain.order;
    this.#drafts = [];
    this.#learnt = [];
    for (const fact of known) this.#learn(fact);
    return false;
  }

  #learn(fact: OrderFact): void {
    this.#learnt.push(fact);
    const draft = decideOrder(fact, this.#order, this.#tools.clock.nowMs());
    if (draft !== undefined) this.#draft(draft);
  }

  #draft(draft: OrderDraft): void {
    this.#drafts.push(draft);
    this.#order = draft.order;
  }

  #driven(): Driven {
    const concluded = this.#order.status !== 'processing';
    return { chain: this.#chain, drafts: this.#drafts, learnt: this.#learnt, concluded };
  }
}

export interface AppendTools extends Pick<OrderTools, 'digest' | 'alarm'> {
  readonly orders: Pick<OrderStore, 'appendToOrder' | 'listOrderTransitions'>;
  readonly clock: Pick<Clock, 'nowMs'>;
}

/** @returns undefined when a rival has taken the position of the drafts */
export async function appendDrafts(
  tools: AppendTools,
  chain: OrderChain,
  drafts: readonly OrderDraft[],
  cause: Cause,
): Promise<OrderChain | undefined> {
  const { orders, digest, clock } = tools;
  raiseAlarms(tools, drafts);
  const transitions = nextOrderTransitions(digest, chain.newest, drafts, { occurredAtMs: clock.nowMs(), cause });
  const after = withTransitions(chain, transitions);
  const reopened = isSettled(chain.order) && !isSettled(after.order);
  const outcome = await orders.appendToOrder({ transitions, ...(reopened ? { open: openOrder(after) } : {}) });
  return outcome.kind === 'appended' ? after : undefined;
}

/**
 * Call this before the write, because the response to the write may be lost: raising an alarm twice is better than
 * losing it.
 */
export function raiseAlarms({ alarm }: Pick<OrderTools, 'alarm'>, drafts: readonly OrderDraft[]): void {
  const review = drafts.find(({ type }) => type === 'order.review_required');
  if (review !== undefined) alarm?.('order_needs_review', review.order.id);
}

/**
 * Records facts, each decided on the current chain. A fenced driver may be the only one that knows of a reservation,
 * which the next driver must release.
 *
 *   fenced  reserve? ──────────────────── reserved ── commit: fenced ── append: release pending
 *   owner      └─ refused, returned, canceled ───┘
 */
export async function recordFacts(
  tools: AppendTools,
  orderId: OrderId,
  learnt: readonly OrderFact[],
  cause: Cause,
): Promise<void> {
  if (learnt.length === 0) return;
  await rounds('this order', async () => {
    const now = await readOrderOrFail(tools, orderId);
    const drafts: OrderDraft[] = [];
    for (const fact of learnt) {
      const draft = decideOrder(fact, drafts.at(-1)?.order ?? now.order, tools.clock.nowMs());
      if (draft !== undefined) drafts.push(draft);
    }
    return drafts.length === 0 || (await appendDrafts(tools, now, drafts, cause)) !== undefined ? 'kept' : 'again';
  });
}

export function openOrder({ order, newest }: OrderChain): OpenOrder {
  return { orderId: order.id, createdAtMs: order.failedAtMs ?? order.createdAtMs, sequence: newest.sequence };
}

export async function readOrderOrFail({ orders }: Pick<AppendTools, 'orders'>, orderId: OrderId): Promise<OrderChain> {
  const chain = await readOrderChain(orders, orderId);
  invariant(chain !== undefined, `the Ledger has no order ${orderId}, although it was created`);
  return chain;
}
