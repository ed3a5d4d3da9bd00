import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';

/**
 * Time limit of one call, in milliseconds. A call usually takes a few milliseconds, and a request has seconds for
 * several calls.
 */
const REQUEST_TIMEOUT_MS = 2_000;
const CONNECTION_TIMEOUT_MS = 1_000;

/** Creates a client that does not retry. Retries are made in one layer, which knows the effect of a repeated write. */
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
  if (Array.isArray(value)) return value.map(withAnyNames);
  if (typeof value !== 'object' || value === null || !isPlain(value)) return value;
  const entries = Object.entries(value).map(([name, inner]) => [name, withAnyNames(inner)] as const);
  return Object.hasOwn(value, 'constructor') ? new Map(entries) : Object.fromEntries(entries);
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

function plainClient(): DynamoDBClient {
  return new DynamoDBClient({
    maxAttempts: 1,
    requestHandler: {
      requestTimeout: REQUEST_TIMEOUT_MS,
      throwOnRequestTimeout: true,
      connectionTimeout: CONNECTION_TIMEOUT_MS,
    },
  });
}
