import { storedOperationId } from '../lambdas/kernel/ids.ts';
import type { Charge, SandboxEvent } from '../lambdas/processors/sandbox/sandbox-api.ts';
import { type BookedCharge, type BookedOperation, KEY_RETENTION_MS, type KeyedRequest } from './books.ts';
import type { Decision } from './charge.ts';
import { newEvent } from './events.ts';
import { type DeliverTask, delivery } from './tasks.ts';
import type { SandboxWorld } from './world.ts';

/** Each conflict means that a rival succeeded, so a change gives up only after this many rivals have succeeded. */
const MAX_ATTEMPTS = 10;

export type Outcome =
  /** Empty if the charge did not change. */
  | { readonly kind: 'decided'; readonly decision: Decision; readonly made: readonly SandboxEvent[] }
  | { readonly kind: 'known'; readonly operation: BookedOperation }
  | { readonly kind: 'missing' }
  | { readonly kind: 'busy' };

export interface ChangeOptions {
  readonly request?: KeyedRequest | undefined;
  /** The default is one copy, sent immediately. */
  readonly deliveryOf?: (event: SandboxEvent) => DeliverTask;
}

/**
 * If the request has a key, its operation is stored under the key in the transaction that writes the change, and serves
 * as the idempotency record. A change without a key is protected only by the charge's version, so two refunds of 70 out
 * of 100 cannot both be written:
 *
 *   A: read v1 → decide        change v1 → changed (v2)
 *   B:          read v1 → decide                   change v1 → conflict   read v2 → decide → refused
 *
 * Deliveries are enqueued before the change is written. A crash between the two steps leaves a delivery task without an
 * event, but never an event without a task.
 */
export function change(
  world: SandboxWorld,
  chargeId: string,
  decide: (charge: Charge) => Decision,
  { request, deliveryOf = (event) => delivery(event.id) }: ChangeOptions = {},
): Promise<Outcome> {
  let seen: BookedCharge | undefined;
  const find = async (): Promise<Outcome | undefined> => {
    seen = await world.books.charge(chargeId);
    const operation = seen && request && (await world.books.operation(chargeId, request.key));
    if (operation !== undefined && operation.appliedAtMs > world.nowMs() - KEY_RETENTION_MS) {
      return { kind: 'known', operation };
    }
    return seen === undefined ? { kind: 'missing' } : undefined;
  };
  return world.runner.record<undefined, Outcome>(storedOperationId(`change ${chargeId} ${request?.key ?? ''}`), {
    find,
    prepare: async () => undefined,
    commit: async () => {
      for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt += 1) {
        const found = attempt === 1 ? undefined : await find();
        if (found !== undefined) return found;
        const outcome = seen && (await book(world, seen, decide(seen.charge), { request, deliveryOf }));
        if (outcome !== undefined) return outcome;
      }
      return { kind: 'busy' };
    },
  });
}

/** Undefined if a rival's change was written first. */
async function book(
  world: SandboxWorld,
  seen: BookedCharge,
  decision: Decision,
  { request, deliveryOf }: Required<Pick<ChangeOptions, 'deliveryOf'>> & Pick<ChangeOptions, 'request'>,
): Promise<Outcome | undefined> {
  if (decision.kind !== 'changed') {
    return { kind: 'decided', decision, made: [] };
  }
  const { charge } = decision;
  const events = decision.events.map((draft) => newEvent(world, charge, draft));
  await Promise.all(events.map((event) => world.tasks.enqueue(deliveryOf(event), 0)));
  const operation = request && { ...request, body: JSON.stringify(decision.answer.body), appliedAtMs: world.nowMs() };
  const outcome = await world.books.change(seen, { charge, events, operation });
  return outcome === 'changed' ? { kind: 'decided', decision, made: events } : undefined;
}
