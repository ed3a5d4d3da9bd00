/** `payonce/client`: the client for Node 20.3 and later, and for browsers. It has no dependencies. */
export * from '../client/client.ts';
export {
  type ClientCode,
  isProblem,
  PayonceError,
  type Problem,
  type ProblemCode,
  ProblemError,
  type Recovery,
  UnfinishedError,
} from '../client/errors.ts';
export {
  type KeyStore,
  memoryKeys,
  type StoredAnswer,
  type StoredOperation,
  type StoredRequest,
  storedIn,
} from '../client/key-store.ts';
export type { Once } from '../client/operations.ts';
export type { Limits } from '../client/sender.ts';
export type { Runtime as Surroundings } from '../client/surroundings.ts';
