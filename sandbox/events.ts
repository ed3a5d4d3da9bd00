import type { Charge, ChargeStatus, EventType, SandboxEvent } from '../lambdas/processors/sandbox/sandbox-api.ts';
import type { SandboxWorld } from './world.ts';

/** The fields of an event that depend on the change. `newEvent` adds all others. */
export interface EventDraft {
  readonly type: EventType;
  readonly refund?: string;
  readonly dispute?: string;
}

/** Returns the draft of the event that reports the new status of a charge. */
export function statusEvent(status: ChargeStatus): EventDraft {
  return { type: `charge.${status}` };
}

export function newEvent(world: SandboxWorld, charge: Charge, draft: EventDraft): SandboxEvent {
  const { type, ...parts } = draft;
  return {
    id: world.newId('evt_'),
    object: 'event',
    type,
    livemode: charge.livemode,
    created: Math.floor(world.nowMs() / 1_000),
    data: { charge: charge.id, payment: charge.metadata['payment'] ?? null, ...parts },
  };
}
