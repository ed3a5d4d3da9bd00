import { setTimeout as sleep } from 'node:timers/promises';
import type { Side } from './calls.ts';
import type { Contender } from './contenders.ts';
import { type Answer, CallProxies, Subject, type Surroundings } from './subject.ts';

/**
 * The result of one payment. Its process was killed, or a second process got the same request while the first one was
 * held.
 */
export interface History {
  readonly trouble: 'kill' | 'duplicate';
  readonly call: number;
  readonly side: Side;
  readonly charges: number;
  readonly events: number;
  readonly effects: number;
  /** Number of different final responses that the clients got; 0 if a client got none. */
  readonly answers: number;
}

export interface Trial {
  readonly name: string;
  /** Mean of a payment in a warm process. */
  readonly cpuMs: number;
  /** Mean number of transactions or write calls of a payment in a warm process. */
  readonly writes: number;
  readonly histories: readonly History[];
}

export interface TrialSize {
  /** Number of measured payments. As many unmeasured payments precede them. */
  readonly payments: number;
  /** Counted from 1. @default all */
  readonly calls?: readonly number[];
}

export const FULL_TRIAL: TrialSize = { payments: 400 };
/** The measured CPU times are not meaningful. */
export const SHORT_TRIAL: TrialSize = { payments: 5, calls: [1, 2] };

/** Longer than all leases, so that the lease of a killed process has expired. */
const AFTER_LEASE_MS = 2 * 60_000;
/** The held process then continues, because the duplicate may be waiting for it. */
const HOLD_MS = 1_500;
const MAX_ATTEMPTS = 6;
/** More than any contender makes for a payment. */
const MAX_CALLS = 200;
const ALL_CALLS = Array.from({ length: MAX_CALLS }, (_, index) => index + 1);

export async function runTrial(contender: Contender, around: Surroundings, size: TrialSize): Promise<Trial> {
  const trial = new Running(contender, around);
  try {
    const measured = await trial.measure(size.payments);
    const histories = [...(await trial.all('kill', size)), ...(await trial.all('duplicate', size))];
    return { name: contender.name, ...measured, histories };
  } finally {
    await trial.end();
  }
}

/** Two instances can run concurrently. After a kill, a new process replaces the first instance. */
type Instance = 'first' | 'second';

class Running {
  readonly #contender: Contender;
  readonly #around: Surroundings;
  readonly #proxies = new Map<Instance, CallProxies>();
  readonly #subjects = new Map<Instance, Subject>();
  #keys = 0;

  constructor(contender: Contender, around: Surroundings) {
    this.#contender = contender;
    this.#around = around;
  }

  async measure(payments: number): Promise<Pick<Trial, 'cpuMs' | 'writes'>> {
    const keys = () => Array.from({ length: payments }, () => this.#newKey());
    const subject = await this.#process();
    await subject.measure(keys());
    const before = await this.#contender.writes();
    const cpuMs = await subject.measure(keys());
    return { cpuMs, writes: ((await this.#contender.writes()) - before) / payments };
  }

  async all(trouble: History['trouble'], { calls }: TrialSize): Promise<readonly History[]> {
    const histories: History[] = [];
    for (const call of calls ?? ALL_CALLS) {
      for (const side of ['before', 'after'] as const) {
        const history = await this.#history(trouble, call, side);
        if (history === undefined) return histories;
        histories.push(history);
      }
    }
    if (calls === undefined) throw new Error(`${this.#contender.name} made more than ${MAX_CALLS} calls for a payment`);
    return histories;
  }

  async end(): Promise<void> {
    for (const subject of this.#subjects.values()) await subject.kill();
    for (const proxies of this.#proxies.values()) proxies.close();
  }

  async #history(trouble: History['trouble'], call: number, side: Side): Promise<History | undefined> {
    const { services } = this.#around;
    const before = { charges: services.charges, events: services.events };
    const key = this.#newKey();
    const answers = await (trouble === 'kill' ? this.#killed(key, call, side) : this.#duplicated(key, call, side));
    if (answers === undefined) return undefined;
    const traces = await this.#contender.tracesOf(key, services.events - before.events);
    const isAnswered = answers.every(({ status }) => isFinal(status));
    return {
      trouble,
      call,
      side,
      charges: services.charges - before.charges,
      ...traces,
      answers: isAnswered ? new Set(answers.map(({ status, body }) => `${status} ${body}`)).size : 0,
    };
  }

  /**
   * After the kill, the client sends the request twice to a new process, each time until the response is final.
   * Returns undefined if the payment makes fewer calls.
   */
  async #killed(key: string, call: number, side: Side): Promise<readonly Answer[] | undefined> {
    const subject = await this.#process();
    let isKilled = false;
    subject.calls.begin({
      call,
      side,
      spring: async () => {
        isKilled = true;
        await subject.kill();
        return false;
      },
    });
    const answer = await subject.pay(key);
    // Remove the trap, so that a call in the background cannot reach it later.
    subject.calls.begin();
    if (!isKilled) return undefined;
    this.#subjects.delete('first');
    const first = isFinal(answer.status) ? [answer] : [];
    return [...first, await this.#payUntilFinal(key), await this.#payUntilFinal(key)];
  }

  /** Returns undefined if the payment makes fewer calls. */
  async #duplicated(key: string, call: number, side: Side): Promise<readonly Answer[] | undefined> {
    const subject = await this.#process();
    const rival = await this.#process('second');
    let duplicate: Promise<Answer> | undefined;
    subject.calls.begin({
      call,
      side,
      spring: async () => {
        duplicate = rival.pay(key);
        await Promise.race([duplicate, sleep(HOLD_MS)]);
        return true;
      },
    });
    const answers = [await subject.pay(key)];
    subject.calls.begin();
    if (duplicate === undefined) return undefined;
    answers.push(await duplicate);
    const finals = answers.filter(({ status }) => isFinal(status));
    return [...finals, await this.#payUntilFinal(key)];
  }

  /** Advances the clocks past all leases before each attempt. */
  async #payUntilFinal(key: string): Promise<Answer> {
    let answer: Answer = { status: 0, body: '' };
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt += 1) {
      this.#around.services.aheadMs += AFTER_LEASE_MS;
      const subject = await this.#process();
      subject.calls.begin();
      answer = await subject.pay(key);
      if (isFinal(answer.status)) return answer;
    }
    return answer;
  }

  async #process(instance: Instance = 'first'): Promise<Subject> {
    const proxies = this.#proxies.get(instance) ?? (await CallProxies.open(this.#around));
    this.#proxies.set(instance, proxies);
    const running = this.#subjects.get(instance);
    const subject = running ?? (await Subject.start(this.#contender, this.#around, proxies, instance));
    this.#subjects.set(instance, subject);
    return subject;
  }

  #newKey(): string {
    this.#keys += 1;
    return `compared-${this.#contender.name.replace(/\W/g, '-')}-${process.pid}-${this.#keys}`;
  }
}

/** A client sends the request again after a conflict, a failure or a missing response. */
function isFinal(status: number): boolean {
  return status >= 200 && status < 500 && status !== 409;
}
