import type { Clock } from '../../lambdas/kernel/world.ts';
import type { DeadLetter, LetterBox, LetterQueueName, TakenLetter } from '../../lambdas/outbound/use/dead-letters.ts';

/** Milliseconds. The queue's visibility timeout. */
const HIDDEN_MS = 6 * 60_000;

interface Kept {
  readonly id: string;
  readonly letter?: DeadLetter;
  readonly keptSinceMs: number;
  receipt: string;
  hiddenUntilMs: number;
}

/** Dead letters in memory, for tests. */
export class MemoryLetterBox implements LetterBox {
  readonly #clock: Pick<Clock, 'nowMs'>;
  readonly #kept = new Map<string, Kept>();
  #made = 0;

  constructor(clock: Pick<Clock, 'nowMs'>) {
    this.#clock = clock;
  }

  async put(letter: DeadLetter, queue: LetterQueueName = 'dead'): Promise<void> {
    if (queue === 'delayed') this.delayed.push(letter);
    else this.#keep(letter);
  }

  /** The delayed calls. */
  readonly delayed: DeadLetter[] = [];

  /** Stores an unreadable message. */
  putUnreadable(): void {
    this.#keep(undefined);
  }

  async take(atMost: number): Promise<readonly TakenLetter[]> {
    const nowMs = this.#clock.nowMs();
    const taken = [...this.#kept.values()]
      .filter(({ hiddenUntilMs }) => hiddenUntilMs <= nowMs)
      .slice(0, Math.min(atMost, 10));
    return taken.map((kept) => {
      this.#made += 1;
      kept.receipt = `receipt-${this.#made}`;
      kept.hiddenUntilMs = nowMs + HIDDEN_MS;
      const { id, receipt, letter, keptSinceMs } = kept;
      return { id, receipt, keptSinceMs, ...(letter === undefined ? {} : { letter }) };
    });
  }

  async putBack({ id, receipt }: TakenLetter): Promise<void> {
    const kept = this.#kept.get(id);
    if (kept?.receipt === receipt) kept.hiddenUntilMs = Number.NEGATIVE_INFINITY;
  }

  async remove({ id }: TakenLetter): Promise<void> {
    this.#kept.delete(id);
  }

  #keep(letter: DeadLetter | undefined): void {
    this.#made += 1;
    const id = `letter-${this.#made}`;
    this.#kept.set(id, {
      id,
      ...(letter === undefined ? {} : { letter }),
      keptSinceMs: this.#clock.nowMs(),
      receipt: '',
      hiddenUntilMs: Number.NEGATIVE_INFINITY,
    });
  }
}
