import { isFinal, PayonceError, type Problem, ProblemError, storedNothing } from './errors.ts';
import {
  isObjectText,
  isOperation,
  type KeyStore,
  type StoredAnswer,
  type StoredOperation,
  type StoredRequest,
} from './key-store.ts';
import type { Answer, Limits, Sender } from './sender.ts';
import type { Runtime } from './surroundings.ts';

/** Options of a call that takes effect once. */
export interface Once extends Limits {
  /**
   * Your own name for the operation, for example `order_42`. Calls with this name send the same key and body, in this
   * and in later processes, and get the same response. 1 to 200 characters. After a refusal that stored nothing, a call
   * may have a corrected body.
   */
  readonly operation: string;
}

const LONGEST_NAME = 200;
/** Matches a lone surrogate. UTF-8 cannot encode it, so a key store in files would confuse two such names. */
const LONE = /\p{Surrogate}/u;

type Change = Pick<StoredRequest, 'method' | 'path'> & { readonly params?: object };

/**
 * Stores the key and the body, sends them, and stores the response, in this order, even if different processes perform
 * the steps.
 */
export class Operations {
  readonly #keys: KeyStore;
  readonly #sender: Sender;
  readonly #mode: StoredRequest['mode'];
  readonly #mintKey: Runtime['mintKey'];

  constructor(keys: KeyStore, sender: Sender, mode: StoredRequest['mode'], { mintKey }: Runtime) {
    this.#keys = keys;
    this.#sender = sender;
    this.#mode = mode;
    this.#mintKey = mintKey;
  }

  /**
   * @throws TypeError if the parameters are not an object
   * @throws ProblemError when the API responds with a problem
   * @throws PayonceError `operation_changed` before anything is sent; `invalid_operation`; `invalid_key_store`; the
   * errors of `Sender.send`
   */
  async run<Value>({ method, path, params }: Change, once: Once): Promise<Value> {
    const { operation, ...limits }: Partial<Once> = isObject(once) ? once : {};
    if (typeof operation !== 'string' || operation === '' || operation.length > LONGEST_NAME || LONE.test(operation))
      throw new PayonceError(
        'invalid_operation',
        `operation must be a string of 1 to ${LONGEST_NAME} characters, for example { operation: 'order_42' }`,
      );
    const body = params === undefined ? null : bodyOf(params);
    const offered = { operation, key: this.#mintKey(), method, path, body, mode: this.#mode };
    const stored: unknown = await this.#keys.putIfAbsent(offered);
    const { answer: kept, refused, ...known } = checked(stored, operation);
    const other = differences(known, offered);
    const isCorrected = refused === true && kept === undefined && isOnlyInBody(known, offered);
    // The operation may have taken effect even if the stored request was refused: a process may have sent a corrected
    // body and crashed before the response.
    if (other.length > 0 && !isCorrected) throw changed(operation, other, this.#adviceFor(kept, known, offered));
    // A corrected body is sent with the stored key. If an earlier body did take effect, the API refuses this one.
    const request = isCorrected ? { ...known, body } : known;
    if (kept !== undefined) return settled(answerOf(kept)) as Value;
    // If the stored key is from an earlier process, that process may have sent the request.
    const { sentBefore, ...answer } = await this.#sender.send(request, limits, request.key !== offered.key);
    const isKept = answer.kind === 'success' || isFinal(answer.problem.code);
    if (isKept) await this.#keys.keepAnswer(request, { status: answer.status, body: answer.text });
    const isRefused = answer.kind === 'problem' && !isKept && storedNothing(answer.problem.code);
    // If an earlier attempt took effect, a corrected body cannot take effect: the API refuses another body for the same
    // key.
    if (isRefused) await this.#keys.keepRefusal?.({ ...request, refused: true });
    return settled(answer, !isKept && (!isRefused || sentBefore)) as Value;
  }

  /** Returns the end of the message about a changed request; undefined if the stored request had no effect. */
  #adviceFor(kept: StoredAnswer | undefined, stored: StoredRequest, offered: StoredRequest): string | undefined {
    if (kept !== undefined && kept.status >= 300) return undefined;
    if (kept !== undefined || !isOnlyInBody(stored, offered)) return ', before you start a new operation.';
    return this.#keys.keepRefusal === undefined
      ? '. To correct a refused body, the key store needs keepRefusal.'
      : '. If it is refused, you can then send the changed body.';
  }
}

/** A row with other parameters could never be sent or corrected, so they are refused before they are stored. */
function bodyOf(params: object): string {
  const body: unknown = JSON.stringify(params);
  if (!isObjectText(body)) throw new TypeError('the parameters must be an object, for example { amount: 1000, … }');
  return body;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

/** Returns whether two requests differ at most in their bodies. The API stores keys by mode, method and path. */
function isOnlyInBody(stored: StoredRequest, offered: StoredRequest): boolean {
  return (['mode', 'method', 'path'] as const).every((each) => stored[each] === offered[each]);
}

function checked(stored: unknown, operation: string): StoredOperation {
  if (isOperation(stored) && stored.operation === operation) return stored;
  const message = `The key store returned no row for the operation ${operation}. Nothing was sent.`;
  // An earlier process may have stored and sent the request.
  throw new PayonceError('invalid_key_store', message, { mayHaveTakenEffect: true });
}

/**
 * Creates the error for a changed request. The message names fields without their values, which can be personal data.
 */
function changed(operation: string, fields: readonly string[], advice: string | undefined): PayonceError {
  const message =
    `The operation ${operation} was started with a different ${fields.join(', ')}. Nothing was sent. ` +
    (advice === undefined
      ? 'A different request needs a new operation.'
      : `The earlier request may have taken effect: repeat it to get its response${advice}`);
  return new PayonceError('operation_changed', message, { mayHaveTakenEffect: advice !== undefined });
}

function answerOf({ status, body }: StoredAnswer): Answer {
  const value = JSON.parse(body) as object;
  return status < 300
    ? { kind: 'success', status, text: body, value }
    : { kind: 'problem', status, text: body, problem: value as Problem };
}

function settled(answer: Answer, mayHaveTakenEffect = false): object {
  if (answer.kind === 'problem') throw new ProblemError(answer.problem, mayHaveTakenEffect);
  return answer.value;
}

/** The order of fields does not matter, as in the API. */
function differences(stored: StoredRequest, offered: StoredRequest): readonly string[] {
  const rest = (['mode', 'method', 'path'] as const).filter((each) => stored[each] !== offered[each]);
  if (stored.body === offered.body) return rest;
  if (stored.body === null || offered.body === null) return [...rest, 'body'];
  const [left, right] = [fieldsOf(stored.body), fieldsOf(offered.body)];
  const names = [...new Set([...left.keys(), ...right.keys()])];
  return [...rest, ...names.filter((name) => left.get(name) !== right.get(name))];
}

function fieldsOf(body: string): ReadonlyMap<string, string> {
  const value = JSON.parse(body) as object;
  return new Map(Object.entries(value).map(([name, inner]) => [name, JSON.stringify(sorted(inner))]));
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value).map(([name, inner]) => [name, sorted(inner)] as const);
  return Object.fromEntries(fields.sort(([one], [other]) => (one < other ? -1 : 1)));
}
