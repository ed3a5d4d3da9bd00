/** Finds the objects that steps refer to, by the ids that production code derives from requests. */
import { LedgerRow } from '../../../../lambdas/kernel/contract/rows.ts';
import { type KeyScope, parseIdempotencyKey } from '../../../../lambdas/kernel/idempotency-key.ts';
import { type OrderId, type PaymentId, tenantId } from '../../../../lambdas/kernel/ids.ts';
import { invariant } from '../../../../lambdas/kernel/invariant.ts';
import { systemDigest } from '../../../../lambdas/kernel/platform/platform.ts';
import { deriveOperatorChangeId } from '../../../../lambdas/operators/ids.ts';
import { deriveOrderId, paymentOfOrder } from '../../../../lambdas/orders/ids.ts';
import type { ProcessorCharge } from '../../../../lambdas/payments/domain/processor-charge.ts';
import type { Transition } from '../../../../lambdas/payments/domain/transition.ts';
import { deriveChangeId, derivePaymentId, paymentOfEvent } from '../../../../lambdas/payments/ids.ts';
import { parseTransition } from '../../../../lambdas/payments/store/items.ts';
import type { InsideSandbox } from '../../inside-sandbox.ts';
import { OPERATORS } from '../callers.ts';
import type { ApiRequest, ClientCall, Step } from '../contract.ts';
import type { Scene } from './act.ts';

const CHANGES = {
  capture: { kind: 'capture', path: 'capture' },
  cancel: { kind: 'cancel', path: 'cancel' },
  refund: { kind: 'refund', path: 'refunds' },
} as const;

export function keyOf(step: Step): string {
  return `step-${step.id}`;
}

export function eventIdOf({ id }: Pick<Step, 'id'>): string {
  return `0b9c2f60-7d5a-4a7e-9a53-${String(id).padStart(12, '0')}`;
}

/** If the step names no other step, returns the step itself. */
export function rootOf(scene: Scene, step: Step): Step | undefined {
  let found: Step | undefined = step;
  // The loop ends, because each step names an earlier step.
  while (found !== undefined && found['of'] !== undefined)
    found = scene.others.get(found.id) ?? scene.stepOf(found['of']);
  return found;
}

/** By default the first tenant. */
function tenantOf(scene: Scene, step: Step): string {
  const named = rootOf(scene, step)?.['tenant'];
  const name = typeof named === 'string' ? named : Object.keys(scene.system.tenants)[0];
  invariant(name !== undefined, 'the system has no tenant');
  return name;
}

function scopeOf(scene: Scene, step: Step, path: string): KeyScope {
  const tenant = scene.system.tenants[tenantOf(scene, step)];
  const parsed = parseIdempotencyKey([keyOf(step)]);
  invariant(tenant !== undefined && parsed.kind === 'key', 'the step has no tenant or no valid idempotency key');
  return { tenantId: tenantId(tenant.tenantId), mode: tenant.mode, method: 'POST', path, key: parsed.key };
}

export function orderOf(scene: Scene, step: Step): OrderId | undefined {
  const root = rootOf(scene, step);
  return root?.act === 'order' ? deriveOrderId(systemDigest, scopeOf(scene, root, '/v1/orders')) : undefined;
}

/** Includes the payment of the step's order. */
export function paymentOf(scene: Scene, step: Step): PaymentId | undefined {
  const root = rootOf(scene, step);
  if (root?.act === 'request') {
    const { tenantId: owner, mode } = scopeOf(scene, root, '');
    return paymentOfEvent(systemDigest, { tenantId: owner, mode }, eventIdOf(root));
  }
  if (root?.act === 'pay') return derivePaymentId(systemDigest, scopeOf(scene, root, '/v1/payments'));
  const order = orderOf(scene, step);
  return order === undefined ? undefined : paymentOfOrder(systemDigest, order);
}

/** Returns undefined for other steps than a capture, cancellation or refund, and for steps without a payment. */
export function changeOf(scene: Scene, step: Step): { readonly id: string; readonly path: string } | undefined {
  const paymentId = paymentOf(scene, step);
  const isOperators = step.act === 'operator_change';
  const change = Object.entries(CHANGES).find(([name]) => name === (isOperators ? step['change'] : step.act))?.[1];
  if (paymentId === undefined || change === undefined) return undefined;
  const path = `/v1${isOperators ? '/admin' : ''}/payments/${paymentId}/${change.path}`;
  const scope = scopeOf(scene, step, path);
  const id = isOperators
    ? deriveOperatorChangeId(systemDigest, change.kind, paymentId, { ...scope, person: OPERATORS.operator.operator })
    : deriveChangeId(systemDigest, change.kind, paymentId, scope);
  return { id, path };
}

export interface Found {
  readonly processor: string;
  readonly charge: ProcessorCharge;
}

/** Oldest first for each processor. */
export function chargesOf(scene: Scene, step: Step): readonly Found[] {
  const paymentId = paymentOf(scene, step);
  if (paymentId === undefined) return [];
  return Object.entries(scene.system.processors).flatMap(([processor, sandbox]) =>
    sandbox.charges(paymentId).map((charge) => ({ processor, charge })),
  );
}

export function chargeOf(scene: Scene, step: Step): Found | undefined {
  return chargesOf(scene, step)[Number(step['charge'] ?? 0)];
}

type Fits = (charge: ProcessorCharge) => boolean;

/**
 * Prefers the step's charge, then another fitting charge of the same payment, then the first fitting charge of any
 * payment.
 *
 * @returns `nothing` when no charge fits, {@link ELSEWHERE} after an act on a charge of another payment, and otherwise
 * the result of {@link actAt}
 */
export async function onCharge(
  scene: Scene,
  step: Step,
  fits: Fits,
  deed: (inside: InsideSandbox, charge: ProcessorCharge) => Promise<unknown>,
): Promise<string> {
  const own = chargesOf(scene, step);
  const named = own[Number(step['charge'] ?? 0)];
  const ofOwn = [...(named === undefined ? [] : [named]), ...own].find(({ charge }) => fits(charge));
  const found = ofOwn ?? allCharges(scene).find(({ charge }) => fits(charge));
  if (found === undefined) return 'nothing';
  const end = await actAt(scene, found.processor, (inside) => deed(inside, found.charge));
  return end === 'done' && ofOwn === undefined ? ELSEWHERE : end;
}

/** Added to a step's id to form the id of a step that is inserted after that step. */
const HALF = 0.5;

/**
 * Creates a further payment of the step's tenant, for an act that finds no payment in the required state.
 *
 * @returns an artificial step that represents the creation
 */
export async function furtherPayment(scene: Scene, step: Step, how: object): Promise<Step> {
  const made: Step = {
    id: step.id + HALF,
    atMs: step.atMs,
    actor: 'client',
    act: 'pay',
    tenant: tenantOf(scene, step),
  };
  const body = { amount: 1000, currency: 'EUR', ...how };
  await ask(scene, made, { method: 'POST', path: '/v1/payments', key: keyOf(made), body });
  return made;
}

/** Like {@link onCharge}. Creates a hold if there is none. */
export async function onHold(
  scene: Scene,
  step: Step,
  deed: (inside: InsideSandbox, charge: ProcessorCharge) => Promise<unknown>,
): Promise<string> {
  const isHold: Fits = ({ status }) => status === 'authorized';
  const end = await onCharge(scene, step, isHold, deed);
  if (end !== 'nothing') return end;
  const made = await furtherPayment(scene, step, { source: 'tok_ok', capture: 'manual' });
  return onCharge(scene, made, isHold, deed);
}

/** Result of a step that acted on a charge of another payment, because no charge of the step's payment fitted. */
const ELSEWHERE = 'done elsewhere';

function allCharges({ system }: Scene): readonly Found[] {
  return Object.entries(system.processors).flatMap(([processor, { inside }]) =>
    inside.all.map((charge) => ({ processor, charge })),
  );
}

/**
 * Returns the amount that can still be refunded, in minor units: the captured amount, less refunds that have not failed
 * and disputes that are not won.
 */
export function leftOf({ capturedMinor, refunds, disputes }: ProcessorCharge): number {
  const sum = (parts: readonly { readonly amountMinor: number }[]): number =>
    parts.reduce((total, { amountMinor }) => total + amountMinor, 0);
  const gone = [
    ...refunds.filter(({ status }) => status !== 'failed'),
    ...disputes.filter(({ status }) => status !== 'won'),
  ];
  return capturedMinor - sum(gone);
}

export function chainOf({ system }: Scene, paymentId: PaymentId): readonly Transition[] {
  return system.database.items(system.tables.ledger, `${LedgerRow.payment}${paymentId}`).map(parseTransition);
}

/** In time order after the step itself. */
export function stepsFrom(scene: Scene, step: Step, acts: readonly string[]): readonly Step[] {
  return [step, ...scene.steps.filter(({ act }) => acts.includes(act))];
}

export function fittingPayment(
  scene: Scene,
  step: Step,
  fits: (chain: readonly Transition[]) => boolean,
): Step | undefined {
  return stepsFrom(scene, step, ['pay', 'order']).find((each) => {
    const paymentId = paymentOf(scene, each);
    return paymentId !== undefined && fits(chainOf(scene, paymentId));
  });
}

/**
 * @returns `done`, `nothing` when the act returns `nothing`, or `refused: …` when the sandbox’s own rules refuse the
 * act
 */
export async function actAt(
  scene: Scene,
  processor: string,
  deed: (inside: InsideSandbox) => Promise<unknown>,
): Promise<string> {
  return scene.system.inside(processor, async (inside) => {
    try {
      return (await deed(inside)) === 'nothing' ? 'nothing' : 'done';
    } catch (error) {
      const { message } = error as Error;
      if (!message.startsWith('the sandbox ')) throw error;
      return `refused: ${/"code":"(?<code>\w+)"/.exec(message)?.groups?.['code'] ?? message}`;
    }
  });
}

export function endOf({ answer }: ClientCall): string {
  if (answer === undefined) return 'unanswered';
  const code = answer.status < 400 ? undefined : /"code":"(?<code>\w+)"/.exec(answer.body)?.groups?.['code'];
  return code === undefined ? String(answer.status) : `${answer.status} ${code}`;
}

/** @param about step whose tenant sends the request, unless the request names a tenant */
export function ask(
  scene: Scene,
  step: Step,
  request: Omit<ApiRequest, 'step' | 'tenant'> & Partial<Pick<ApiRequest, 'tenant'>>,
  about = step,
): Promise<ClientCall> {
  return scene.system.api({ step: step.id, tenant: tenantOf(scene, about), ...request });
}

/**
 * Returns true if an act had an effect, or may have had one because its response is missing. A bank's decline is an
 * effect; a refusal or a missing object is not.
 */
export function isEffect(end: string): boolean {
  return end === 'done' || end === ELSEWHERE || /^(?:2\d\d|402|unanswered|50[24])(?: |$)/.test(end);
}
