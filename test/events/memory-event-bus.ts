import type { PayonceEvent } from '../../lambdas/events/domain/event.ts';
import type { EventPublisher, PublishOutcome } from '../../lambdas/events/use/event-publisher.ts';

export class MemoryEventBus implements EventPublisher {
  readonly published: PayonceEvent[] = [];
  /** Event ids of each call, whether accepted or refused. */
  readonly calls: (readonly string[])[] = [];
  /** Undefined publishes the event. Attempts are counted from 1. */
  trouble: (id: string, attempt: number) => Exclude<PublishOutcome, { kind: 'published' }> | undefined = () =>
    undefined;
  readonly #tries = new Map<string, number>();

  async publish(events: readonly PayonceEvent[]): Promise<readonly PublishOutcome[]> {
    this.calls.push(events.map(({ event }) => event.id));
    return events.map((event): PublishOutcome => {
      const { id } = event.event;
      const attempt = (this.#tries.get(id) ?? 0) + 1;
      this.#tries.set(id, attempt);
      const trouble = this.trouble(id, attempt);
      if (trouble !== undefined) return trouble;
      this.published.push(event);
      return { kind: 'published' };
    });
  }
}
