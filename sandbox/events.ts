import type { Charge, ChargeStatus, EventType, SandboxEvent } from '../lambdas/processors/sandbox/sandbox-api.ts';
import type { SandboxWorld } from './world.ts';

/** `newEvent` adds the other fields of an event. */
export interface EventDraft {
  readonly type: EventType;
  readonly refund?: string;
  readonly dispute?: string;
}

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
