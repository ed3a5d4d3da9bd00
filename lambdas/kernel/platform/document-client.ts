import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';

/** A call usually takes a few milliseconds, and a client's request has several seconds for all of its calls. */
const REQUEST_TIMEOUT_MS = 2_000;
const CONNECTION_TIMEOUT_MS = 1_000;
/**
 * Parts of the SDK that calls do not need, but that take a sixth of a call's CPU time. The first copies input and
 * output for a logger, which the functions do not have. The second lists the SDK features in use.
 */
const UNUSED_MIDDLEWARE = ['loggerMiddleware', 'getUserAgentMiddleware'];

/** `attempts.ts` retries instead of the client: it knows the effect of a repeated write. */
export function documentClient(client: DynamoDBClient = plainClient()): DynamoDBDocumentClient {
  const documents = DynamoDBDocumentClient.from(client);
  documents.middlewareStack.add(
    (next) => async (args) => next({ ...args, input: withAnyNames(args.input) as typeof args.input }),
    { step: 'initialize', name: 'withAnyNames', override: true },
  );
  return documents;
}

/**
 * Converts each object with a key `constructor` to a `Map`, which is stored with all its keys. The document client
 * recognizes class instances by `constructor.name`, and so would refuse such an object (AWS SDK for JavaScript,
 * `util-dynamodb`, `convertToAttr`).
 */
function withAnyNames(value: unknown): unknown {
  return hasAnyName(value) ? converted(value) : value;
}

/** Without a key `constructor`, the value need not be copied. */
function hasAnyName(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(hasAnyName);
  if (typeof value !== 'object' || value === null || !isPlain(value)) return false;
  return Object.hasOwn(value, 'constructor') || Object.values(value).some(hasAnyName);
}

function converted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(converted);
  if (typeof value !== 'object' || value === null || !isPlain(value)) return value;
  const entries = Object.entries(value).map(([name, inner]) => [name, converted(inner)] as const);
  return Object.hasOwn(value, 'constructor') ? new Map(entries) : Object.fromEntries(entries);
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

function plainClient(): DynamoDBClient {
  const client = new DynamoDBClient({
    maxAttempts: 1,
    requestHandler: {
      requestTimeout: REQUEST_TIMEOUT_MS,
      throwOnRequestTimeout: true,
      connectionTimeout: CONNECTION_TIMEOUT_MS,
    },
  });
  for (const name of UNUSED_MIDDLEWARE) client.middlewareStack.remove(name);
  return client;
}
