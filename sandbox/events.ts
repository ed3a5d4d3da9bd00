import type { Charge, ChargeStatus, EventType, SandboxEvent } from '../lambdas/kernel/contract/sandbox-api.ts';
import type { SandboxWorld } from './world.ts';

/** What happened, before it has an id and a time. */
export interface EventDraft {
  readonly type: EventType;
  readonly refund?: string;
  readonly dispute?: string;
}

/** That a charge came to be what it is. */
export function becoming(status: ChargeStatus): EventDraft {
  return { type: `charge.${status}` };
}

export function newEvent(world: SandboxWorld, charge: Charge, draft: EventDraft): SandboxEvent {
  const { type, ...parts } = draft;
  return {
    id: world.newId('evt_'),
    object: 'event',
    type,
    created: Math.floor(world.nowMs() / 1_000),
    data: { charge: charge.id, payment: charge.metadata['payment'] ?? null, ...parts },
  };
}
