import type { Answer } from '../../lambdas/kernel/answer.ts';
import { AmbiguousError, RetryableError } from '../../lambdas/kernel/faults.ts';
import { storedOperationId } from '../../lambdas/kernel/ids.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { isSettled } from '../../lambdas/orders/domain/order.ts';
import { firstBrokenOrderLink } from '../../lambdas/orders/domain/order-transition.ts';
import { paymentOfOrder } from '../../lambdas/orders/ids.ts';
import { type CreateOrder, createOrder } from '../../lambdas/orders/use/create-order.ts';

import { type ACCOUNTS, netDebitMinor } from '../../lambdas/payments/domain/posting.ts';
import { ALL_DUE } from '../support/due.ts';
import type { Actor, FaultErrors } from '../support/fault-plan.ts';
import { World, type WorldTools } from '../world/world.ts';
import type { OrderSubject } from './order-story.ts';

/** Breaks the engine on purpose, to check that the histories detect the fault. */
export type Mutant = (tools: WorldTools) => WorldTools;

export function engine(
  request: CreateOrder,
  ends: OrderSubject['ends'],
  mutant: Mutant = (tools) => tools,
  harness: World = new World(),
): OrderSubject {
  return {
    harness,
    request,
    ends,
    handle: async (actor) => {
      const outcome = await createOrder(mutant(harness.toolsOf(actor)), request);
      return outcome.kind === 'first' || outcome.kind === 'replay' ? outcome.answer : undefined;
    },
    finish: async (actor) => {
      // `effects` and `books` get no faults here, because other histories cover those faults.
      const { effects, books } = harness.tools;
      await harness.resolve({ ...mutant(harness.toolsOf(actor)), effects, books });
    },
    more: (quiet) => enginePromises(harness, request, quiet),
  };
}

async function enginePromises(harness: World, request: CreateOrder, quiet: boolean): Promise<readonly string[]> {
  const transitions = await harness.transitions(request.orderId);
  const newest = transitions.at(-1)?.order;
  if (newest === undefined) return [];
  const found: string[] = [];
  const ends = transitions
    .map(({ order }) => order.status)
    .filter((status) => status === 'completed' || status === 'canceled');
  if (new Set(ends).size > 1) found.push('I6: the order was completed and canceled');
  const kept = harness.keptMinor(request);
  if (newest.status === 'completed' && kept !== request.amountMinor) found.push('the order is completed but not paid');
  if (newest.status === 'canceled' && kept !== 0) found.push('the order is canceled but money is kept');
  if (!quiet) return found;
  if (firstBrokenOrderLink(systemDigest, transitions) !== undefined) found.push('I8: the hash chain does not verify');
  if (!isSettled(newest)) found.push(`I7: the order is not settled but ${newest.status}`);
  if ((await harness.store.openOrders(ALL_DUE)).length > 0) found.push('I7: the order is left in the queue');
  if ((await harness.store.staleClaims(ALL_DUE)).length > 0) found.push('I7: a claim is left open');
  const postings = (await harness.store.listTransitions(newest.paymentId, { afterSequence: 0, limit: 99 })).flatMap(
    (transition) => transition.postings,
  );
  const { currency } = request;
  if (netDebitMinor('processor_clearing', currency, postings) !== kept)
    found.push('the ledger differs from the processor');
  const payable = [
    'merchant_payable',
    'refunds',
    'fees',
    'disputes',
  ] as const satisfies readonly (typeof ACCOUNTS)[number][];
  const owed = payable.reduce((sum, account) => sum - netDebitMinor(account, currency, postings), 0);
  if (owed !== kept) found.push(`the ledger owes ${owed} but ${kept} is kept`);
  return found;
}

const HOUR_MS = 60 * 60_000;
const MINUTE_MS = 60_000;
const QUARTER_MS = HOUR_MS / 4;

/**
 * The process crashed before it called the stock service. The next process that works on the order continues with that
 * call.
 */
export async function paidOrderSubject(request: CreateOrder, ends: OrderSubject['ends']): Promise<OrderSubject> {
  const harness = new World();
  const reserve = () => Promise.reject(new Error('the process died'));
  await createOrder({ ...harness.tools, stock: { ...harness.shop.stock, reserve } }, request).catch(() => undefined);
  harness.clock.advance(BEYOND_LEASE_MS);
  return engine(request, ends, undefined, harness);
}

/** An hour ago, the stock service reserved the goods, but the response was lost. The resolver undoes the order. */
export async function unansweredOrderSubject(request: CreateOrder): Promise<OrderSubject> {
  const harness = new World();
  const { stock } = harness.shop;
  const reserve: typeof stock.reserve = async (...call) => {
    await stock.reserve(...call);
    throw ERRORS.ambiguous();
  };
  const silent = { ...stock, reserve };
  await createOrder({ ...harness.tools, stock: silent }, request);
  harness.clock.advance(HOUR_MS);
  const subject = engine(request, 'undone', undefined, harness);
  const finish: OrderSubject['finish'] = async (actor) => {
    harness.clock.advance(QUARTER_MS - (harness.clock.nowMs() % QUARTER_MS));
    await subject.finish(actor);
    // The resolver works on orders of this age every 15 minutes, but checks their payments every minute.
    await harness.resolveFor(QUARTER_MS / MINUTE_MS - 1);
  };
  return { ...subject, finish };
}

const BEYOND_LEASE_MS = 26_000;

const ERRORS: FaultErrors = {
  throttle: () => new RetryableError('injected_throttle', 'nothing was applied'),
  ambiguous: () => new AmbiguousError('injected_ambiguity', 'the outcome is unknown'),
};

/**
 * The saga that most developers write first: it writes nothing before a call, stores the response at the end, and uses
 * new keys at every attempt.
 */
export function naiveSaga(request: CreateOrder, ends: OrderSubject['ends']): OrderSubject {
  const harness = new World();
  const answers = new Map<string, Answer>();
  let made = 0;
  const freshKey = () => {
    made += 1;
    return storedOperationId(`attempt-${made}`);
  };
  return {
    harness,
    request,
    ends,
    handle: async (actor) => {
      const known = await actor.call('findAnswer', ERRORS, async () => answers.get(request.orderId));
      if (known !== undefined) return known;
      const answer = await naiveRun(actor, harness, request, freshKey);
      await actor.call('saveAnswer', ERRORS, async () => answers.set(request.orderId, answer));
      return answer;
    },
    finish: async () => undefined,
    more: async () => [],
  };
}

async function naiveRun(
  actor: Actor,
  harness: World,
  { orderId, tenantId, mode, amountMinor, currency, source, items, email, referrer = '' }: CreateOrder,
  freshKey: () => ReturnType<typeof storedOperationId>,
): Promise<Answer> {
  const { processor, stock, mailer, referrals } = harness.toolsOf(actor);
  const limit = { timeoutMs: 8_000 };
  const paymentId = paymentOfOrder(systemDigest, orderId);
  const order = { operationId: freshKey(), paymentId, amountMinor, currency, source, capture: 'automatic' as const };
  const charged = await processor.charge(order, limit);
  if (charged.kind !== 'succeeded') return answered(402);
  const reserved = await stock.reserve({ operationId: freshKey(), orderId, items }, limit);
  if (reserved.kind === 'refused') {
    const change = { kind: 'refund' as const, amountMinor };
    await processor.change({ operationId: freshKey(), paymentId, chargeId: charged.chargeId, currency, change }, limit);
    return answered(409);
  }
  const message = { tenantId, mode, dueAtMs: 0, subject: 'Order', text: 'Order', tag: 'order' };
  await mailer.send({ operationId: freshKey(), to: email, ...message }, limit);
  await referrals.credit({ operationId: freshKey(), orderId, referrer, amountMinor: 100, currency }, limit);
  return answered(201);
}

function answered(status: number): Answer {
  return { status, headers: {}, body: '{}' };
}
