import { PayonceError } from './errors.ts';

/** The request of a key, the same text for every attempt. */
export interface StoredRequest {
  /** The caller's own name for the operation that takes effect once. */
  readonly operation: string;
  /** The `Idempotency-Key`. */
  readonly key: string;
  readonly method: string;
  /** The path of the API, without its address. */
  readonly path: string;
  /** JSON; null for a request without a body. */
  readonly body: string | null;
  /** The mode of the API key; null when the client has no key that shows it. */
  readonly mode: 'test' | 'live' | null;
}

/** The final answer to a request. */
export interface StoredAnswer {
  readonly status: number;
  /** JSON, as received. */
  readonly body: string;
}

export interface StoredOperation extends StoredRequest {
  /** Absent while there is no answer. */
  readonly answer?: StoredAnswer;
}

type Awaitable<Value> = Value | Promise<Value>;

/**
 * The store of operations. A custom store consists of two functions, for example over a column of the order's own row.
 * Both may run in a transaction of the caller. An error that they throw stops the operation and is passed to its
 * caller.
 */
export interface KeyStore {
  /**
   * Stores the request unless there is one for this operation; of two concurrent requests, one is stored. It must be
   * durable before this returns, because the request is then sent.
   *
   * @returns the stored operation
   */
  putIfAbsent(request: StoredRequest): Awaitable<StoredOperation>;
  /**
   * Stores the answer with the request. It can be called more than once for an operation, with the same bytes. After an
   * error, the same operation receives the answer again.
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
 * Reads a row that was stored as JSON, for custom stores.
 *
 * @param answer as JSON @default none
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

/** Whether a store returned a valid operation. */
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
