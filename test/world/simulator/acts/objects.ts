import { parseIdempotencyKey } from '../../../../lambdas/kernel/idempotency-key.ts';
import {
  deriveChangeId,
  deriveOrderId,
  derivePaymentId,
  type KeyScope,
  type OrderId,
  type PaymentId,
  paymentOfOrder,
  tenantId,
} from '../../../../lambdas/kernel/ids.ts';
import { invariant } from '../../../../lambdas/kernel/invariant.ts';
import { systemDigest } from '../../../../lambdas/kernel/platform/platform.ts';
import type { ProcessorCharge } from '../../../../lambdas/payments/domain/processor-charge.ts';
import type { InsideSandbox } from '../../sandbox-in-process.ts';
import type { ApiRequest, ClientCall, Step } from '../contract.ts';
import type { Scene } from './act.ts';

/** The objects that steps name, found by the ids that the product derives from their requests. */

const CHANGES = {
  capture: { kind: 'capture', path: 'capture' },
  cancel: { kind: 'cancel', path: 'cancel' },
  refund: { kind: 'refund', path: 'refunds' },
} as const;

export function keyOf(step: Step): string {
  return `step-${step.id}`;
}

/** The step that made the payment, the order or the endpoint which a step is about. */
export function rootOf(scene: Pick<Scene, 'stepOf'>, step: Step): Step | undefined {
  let found: Step | undefined = step;
  // A step names an earlier one, so the chain is not longer than the history.
  while (found !== undefined && found['of'] !== undefined) found = scene.stepOf(found['of']);
  return found;
}

/** The tenant of the step's subject; else the first. */
function tenantOf(scene: Scene, step: Step): string {
  const named = rootOf(scene, step)?.['tenant'];
  const name = typeof named === 'string' ? named : Object.keys(scene.system.tenants)[0];
  invariant(name !== undefined, 'there is a tenant');
  return name;
}

function scopeOf(scene: Scene, step: Step, path: string): KeyScope {
  const tenant = scene.system.tenants[tenantOf(scene, step)];
  const parsed = parseIdempotencyKey([keyOf(step)]);
  invariant(tenant !== undefined && parsed.kind === 'key', 'a step has a tenant and a key');
  return { tenantId: tenantId(tenant.tenantId), mode: tenant.mode, method: 'POST', path, key: parsed.key };
}

export function orderOf(scene: Scene, step: Step): OrderId | undefined {
  const root = rootOf(scene, step);
  return root?.act === 'order' ? deriveOrderId(systemDigest, scopeOf(scene, root, '/v1/orders')) : undefined;
}

/** The payment that a step is about, or that its order takes. */
export function paymentOf(scene: Scene, step: Step): PaymentId | undefined {
  const root = rootOf(scene, step);
  if (root?.act === 'pay') return derivePaymentId(systemDigest, scopeOf(scene, root, '/v1/payments'));
  const order = orderOf(scene, step);
  return order === undefined ? undefined : paymentOfOrder(systemDigest, order);
}

/** The capture, cancellation or refund that a step asked for. */
export function changeOf(scene: Scene, step: Step): { readonly id: string; readonly path: string } | undefined {
  const paymentId = paymentOf(scene, step);
  const change = Object.entries(CHANGES).find(([name]) => name === step.act)?.[1];
  if (paymentId === undefined || change === undefined) return undefined;
  const path = `/v1/payments/${paymentId}/${change.path}`;
  return { id: deriveChangeId(systemDigest, change.kind, paymentId, scopeOf(scene, step, path)), path };
}

export interface Found {
  readonly processor: string;
  readonly charge: ProcessorCharge;
}

/** All charges of the payment that a step is about, at every processor, oldest first at each. */
export function chargesOf(scene: Scene, step: Step): readonly Found[] {
  const paymentId = paymentOf(scene, step);
  if (paymentId === undefined) return [];
  return Object.entries(scene.system.processors).flatMap(([processor, sandbox]) =>
    sandbox.charges(paymentId).map((charge) => ({ processor, charge })),
  );
}

/** The charge that a step names by its ordinal. @default the first */
export function chargeOf(scene: Scene, step: Step): Found | undefined {
  return chargesOf(scene, step)[Number(step['charge'] ?? 0)];
}

/** Acts at the processor on the step's charge. @returns `nothing` without one */
export async function onCharge(
  scene: Scene,
  step: Step,
  deed: (inside: InsideSandbox, charge: ProcessorCharge) => Promise<unknown>,
): Promise<string> {
  const found = chargeOf(scene, step);
  if (found === undefined) return 'nothing';
  return deedAt(scene, found.processor, (inside) => deed(inside, found.charge));
}

/** @returns `refused: …` when the sandbox’s own rules refuse the deed; `nothing` when the deed says so */
export async function deedAt(
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

/** The status, and the problem's code. */
export function endOf({ answer }: ClientCall): string {
  if (answer === undefined) return 'unanswered';
  const code = answer.status < 400 ? undefined : /"code":"(?<code>\w+)"/.exec(answer.body)?.groups?.['code'];
  return code === undefined ? String(answer.status) : `${answer.status} ${code}`;
}

export function ask(scene: Scene, step: Step, request: Omit<ApiRequest, 'step' | 'tenant'>): Promise<ClientCall> {
  return scene.system.api({ step: step.id, tenant: tenantOf(scene, step), ...request });
}
