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
  /** The call at which the first process was stopped. */
  readonly call: number;
  readonly side: Side;
  readonly charges: number;
  readonly events: number;
  readonly effects: number;
  /** Number of different final responses that the clients got; 0 if a client got none. */
  readonly answers: number;
}

/** A contender's measurements and histories. */
export interface Trial {
  readonly name: string;
  /** Mean CPU time of a payment in a warm process, in milliseconds. */
  readonly cpuMs: number;
  /** Mean number of transactions or write calls of a payment in a warm process. */
  readonly writes: number;
  readonly histories: readonly History[];
}

export interface TrialSize {
  /** Number of measured payments. As many unmeasured payments precede them. */
  readonly payments: number;
  /** Numbers of the calls at which the program is stopped, counted from 1. @default all */
  readonly calls?: readonly number[];
}

export const FULL_TRIAL: TrialSize = { payments: 400 };
/** The size of a short test run: the first calls only. Its CPU times are not meaningful. */
export const SHORT_TRIAL: TrialSize = { payments: 5, calls: [1, 2] };

/** Clock advance before a retry: longer than all leases, so that the lease of a killed process has expired. */
const AFTER_LEASE_MS = 2 * 60_000;
/**
 * Maximum wait for the response to a duplicate. Then the held process continues, because the duplicate may be waiting
 * for it.
 */
const HOLD_MS = 1_500;
const MAX_ATTEMPTS = 6;
/** Maximum number of calls, more than any contender makes for a payment. */
const MAX_CALLS = 200;
const ALL_CALLS = Array.from({ length: MAX_CALLS }, (_, index) => index + 1);

/** Measures a contender, then kills its process and duplicates its requests at each of its calls. */
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

  /**
   * Runs a history for each point at which the process can be stopped. Ends at the first point that the payment does
   * not reach.
   */
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
   * Kills the process before or after its call number `call` (see `side`). The client then sends the request twice to a
   * new process, each time until the response is final. Returns undefined if the payment makes fewer calls.
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

  /**
   * Holds the process at a call while another process gets the same request. Returns undefined if the payment makes
   * fewer calls.
   */
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

  /**
   * Sends the request until the response is final, at most six times, and returns the last response. Before each
   * attempt, advances the clocks past all leases.
   */
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

  /** Returns the running process, or starts one. */
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

/**
 * Returns whether a client stops retrying at this status. A client sends the request again after a conflict, a failure
 * or a missing response.
 */
function isFinal(status: number): boolean {
  return status >= 200 && status < 500 && status !== 409;
}
