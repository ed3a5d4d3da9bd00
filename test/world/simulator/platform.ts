import { isDeepStrictEqual } from 'node:util';
import { InternalServerError } from '@aws-sdk/client-dynamodb';
import { type EventBridgeClient, EventBridgeServiceException, PutEventsCommand } from '@aws-sdk/client-eventbridge';
import type { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import type { GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { type DynamoDBDocumentClient, GetCommand, QueryCommand } from '@aws-sdk/lib-dynamodb';
import { activityKey, activityPartition } from '../../../lambdas/activity/store/activity-keys.ts';
import { AmbiguousError, RetryableError } from '../../../lambdas/kernel/faults.ts';
import { ownerToken } from '../../../lambdas/kernel/ids.ts';
import type { Instruments } from '../../../lambdas/kernel/platform/instruments.ts';
import { systemDigest } from '../../../lambdas/kernel/platform/platform.ts';
import type { Variables } from '../../../lambdas/kernel/platform/variables.ts';
import type { HttpAnswer, HttpCall, SendRequest } from '../../../lambdas/outbound/http-call.ts';
import type { AttemptResult } from '../../../lambdas/webhooks/domain/webhook-delivery.ts';
import type { WebhookRequest } from '../../../lambdas/webhooks/use/webhooks.ts';
import { throttled, timedOut, transactionConflict, writeConflict } from '../../support/faulty-client.ts';
import { receiverTakes } from '../../support/receiver.ts';
import type { MemoryDynamoDb } from '../memory-dynamodb.ts';
import type { TimedCall } from '../sandbox-in-process.ts';
import type { ArchiveBucket } from './archive-bucket.ts';
import type { Alarm, Published } from './contract.ts';
import type { ExportsBucket } from './exports-bucket.ts';
import { Secret, type WholePlatform } from './functions.ts';
import type { AuthorityBooks } from './postgres.ts';
import type { Queues } from './queues.ts';
import type { Process, ServiceBehavior, Simulation } from './simulation.ts';

export interface Surroundings {
  readonly simulation: Simulation;
  readonly database: MemoryDynamoDb;
  /** Set when PostgreSQL is the authority. */
  readonly books?: AuthorityBooks | undefined;
  readonly queues: Queues;
  readonly archive: ArchiveBucket;
  readonly exports: ExportsBucket;
  readonly start: (functionName: string, payload: string, name: string) => void;
  readonly publish: (event: Published, by: Process) => void;
  readonly isBusUp: () => boolean;
  /** Returns true if the function `by`, or the bus if `by` is `bus`, rejects the input permanently. */
  readonly isPoison: (by: string, what: unknown) => boolean;
  /** Returns true if the secret differs from the text that its processor expects. */
  readonly isWrong: (secretId: string) => boolean;
  readonly send: SendRequest;
  readonly post: (request: WebhookRequest) => AttemptResult;
  /** In milliseconds; undefined for the default of up to two seconds. */
  readonly takesMs: (url: string) => number | undefined;
  readonly raise: (alarm: Alarm) => void;
  readonly report: (of: string, error: unknown) => void;
}

const broken = (): Error => new InternalServerError({ message: 'injected', $metadata: { httpStatusCode: 500 } });
const READ: ServiceBehavior = { throttle: throttled, ambiguous: timedOut, broken, lasts: [2, 15], timeoutMs: 2_000 };
const WRITE: ServiceBehavior = { ...READ, conflict: writeConflict };
const TRANSACTION: ServiceBehavior = { ...READ, conflict: () => transactionConflict(1), lasts: [5, 40] };
const SERVICE_BEHAVIORS: Readonly<Record<string, ServiceBehavior>> = {
  TransactWriteCommand: TRANSACTION,
  PutCommand: WRITE,
  UpdateCommand: WRITE,
  DeleteCommand: WRITE,
};

const unavailable = (name: string, httpStatusCode: number) => (): Error =>
  new EventBridgeServiceException({ name, message: 'injected', $fault: 'server', $metadata: { httpStatusCode } });
const BUS: ServiceBehavior = {
  throttle: unavailable('ThrottlingException', 400),
  ambiguous: timedOut,
  broken: unavailable('InternalException', 500),
  lasts: [5, 60],
  timeoutMs: 5_000,
};
const SECRETS: ServiceBehavior = { throttle: timedOut, ambiguous: timedOut, lasts: [4, 30], timeoutMs: 2_000 };
const RECEIVER: ServiceBehavior = { throttle: timedOut, ambiguous: timedOut, lasts: [20, 2_000], timeoutMs: 10_000 };
const PROMPT_RECEIVER: ServiceBehavior = { ...RECEIVER, lasts: [1, 1] };

const HTTP_MS = [20, 400] as const;

/** @param process returns the process whose code is running */
export function platformOf(
  around: Surroundings,
  variables: Variables,
  process: () => Process,
  functionName: string,
): WholePlatform {
  const { database, queues, books } = around;
  return {
    variables,
    digest: systemDigest,
    clock: { nowMs: () => process().clock.nowMs(), sleep: (ms) => process().sleep(ms) },
    entropy: {
      ownerToken: () => ownerToken(`owner-${process().token()}`),
      salt: () => Uint8Array.from({ length: 16 }, () => Math.floor(process().fraction() * 256)),
      fraction: () => process().fraction(),
    },
    documents: documentsOf(database, process),
    instruments: instrumentsOf(around, functionName),
    ...(books === undefined ? {} : { openDatabase: () => books.databaseOf(process) }),
    sqs: () => queues.client(process),
    s3: () => around.archive.client(process, around.exports),
    lambda: () => lambdaClient(around, process),
    eventBridge: () => busClient(around, process),
    secretsManager: async () => secretsClient(around, process),
    send: (call) => sendFrom(around, process(), call),
    resolve: async () => [{ address: '93.184.215.14', family: 4 }],
    webhookTransport: () => ({
      post: async (request, late) => {
        const by = process();
        const takesMs = around.takesMs(request.url);
        if (takesMs !== undefined) await receiverTakes(by, takesMs, late);
        return by
          .call('webhook', takesMs === undefined ? RECEIVER : PROMPT_RECEIVER, async () => around.post(request))
          .catch(() => ({ kind: 'unanswered', error: 'timeout' }));
      },
    }),
  };
}

/**
 * Number of empty queries of a process that take time and can fail. Further empty queries of the process return
 * immediately, because most queries of sweeps are empty.
 */
const VOID_READS = 4;
const FIRST_SETTINGS = activityKey('settings', 1);
const IMPORTS = activityPartition('imports');
const NOTHING = { $metadata: {}, Items: [], Count: 0, ScannedCount: 0 };

function documentsOf(database: MemoryDynamoDb, process: () => Process): DynamoDBDocumentClient {
  const client = database.clientWith((command, apply) =>
    process().call(`dynamodb ${command}`, SERVICE_BEHAVIORS[command] ?? READ, apply),
  );
  const voidReads = new WeakMap<Process, number>();
  const send = (command: object): Promise<unknown> => {
    // Reads of the first settings and of the imports take no time and never fail, so that histories saved before these
    // reads existed still play the same way.
    if (command instanceof GetCommand && isDeepStrictEqual(command.input.Key, FIRST_SETTINGS))
      return database.client.send(command);
    if (command instanceof QueryCommand && command.input.ExpressionAttributeValues?.[':pk'] === IMPORTS)
      return database.client.send(command);
    if (command instanceof QueryCommand && database.isVoid(command.input)) {
      const reader = process();
      const count = (voidReads.get(reader) ?? 0) + 1;
      voidReads.set(reader, count);
      if (count > VOID_READS) return Promise.resolve(NOTHING);
    }
    return client.send(command as QueryCommand);
  };
  return Object.create(client, { send: { value: send } }) as DynamoDBDocumentClient;
}

function instrumentsOf({ simulation, raise, report }: Surroundings, functionName: string): Instruments {
  let named: Readonly<Record<string, unknown>> = {};
  const meter = (dimensions: Readonly<Record<string, string>>) => ({
    addMetric: (metric: string, _unit: unknown, count: number) => {
      const about = named[metric];
      const object = typeof about === 'string' ? { about } : {};
      raise({ metric, atMs: simulation.nowMs, count, dimensions, ...object });
    },
  });
  return {
    logger: () => ({
      // The log line of an alarm names the object. It is written immediately before the alarm's metric.
      info: (_message, ...details) => {
        named = (details[0] ?? {}) as typeof named;
      },
      warn: () => {},
      error: (message, ...extra) => report(functionName, extra[0] ?? message),
    }),
    metrics: (service) => ({
      ...meter({ service }),
      publishStoredMetrics: () => {},
      singleMetric: () => {
        const dimensions: Record<string, string> = { service };
        return {
          ...meter(dimensions),
          addDimension: (name, value) => {
            dimensions[name] = value;
          },
        };
      },
    }),
  };
}

function busClient(
  { simulation, publish, isBusUp, isPoison }: Surroundings,
  process: () => Process,
): EventBridgeClient {
  const send = (command: object): Promise<unknown> => {
    const sender = process();
    if (!(command instanceof PutEventsCommand)) throw new Error(`the bus does not support ${command.constructor.name}`);
    const { Entries = [] } = command.input;
    return sender.call('bus PutEventsCommand', BUS, async () => {
      if (!isBusUp()) throw BUS.throttle();
      const taken = Entries.map(({ DetailType: detailType = '', Detail = '{}' }) => {
        if (isPoison('bus', Detail)) return { ErrorCode: 'MalformedDetail' };
        // The bus can accept some entries of a call and reject the rest.
        if (Entries.length > 1 && simulation.strikes('throttle', `${sender.token()} refused`, 'bus entry')) {
          return { ErrorCode: 'ThrottlingException' };
        }
        publish({ detailType, detail: JSON.parse(Detail), atMs: simulation.nowMs }, sender);
        return { EventId: sender.token() };
      });
      return { Entries: taken };
    });
  };
  return { send } as unknown as EventBridgeClient;
}

function lambdaClient({ start }: Surroundings, process: () => Process): LambdaClient {
  const send = ({ input: { FunctionName = '', Payload = '' } }: InvokeCommand): Promise<unknown> => {
    const sender = process();
    return sender.call('lambda InvokeCommand', SECRETS, async () => {
      start(FunctionName, Payload as string, sender.token());
      return {};
    });
  };
  return { send } as unknown as LambdaClient;
}

const SECRET_TEXTS: Readonly<Record<string, string>> = {
  [Secret.callbacks]: 'simulated-callback-secret',
  [Secret.liveCallbacks]: 'simulated-live-callback-secret',
  [Secret.webhookRoot]: 'simulated-webhook-root-key-0123456789',
  [Secret.emailKeys]: 'simulated-email-key-0123456789',
  [Secret.jobs]: 'simulated-job-credential-0123456789',
  [Secret.sandbox]: 'simulated-sandbox-secret-0123456789',
  [Secret.live]: 'simulated-live-secret-0123456789',
};

export function secretText(id: string): string {
  const text = SECRET_TEXTS[id];
  if (text === undefined) throw new Error(`unknown secret: ${id}`);
  return text;
}

function secretsClient({ isWrong }: Surroundings, process: () => Process): SecretsManagerClient {
  const send = ({ input: { SecretId = '' } }: GetSecretValueCommand): Promise<unknown> =>
    process().call('secrets GetSecretValueCommand', SECRETS, async () => ({
      SecretString: isWrong(SecretId) ? 'of-another-account' : secretText(SecretId),
    }));
  return { send } as unknown as SecretsManagerClient;
}

/** Drops a response that arrives after the caller's timeout. */
function sendFrom({ send, simulation }: Surroundings, process: Process, call: HttpCall): Promise<HttpAnswer> {
  const { party = 'processor', timeoutMs } = call;
  const behavior: ServiceBehavior = {
    throttle: () => new RetryableError(`${party}_unreachable`, `The ${party} cannot be reached.`),
    ambiguous: () => new AmbiguousError(`${party}_timeout`, `The ${party} did not answer in time.`),
    lasts: HTTP_MS,
    timeoutMs,
  };
  const timed: TimedCall = { ...call, askedAtMs: simulation.nowMs, by: process.of };
  return process.call(`http ${call.method} ${new URL(call.url).pathname}`, behavior, () => send(timed));
}
