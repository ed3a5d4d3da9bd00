/** Oracle: requests with a 2xx response took effect as requested, in the chain and at the processor. */
import { RegistryRow } from '../../../../lambdas/kernel/contract/rows.ts';
import type { IdempotencyKey } from '../../../../lambdas/kernel/idempotency-key.ts';
import { tenantId } from '../../../../lambdas/kernel/ids.ts';
import { systemDigest } from '../../../../lambdas/kernel/platform/platform.ts';
import { deriveOperatorChangeId } from '../../../../lambdas/operators/ids.ts';
import { parseApproval } from '../../../../lambdas/operators/store/approval-items.ts';
import type { Transition } from '../../../../lambdas/payments/domain/transition.ts';
import { deriveChangeId, parsePaymentId } from '../../../../lambdas/payments/ids.ts';
import { OPERATORS } from '../callers.ts';
import type { ClientCall, Observed, Violation } from '../contract.ts';
import { chargesOf, leftOf } from './money.ts';
import type { Seen, Written } from './seen.ts';

const ORACLE = 'effects match requests';
const CHANGE = /^\/v1(?<admin>\/admin)?\/payments\/(?<id>pay_[a-z2-7]{32})\/(?<step>capture|refunds)$/;

type Chain = readonly Written<Transition>[];

interface Leg {
  readonly account: string;
  readonly direction: string;
  readonly amount: number;
}

interface Asked {
  /**
   * In minor units.
   *
   * @default the remaining amount
   */
  readonly amount?: number;
  readonly payment?: string;
  readonly postings?: readonly Leg[];
}

/** In minor units. The amount sent to the processor must equal both. */
interface Done {
  readonly about: string;
  readonly askedMinor: number | undefined;
  readonly bookedMinor: number | undefined;
  /** Idempotency key of the requests to the processor. */
  readonly operationId: string;
}

/** Called once the system is quiet. */
export function checkRequestedAmounts(seen: Seen): readonly Violation[] {
  const { calls } = seen.world;
  const sent = sentAmounts(seen.world);
  const found: Violation[] = [];
  for (const call of calls.filter(isDone)) {
    if (call.path === '/v1/admin/corrections') found.push(...checkCorrection(call, seen));
    for (const { about, askedMinor, bookedMinor, operationId } of doneBy(call, seen)) {
      const wrong = (what: string): void =>
        void found.push({ oracle: ORACLE, what: `${askedMinor} was requested, but ${what}`, about });
      if (bookedMinor !== askedMinor) wrong(`the chain has ${bookedMinor ?? 'nothing'}`);
      for (const amountMinor of sent.get(operationId) ?? [])
        if (amountMinor !== askedMinor) wrong(`${amountMinor} was sent`);
    }
  }
  return found;
}

function isDone({ method, answer }: ClientCall): boolean {
  return method === 'POST' && answer !== undefined && answer.status >= 200 && answer.status < 300;
}

/** By operation, in minor units. */
function sentAmounts({ processors }: Observed): ReadonlyMap<string, readonly number[]> {
  const found = new Map<string, number[]>();
  for (const { kind, operationId, amountMinor } of Object.values(processors).flatMap(({ inside }) => inside.sent)) {
    if (kind !== 'void') found.set(operationId, [...(found.get(operationId) ?? []), amountMinor]);
  }
  return found;
}

function doneBy(call: ClientCall, { world, payments, orders }: Seen): readonly Done[] {
  const askedMinor = askedBy(call).amount;
  const id = idIn(call);
  if (call.path === '/v1/payments') return [charged(id, askedMinor, payments.get(id))];
  if (call.path === '/v1/orders') {
    const order = orders.get(id)?.[0]?.row.order;
    const ofOrder = { about: id, askedMinor, bookedMinor: order?.amountMinor, operationId: id };
    const payment = payments.get(order?.paymentId ?? '');
    return payment === undefined ? [ofOrder] : [ofOrder, charged(order?.paymentId ?? '', askedMinor, payment)];
  }
  const { admin, id: text = '', step = '' } = CHANGE.exec(call.path)?.groups ?? {};
  const paymentId = parsePaymentId(text);
  const tenant = world.tenants[call.tenant];
  const key = call.key as IdempotencyKey | undefined;
  if (paymentId === undefined || tenant === undefined || key === undefined) return [];
  const kind = step === 'refunds' ? 'refund' : 'capture';
  const { method, path } = call;
  const scope = { tenantId: tenantId(tenant.tenantId), mode: tenant.mode, method, path, key };
  const operationId =
    admin === undefined
      ? deriveChangeId(systemDigest, kind, paymentId, scope)
      : deriveOperatorChangeId(systemDigest, kind, paymentId, { ...scope, person: OPERATORS.operator.operator });
  // A request that waits for a second person takes effect only if that person approves it.
  const approvals = world.database.items(world.tables.registry, RegistryRow.approvals).map(parseApproval);
  const asked = approvals.filter((each) => each.operationId === operationId);
  if (asked.length > 0 && asked.every(({ end }) => end?.verdict !== 'approved')) return [];
  // A request without an amount is for the amount that remained at the time of the request. The second person approves
  // that amount.
  const approved = asked.find(({ end }) => end?.verdict === 'approved')?.asked;
  const shownMinor = approved !== undefined && 'amountMinor' in approved ? approved.amountMinor : undefined;
  return [changed(operationId, askedMinor ?? shownMinor, payments.get(paymentId) ?? [])];
}

function charged(id: string, askedMinor: number | undefined, chain: Chain = []): Done {
  return { about: id, askedMinor, bookedMinor: chain[0]?.row.payment.amountMinor, operationId: id };
}

/** Without a requested amount, a capture must take the whole hold, and a refund the remaining amount. */
function changed(operationId: string, askedMinor: number | undefined, chain: Chain): Done {
  const place = chain.findIndex(({ row: { subject } }) => {
    if (subject?.kind === 'refund') return subject.refundId === operationId;
    return subject?.kind === 'capture' && subject.operationId === operationId;
  });
  const subject = chain[place]?.row.subject;
  const bookedMinor = subject !== undefined && 'amountMinor' in subject ? subject.amountMinor : undefined;
  const before = chargesOf(chain.slice(0, Math.max(0, place)));
  const charge = subject?.kind === 'refund' ? before.get(subject.chargeId) : undefined;
  const wholeMinor = charge === undefined ? chain[0]?.row.payment.amountMinor : leftOf(charge).leftMinor;
  return { about: operationId, askedMinor: askedMinor ?? wholeMinor, bookedMinor, operationId };
}

function checkCorrection(call: ClientCall, { world, payments }: Seen): readonly Violation[] {
  const { payment = '', postings } = askedBy(call);
  const id = idIn(call);
  const approvals = world.database.items(world.tables.registry, RegistryRow.approvals).map(parseApproval);
  const correctionId: string = approvals.find((each) => each.id === id)?.operationId ?? id;
  const made = payments.get(payment)?.find(({ row: { subject } }) => {
    return subject?.kind === 'correction' && subject.correctionId === correctionId;
  });
  if (made === undefined || postings === undefined) return [];
  const asked = postings.map(({ account, direction, amount }) => `${direction} ${amount} ${account}`).join(', ');
  const posted = made.row.postings.map((each) => `${each.direction} ${each.amountMinor} ${each.account}`).join(', ');
  if (posted === asked) return [];
  return [{ oracle: ORACLE, what: `the correction ${asked} was requested, but ${posted} was posted`, about: payment }];
}

function askedBy({ body }: ClientCall): Asked {
  return typeof body === 'object' && body !== null ? body : {};
}

function idIn({ answer }: ClientCall): string {
  const { id, order, payment } = JSON.parse(answer?.body ?? '{}') as Readonly<Record<string, unknown>>;
  const named = [id, order, payment].map((each) =>
    typeof each === 'object' && each !== null && 'id' in each ? each.id : each,
  );
  return named.find((each) => typeof each === 'string') ?? '';
}
