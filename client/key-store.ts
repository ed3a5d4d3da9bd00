import { PayonceError } from './errors.ts';

/** What is sent under a key: the same text at each attempt. */
export interface StoredRequest {
  /** The caller's own name for what happens once. */
  readonly operation: string;
  /** The `Idempotency-Key`. */
  readonly key: string;
  readonly method: string;
  /** The path of the API, without its address. */
  readonly path: string;
  /** JSON; null for a request without a body. */
  readonly body: string | null;
  /** Of the API key; null when the client has none that shows it. */
  readonly mode: 'test' | 'live' | null;
}

/** The final answer to a request. */
export interface StoredAnswer {
  readonly status: number;
  /** JSON, as it was answered. */
  readonly body: string;
}

export interface StoredOperation extends StoredRequest {
  /** Absent while there is none. */
  readonly answer?: StoredAnswer;
}

type Awaitable<Value> = Value | Promise<Value>;

/**
 * Where operations are kept. A store of one's own is two functions, for example over a column of the order's own row. Both may run in
 * a transaction of the caller's. What they throw stops the operation, and is thrown to its caller.
 */
export interface KeyStore {
  /**
   * Stores the request unless there is one of this operation: of two at once, one is stored. It must be durable before this returns,
   * because the request is sent then.
   *
   * @returns what is stored now
   */
  putIfAbsent(request: StoredRequest): Awaitable<StoredOperation>;
  /**
   * Stores the answer beside the request. It can come more than once for an operation, with the same bytes. After a throw, the same
   * operation gets the answer again.
   */
  keepAnswer(request: StoredRequest, answer: StoredAnswer): Awaitable<void>;
}

/** Keeps operations as long as this object lives. A process that crashes forgets its keys, so this is for tests and scripts. */
export function memoryKeys(): KeyStore {
  const rows = new Map<string, StoredOperation>();
  return {
    putIfAbsent: (request) => {
      const stored = rows.get(request.operation) ?? request;
      rows.set(request.operation, stored);
      return stored;
    },
    keepAnswer: (request, answer) => void rows.set(request.operation, { ...request, answer }),
  };
}

/**
 * Reads a row that was stored as JSON, for stores of one's own.
 *
 * @param answer as JSON @default there is none
 * @throws PayonceError `invalid_key_store` for anything else
 */
export function storedIn(request: string | null | undefined, answer?: string | null): StoredOperation {
  const row = { ...objectIn(request), ...(answer == null ? {} : { answer: objectIn(answer) }) };
  if (!isOperation(row)) throw new PayonceError('invalid_key_store', 'The key store has no row of this operation.');
  return row;
}

function objectIn(text: string | null | undefined): object {
  try {
    const value: unknown = JSON.parse(text ?? '');
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return {};
  }
}

/** Whether a store gave back what was put. */
export function isOperation(value: unknown): value is StoredOperation {
  if (typeof value !== 'object' || value === null) return false;
  const { operation, key, method, path, body, mode, answer } = value as Partial<Record<keyof StoredOperation, unknown>>;
  return (
    [operation, key, method, path].every((each) => typeof each === 'string' && each !== '') &&
    (body === null || typeof body === 'string') &&
    (mode === null || mode === 'test' || mode === 'live') &&
    (answer === undefined || isAnswer(answer))
  );
}

function isAnswer(value: unknown): value is StoredAnswer {
  if (typeof value !== 'object' || value === null) return false;
  const { status, body } = value as Partial<Record<keyof StoredAnswer, unknown>>;
  return typeof status === 'number' && typeof body === 'string';
}
