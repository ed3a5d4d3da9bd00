import type { Charge, SandboxEvent } from '../lambdas/kernel/contract/sandbox-api.ts';
import { storedOperationId } from '../lambdas/kernel/ids.ts';
import type { BookedCharge, BookedOperation, KeyedRequest } from './books.ts';
import type { Decision } from './charge.ts';
import { newEvent } from './events.ts';
import { type DeliverTask, delivery } from './tasks.ts';
import type { SandboxWorld } from './world.ts';

/** Each conflict means that a rival's change went in, so this many rivals at once are served. */
const MAX_ATTEMPTS = 10;

export type Outcome =
  /** `made` are the events of the change, none when there was none. */
  | { readonly kind: 'decided'; readonly decision: Decision; readonly made: readonly SandboxEvent[] }
  /** The key did it before. */
  | { readonly kind: 'known'; readonly operation: BookedOperation }
  | { readonly kind: 'missing' }
  /** Rivals were always faster; nothing was done. */
  | { readonly kind: 'busy' };

export interface ChangeOptions {
  readonly request?: KeyedRequest | undefined;
  /** How its events go out. @default each at once and once */
  readonly deliveryOf?: (event: SandboxEvent) => DeliverTask;
}

/**
 * Changes a charge as `decide` says. The operation under the request's key is the record, written with the change; without
 * a key it is the charge's version. A change is conditioned on the version that it was decided on, so two refunds of 70
 * out of 100 cannot both be booked:
 *
 *   A: read v1 → decide        change v1 → changed (v2)
 *   B:          read v1 → decide                   change v1 → conflict   read v2 → decide → refused
 *
 * The deliveries are on the queue before the change is booked: a process that dies in between leaves a task that finds
 * nothing to deliver, never an event that nobody delivers.
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
    if (operation !== undefined) {
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

/** @returns undefined when a rival was faster */
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
  const operation = request && { ...request, body: JSON.stringify(decision.answer.body) };
  const outcome = await world.books.change(seen, { charge, events, operation });
  return outcome === 'changed' ? { kind: 'decided', decision, made: events } : undefined;
}
