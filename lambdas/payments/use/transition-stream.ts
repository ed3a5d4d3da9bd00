import type { Transition } from '../domain/transition.ts';

/** A change of the Ledger as the Stream brings it. */
export interface StreamRecord {
  /** Where it stands in the Stream; the Stream is asked to begin again from here. */
  readonly position: string;
  /** All of it, as it came, as JSON text: what is parked is complete. */
  readonly whole: string;
  readonly content:
    | { readonly kind: 'transition'; readonly transition: Transition }
    /** Nothing that anybody is told of. */
    | { readonly kind: 'no_event' }
    /** A row was changed or removed, which nobody may. `how` is the change's name in the Stream, `row` its key. */
    | { readonly kind: 'tampered'; readonly how: string; readonly row: string }
    | { readonly kind: 'unreadable'; readonly detail: string };
}

/** Sets something aside, whole and with its reason, where people look. */
export interface Parking {
  park(parked: { readonly body: string; readonly reason: string; readonly detail: string }): Promise<void>;
}
