import { pauseMs } from './backoff.ts';
import { PayonceError, ProblemError, UnfinishedError } from './errors.ts';
import type { Limits, Sender } from './sender.ts';
import type { Runtime } from './surroundings.ts';

/**
 * A page of a list. Some lists return the start of the next page; in other lists, the next page begins after the last
 * object.
 */
interface Page<Item> {
  readonly data: readonly Item[];
  readonly has_more: boolean;
  readonly next_cursor?: string;
}

type Query = Readonly<Record<string, string | number | undefined>>;

/** A payer's bank usually decides within this time. */
const WAIT_MS = 120_000;
/** A wait of a few minutes stays below this limit. */
const MAX_POLLS = 1_000;

export class ReadClient {
  readonly #sender: Sender;
  readonly #around: Runtime;

  constructor(sender: Sender, around: Runtime) {
    this.#sender = sender;
    this.#around = around;
  }

  /**
   * @throws ProblemError when the API responds with a problem
   * @throws PayonceError as `Sender.send`
   */
  async get<Value>(path: string, limits: Limits = {}): Promise<Value> {
    return this.#ask('GET', path, null, limits);
  }

  async set<Value>(path: string, params: object, limits: Limits = {}): Promise<Value> {
    return this.#ask('PATCH', path, JSON.stringify(params), limits);
  }

  async *pages<Item extends object>(path: string, query: Query = {}, limits: Limits = {}): AsyncGenerator<Item> {
    const from = query['ending_before'] === undefined ? 'starting_after' : 'ending_before';
    for (let cursor = query[from]; ; ) {
      const given = Object.entries({ ...query, [from]: cursor }).filter(([, value]) => value !== undefined);
      const text = new URLSearchParams(
        given.map(([name, value]): [string, string] => [name, String(value)]),
      ).toString();
      const page: Page<Item> = await this.get(text === '' ? path : `${path}?${text}`, limits);
      yield* page.data;
      if (!page.has_more) return;
      const next = page.next_cursor ?? placeOf(page.data.at(-1));
      if (next === undefined || next === cursor)
        throw new PayonceError(
          'unexpected_answer',
          `The list ${path} has more pages, but the response does not say where the next page begins.`,
        );
      cursor = next;
    }
  }

  /** @throws UnfinishedError when the object has no outcome in time; the errors of `get` */
  async wait<Value>(path: string, isOpen: (value: Value) => boolean, limits: Limits = {}): Promise<Value> {
    const { timeoutMs = WAIT_MS, signal } = limits;
    const untilMs = this.#around.elapsedMs() + timeoutMs;
    for (let poll = 0; ; poll += 1) {
      const leftMs = Math.max(1, untilMs - this.#around.elapsedMs());
      const value = await this.get<Value>(path, { ...limits, timeoutMs: leftMs });
      if (!isOpen(value)) return value;
      const waitMs = pauseMs(poll, this.#around.fraction());
      if (poll >= MAX_POLLS || this.#around.elapsedMs() + waitMs >= untilMs)
        throw new UnfinishedError(value, timeoutMs);
      await this.#around.sleep(waitMs, signal);
    }
  }

  async #ask<Value>(method: string, path: string, body: string | null, limits: Limits): Promise<Value> {
    const answer = await this.#sender.send({ method, path, body }, limits);
    if (answer.kind === 'problem') throw new ProblemError(answer.problem, false);
    return answer.value as Value;
  }
}

/** Transitions have a sequence number instead of an id. */
function placeOf(last: object | undefined): string | undefined {
  const { id, sequence } = (last ?? {}) as { readonly id?: string; readonly sequence?: number };
  return id ?? (sequence === undefined ? undefined : String(sequence));
}
