import type { Clock } from '../../lambdas/kernel/world.ts';
import type { DeployedQueues, MessageEntry, MessageQueues, PutBack } from '../../lambdas/operators/use/queue-lists.ts';

interface Letter extends Pick<MessageEntry, 'id' | 'about' | 'part' | 'reason'> {
  readonly sentAtMs: number;
}

/** Queues of messages in memory, with their dead letters. A message that is put back is a new one, as in SQS. */
export class MemoryMessages implements MessageQueues {
  readonly deployed: DeployedQueues = {
    'Archive-Parked': { url: 'batches', isKept: true },
    'Events-Parked': { url: 'parked', isKept: true, redriveTo: 'Events-Republisher' },
    'Vendors-DeadLetters': { url: 'vendors', isKept: true, redriveTo: 'Parties-DelayedCalls-Queue' },
    'Parties-DelayedCalls-Queue': { url: 'delayed', isKept: false },
    'Webhooks-Tasks-DeadLetters': { url: 'letters', isKept: true, redriveTo: 'Webhooks-Tasks-Queue' },
    'Webhooks-Tasks-Queue': { url: 'tasks', isKept: false },
  };
  /** Called with each message that is put back, after it was sent and before it is deleted. @throws to end the process */
  onSent: (id: string) => void = () => undefined;
  readonly #clock: Pick<Clock, 'nowMs'>;
  readonly #letters = new Map<string, Letter[]>();

  constructor(clock: Pick<Clock, 'nowMs'>) {
    this.#clock = clock;
  }

  arrive(queue: string, letter: Omit<Letter, 'sentAtMs'>): void {
    this.#of(queue).push({ ...letter, sentAtMs: this.#clock.nowMs() });
  }

  ids(queue: string): readonly string[] {
    return this.#of(queue).map(({ id }) => id);
  }

  /** All messages of a queue could not be handled once more. */
  failAll(queue: string, to: string): void {
    for (const { sentAtMs: _, ...letter } of this.#of(queue).splice(0)) this.arrive(to, letter);
  }

  async count(queue: string): Promise<number> {
    return this.#of(queue).length;
  }

  async look(queue: string, limit: number): Promise<readonly MessageEntry[]> {
    return this.#of(queue)
      .slice(0, limit)
      .map(({ sentAtMs: sinceMs, ...letter }) => ({ ...letter, sinceMs, needsOperator: true }));
  }

  async putBack(queue: string, { beforeMs, stopAtMs }: PutBack): Promise<number> {
    const letters = this.#of(queue);
    const older = letters.filter(({ sentAtMs }) => sentAtMs < beforeMs && this.#clock.nowMs() < stopAtMs);
    for (const letter of older) {
      this.arrive(this.deployed[queue]?.redriveTo ?? '', letter);
      this.onSent(letter.id);
      letters.splice(letters.indexOf(letter), 1);
    }
    return older.length;
  }

  #of(queue: string): Letter[] {
    const found = this.#letters.get(queue) ?? [];
    this.#letters.set(queue, found);
    return found;
  }
}
