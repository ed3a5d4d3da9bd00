import { PayonceError } from './errors.ts';

/** A request with its idempotency key. Every attempt sends the same bytes. */
export interface StoredRequest {
  /** The caller's name for the operation. */
  readonly operation: string;
  /** The value of the `Idempotency-Key` header. */
  readonly key: string;
  readonly method: string;
  /** The path of the API, without scheme and host. */
  readonly path: string;
  /** JSON; null for a request without a body. */
  readonly body: string | null;
  /** The mode of the API key; null when the client has no key that shows the mode. */
  readonly mode: 'test' | 'live' | null;
}

/** The final response to a request. */
export interface StoredAnswer {
  readonly status: number;
  /** JSON, as received. */
  readonly body: string;
}

export interface StoredOperation extends StoredRequest {
  /** True if the API refused the request without storing its key. The caller may then correct the body. */
  readonly refused?: true;
  /** Absent until a final response is stored. */
  readonly answer?: StoredAnswer;
}

type Awaitable<Value> = Value | Promise<Value>;

/**
 * Stores operations. A custom store needs two functions, for example on a column of your own order rows; `keepRefusal`
 * is optional. The functions may use transactions of their own. If one of them throws an error, the operation stops and
 * throws this error.
 */
export interface KeyStore {
  /**
   * Stores the request unless a request is already stored for this operation. If two processes call this function at
   * the same time, only one request is stored. The row must be durable before this function returns, because the
   * request is sent next.
   *
   * @returns the stored operation
   */
  putIfAbsent(request: StoredRequest): Awaitable<StoredOperation>;
  /**
   * Stores the response with the request. Can be called more than once for an operation, with the same bytes. If this
   * function throws, a later call with the same operation can still get the response.
   */
  keepAnswer(request: StoredRequest, answer: StoredAnswer): Awaitable<void>;
  /**
   * Replaces the stored request with this refused request, unless a response is stored. The next call with the
   * operation may then have another body. It sends the same key, so that only one of the bodies can ever take effect.
   *
   * @default a call with another body fails with `operation_changed`, even after a refusal
   */
  keepRefusal?(request: StoredRequest & { readonly refused: true }): Awaitable<void>;
}

/** Stores operations in memory. A crashed process loses its keys, so this store is only for tests and scripts. */
export function memoryKeys(): KeyStore {
  const rows = new Map<string, StoredOperation>();
  return {
    putIfAbsent: (request) => {
      const stored = rows.get(request.operation) ?? request;
      rows.set(request.operation, stored);
      return stored;
    },
    keepAnswer: (request, answer) => void rows.set(request.operation, { ...request, answer }),
    keepRefusal: (request) => {
      if (rows.get(request.operation)?.answer === undefined) rows.set(request.operation, request);
    },
  };
}

/**
 * Parses a row that was stored as JSON, for custom stores.
 *
 * @param request the stored request, or the whole stored operation, as JSON
 * @param answer the stored response, as JSON
 * @default the response in `request`, if there is one
 * @throws PayonceError `invalid_key_store` if the row is not an operation
 */
export function storedIn(request: string | null | undefined, answer?: string | null): StoredOperation {
  const row = { ...objectIn(request), ...(answer == null ? {} : { answer: objectIn(answer) }) };
  if (!isOperation(row))
    throw new PayonceError(
      'invalid_key_store',
      'The key store has no valid row for this operation: the row is missing or damaged.',
      // An earlier process may have sent the request.
      { mayHaveTakenEffect: true },
    );
  return row;
}

function objectIn(text: string | null | undefined): object {
  return parsedObject(text ?? '') ?? {};
}

function parsedObject(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Returns whether a value that a key store returned is a valid operation. */
export function isOperation(value: unknown): value is StoredOperation {
  if (typeof value !== 'object' || value === null) return false;
  const row = value as Partial<Record<keyof StoredOperation, unknown>>;
  const { operation, key, method, path, body, mode, refused, answer } = row;
  return (
    [operation, key, method, path].every((each) => typeof each === 'string' && each !== '') &&
    (body === null || isObjectText(body)) &&
    (mode === null || mode === 'test' || mode === 'live') &&
    (refused === undefined || refused === true) &&
    (answer === undefined || isAnswer(answer))
  );
}

function isAnswer(value: unknown): value is StoredAnswer {
  if (typeof value !== 'object' || value === null) return false;
  const { status, body } = value as Partial<Record<keyof StoredAnswer, unknown>>;
  return typeof status === 'number' && isObjectText(body);
}

/** Returns whether a text is a JSON object. A text that a short database column truncated, for example, is not. */
export function isObjectText(text: unknown): text is string {
  return typeof text === 'string' && parsedObject(text) !== undefined;
}
