import {
  DynamoDBClient,
  type DynamoDBClientConfig,
  ThrottlingException,
  TransactionCanceledException,
  TransactionConflictException,
  TransactionInProgressException,
} from '@aws-sdk/client-dynamodb';
import type { Actor, FaultErrors } from './fault-plan.ts';

const METADATA = { httpStatusCode: 400 };

export const throttled = (): Error => new ThrottlingException({ message: 'injected', $metadata: METADATA });

/** Emulators never return this error of two transactions that conflict on one item. */
export const transactionConflict = (items: number, others = 'None'): Error =>
  new TransactionCanceledException({
    message: 'injected',
    $metadata: METADATA,
    CancellationReasons: Array.from({ length: items }, (_, index) => ({
      Code: index === 0 ? 'TransactionConflict' : others,
    })),
  });

export const writeConflict = (): Error =>
  new TransactionConflictException({ message: 'injected', $metadata: METADATA });

export const transactionInProgress = (): Error =>
  new TransactionInProgressException({ message: 'injected', $metadata: METADATA });

/** The SDK's own timeout error has the number of attempts but no status or service name. */
export const timedOut = (): Error =>
  Object.assign(new Error('injected'), { name: 'TimeoutError', $metadata: { attempts: 1 } });

export const SDK_ERRORS: FaultErrors = { throttle: throttled, ambiguous: timedOut };

/** Every SDK call of the client can have a fault. */
export function clientOf(actor: Pick<Actor, 'call'>, config: DynamoDBClientConfig): DynamoDBClient {
  const client = new DynamoDBClient({ ...config, maxAttempts: 1 });
  client.middlewareStack.add(
    (next, context) => (args) => actor.call(context.commandName ?? 'call', SDK_ERRORS, () => next(args)),
    { step: 'initialize', priority: 'high' },
  );
  return client;
}
