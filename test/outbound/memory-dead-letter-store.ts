import type { Clock } from '../../lambdas/kernel/world.ts';
import type {
  DeadLetter,
  DeadLetterQueueName,
  DeadLetterStore,
  TakenDeadLetter,
} from '../../lambdas/outbound/use/dead-letters.ts';

/** The queue's visibility timeout, in milliseconds. */
const HIDDEN_MS = 6 * 60_000;

interface Kept {
  readonly id: string;
  readonly deadLetter?: DeadLetter;
  readonly keptSinceMs: number;
  receipt: string;
  hiddenUntilMs: number;
}

export class MemoryDeadLetterStore implements DeadLetterStore {
  readonly #clock: Pick<Clock, 'nowMs'>;
  readonly #kept = new Map<string, Kept>();
  #made = 0;

  constructor(clock: Pick<Clock, 'nowMs'>) {
    this.#clock = clock;
  }

  async put(deadLetter: DeadLetter, queue: DeadLetterQueueName = 'dead'): Promise<void> {
    if (queue === 'delayed') this.delayed.push(deadLetter);
    else this.#keep(deadLetter);
  }

  readonly delayed: DeadLetter[] = [];

  putUnreadable(): void {
    this.#keep(undefined);
  }

  async take(atMost: number): Promise<readonly TakenDeadLetter[]> {
    const nowMs = this.#clock.nowMs();
    const taken = [...this.#kept.values()]
      .filter(({ hiddenUntilMs }) => hiddenUntilMs <= nowMs)
      .slice(0, Math.min(atMost, 10));
    return taken.map((kept) => {
      this.#made += 1;
      kept.receipt = `receipt-${this.#made}`;
      kept.hiddenUntilMs = nowMs + HIDDEN_MS;
      const { id, receipt, deadLetter, keptSinceMs } = kept;
      return { id, receipt, keptSinceMs, ...(deadLetter === undefined ? {} : { deadLetter }) };
    });
  }

  async release({ id, receipt }: TakenDeadLetter): Promise<void> {
    const kept = this.#kept.get(id);
    if (kept?.receipt === receipt) kept.hiddenUntilMs = Number.NEGATIVE_INFINITY;
  }

  async remove({ id }: TakenDeadLetter): Promise<void> {
    this.#kept.delete(id);
  }

  #keep(deadLetter: DeadLetter | undefined): void {
    this.#made += 1;
    const id = `letter-${this.#made}`;
    this.#kept.set(id, {
      id,
      ...(deadLetter === undefined ? {} : { deadLetter }),
      keptSinceMs: this.#clock.nowMs(),
      receipt: '',
      hiddenUntilMs: Number.NEGATIVE_INFINITY,
    });
  }
}
