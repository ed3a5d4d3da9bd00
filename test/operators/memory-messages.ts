import type { Clock } from '../../lambdas/kernel/world.ts';
import type {
  DeployedQueues,
  HeldMessage,
  MessageEntry,
  MessageQueues,
  RedriveRange,
} from '../../lambdas/operators/use/queue-lists.ts';

interface StoredMessage extends Pick<MessageEntry, 'id' | 'about' | 'part' | 'reason' | 'job' | 'scheduledForMs'> {
  readonly sentAtMs: number;
}

/** A message that is put back has a new send time, as in SQS, but keeps its id. */
export class MemoryMessages implements MessageQueues {
  readonly deployed: DeployedQueues = {
    'Archive-Parked': { url: 'batches', isKept: true },
    'Jobs-Missed': { url: 'missed', isKept: true },
    'Events-Parked': { url: 'parked', isKept: true, redriveTo: 'Events-Republisher' },
    'Vendors-DeadLetters': { url: 'vendors', isKept: true, redriveTo: 'Parties-DelayedCalls-Queue' },
    'Parties-DelayedCalls-Queue': { url: 'delayed', isKept: false },
    'Webhooks-Tasks-DeadLetters': { url: 'letters', isKept: true, redriveTo: 'Webhooks-Tasks-Queue' },
    'Webhooks-Tasks-Queue': { url: 'tasks', isKept: false },
  };
  /**
   * Called after the message is sent and before it is deleted from the dead-letter queue. Tests throw in this function
   * to simulate a crash.
   */
  onSent: (id: string) => void = () => undefined;
  readonly #clock: Pick<Clock, 'nowMs'>;
  /** Messages that `hold` has returned. It returns each one again only after an attempt to move or delete it failed. */
  readonly #held = new Set<StoredMessage>();
  readonly #messages = new Map<string, StoredMessage[]>();

  constructor(clock: Pick<Clock, 'nowMs'>) {
    this.#clock = clock;
  }

  arrive(queue: string, message: Omit<StoredMessage, 'sentAtMs'>): void {
    this.#of(queue).push({ ...message, sentAtMs: this.#clock.nowMs() });
  }

  ids(queue: string): readonly string[] {
    return this.#of(queue).map(({ id }) => id);
  }

  failAll(queue: string, to: string): void {
    for (const { id } of this.#of(queue).splice(0)) this.arrive(to, { id: `${id}-again` });
  }

  async count(queue: string): Promise<number> {
    return this.#of(queue).length;
  }

  async peek(queue: string, limit: number): Promise<readonly MessageEntry[]> {
    return this.#of(queue)
      .slice(0, limit)
      .map(({ sentAtMs: sinceMs, ...message }) => ({ ...message, sinceMs, needsOperator: true }));
  }

  async redrive(queue: string, which: RedriveRange): Promise<number> {
    const older = this.#selected(queue, which);
    for (const message of older) this.#move(queue, message);
    return older.length;
  }

  async dismiss(queue: string, which: RedriveRange): Promise<void> {
    const ofJobs = this.#selected(queue, which).filter(({ job }) => job !== undefined);
    for (const message of ofJobs) this.#remove(queue, message);
  }

  #selected(queue: string, { beforeMs, stopAtMs }: RedriveRange): readonly StoredMessage[] {
    return this.#of(queue).filter(({ sentAtMs }) => sentAtMs < beforeMs && this.#clock.nowMs() < stopAtMs);
  }

  async hold(queue: string, id: string): Promise<HeldMessage | undefined> {
    const message = this.#of(queue).find((each) => each.id === id && !this.#held.has(each));
    if (message === undefined) return undefined;
    const { sentAtMs: sinceMs, ...shown } = message;
    this.#held.add(message);
    const end = async (ending: () => void): Promise<void> => {
      try {
        ending();
      } finally {
        this.#held.delete(message);
      }
    };
    return {
      ...shown,
      sinceMs,
      needsOperator: true,
      redrive: () => end(() => this.#move(queue, message)),
      delete: () => end(() => this.#remove(queue, message)),
    };
  }

  #move(queue: string, message: StoredMessage): void {
    this.arrive(this.deployed[queue]?.redriveTo ?? '', message);
    this.onSent(message.id);
    this.#remove(queue, message);
  }

  #remove(queue: string, message: StoredMessage): void {
    const messages = this.#of(queue);
    messages.splice(messages.indexOf(message), 1);
  }

  #of(queue: string): StoredMessage[] {
    const found = this.#messages.get(queue) ?? [];
    this.#messages.set(queue, found);
    return found;
  }
}
