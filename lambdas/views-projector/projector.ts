import { type CloseDaysTools, closeDays } from '../app/close-days.ts';
import { projectEvent } from '../app/project-event.ts';
import type { PayonceEvent } from '../core/event.ts';
import { dayOf, type ViewOwner } from '../core/views.ts';

/** At once, so that a batch stays well within its time: after a long outage the days are closed batch by batch. */
const DAYS_AT_ONCE = 2;
/** Owners of whom it is remembered when their days were last looked at; forgetting one costs a few reads. */
const MAX_REMEMBERED = 10_000;

export interface ProjectorTools extends CloseDaysTools {
  readonly report: (error: unknown) => void;
}

/**
 * Writes events into the Views, and closes the days that have passed of those whose events come in: where nothing comes
 * in, there is nothing to add up.
 */
export class Projector {
  readonly #tools: ProjectorTools;
  /** By owner: the day on which all days before it were found closed. */
  readonly #closedOn = new Map<string, number>();

  constructor(tools: ProjectorTools) {
    this.#tools = tools;
  }

  /** @throws as {@link projectEvent} */
  async take(event: PayonceEvent): Promise<void> {
    await projectEvent(this.#tools, event);
    if (event.postings.length > 0) await this.#closeDays({ tenantId: event.tenant, mode: event.mode });
  }

  /** What fails here is made up for by the next event: nothing but the speed of a balance depends on it. */
  async #closeDays(owner: ViewOwner): Promise<void> {
    const name = `${owner.tenantId}#${owner.mode}`;
    // An hour after midnight at the latest, as days are closed an hour after their end.
    const period = dayOf(this.#tools.clock.nowMs() - 60 * 60 * 1000);
    if (this.#closedOn.get(name) === period) return;
    if (this.#closedOn.size >= MAX_REMEMBERED) this.#closedOn.clear();
    this.#closedOn.set(name, period);
    try {
      const { more } = await closeDays(this.#tools, owner, DAYS_AT_ONCE);
      if (more) this.#closedOn.delete(name);
    } catch (error) {
      this.#closedOn.delete(name);
      this.#tools.report(error);
    }
  }
}
