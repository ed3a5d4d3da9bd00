import { ARCHIVER_WAITS_SECONDS } from '../../../lambdas/archive/contract.ts';
import type { AuthorityPlatform } from '../../../lambdas/authority/postgres-authority.ts';
import { RELAY_MAX_WAIT_SECONDS, REPUBLISH_TIMEOUT_SECONDS } from '../../../lambdas/events/contract.ts';
import { EXPORT_WRITER_TIMEOUT_SECONDS, ExportsEnvironment } from '../../../lambdas/exports/contract.ts';
import {
  IntakeEnvironment,
  type IntakeSettings,
  REQUESTS_SOURCE,
  senderName,
} from '../../../lambdas/intake/contract.ts';
import {
  EXECUTOR_TIMEOUT_SECONDS,
  JOB_WORKER_TIMEOUT_SECONDS,
  JOBS_API_TIMEOUT_SECONDS,
} from '../../../lambdas/jobs/contract/runs.ts';
import {
  Environment,
  PROJECTOR_QUEUE_URL,
  RELAY_PARKING_QUEUE_URL,
} from '../../../lambdas/kernel/contract/environment.ts';
import { CONSUMER_TIMEOUT_SECONDS } from '../../../lambdas/kernel/contract/events.ts';
import {
  CALLBACKS_TIMEOUT_SECONDS,
  PAYMENTS_TIMEOUT_SECONDS,
  REDRIVE_TIMEOUT_MINUTES,
  WEBHOOK_SENDER_TIMEOUT_SECONDS,
} from '../../../lambdas/kernel/contract/timing.ts';
import type { Mode } from '../../../lambdas/kernel/ids.ts';
import type { Buckets, Bus, Functions, Platform } from '../../../lambdas/kernel/platform/system-platform.ts';
import type { Variables } from '../../../lambdas/kernel/platform/variables.ts';
import type { OperationRunner } from '../../../lambdas/once/use/operation-runner.ts';
import { MESSAGE_QUEUES } from '../../../lambdas/operators/contract.ts';
import { PartiesEnvironment } from '../../../lambdas/orders/contract.ts';
import type { PartiesTools } from '../../../lambdas/orders/parties/configured-parties.ts';
import type { ProcessorDescriptor } from '../../../lambdas/processors/descriptor.ts';
import type { AddressRulesOptions, Resolve } from '../../../lambdas/webhooks/transport/addresses.ts';
import type { WebhookTransport } from '../../../lambdas/webhooks/use/webhooks.ts';
import { TABLES } from '../tables.ts';
import { EXPORTS_BUCKET } from './archive-bucket.ts';
import { BOOKS } from './processors.ts';
import { queueArn, queueUrl } from './queues.ts';

export interface WholePlatform
  extends Platform,
    PartiesTools,
    Bus,
    Buckets,
    Functions,
    Pick<AuthorityPlatform, 'openDatabase'> {
  readonly resolve: Resolve;
  readonly webhookTransport: (rules: AddressRulesOptions) => WebhookTransport;
}

export interface SimulatedFunction {
  readonly wire: (
    platform: WholePlatform,
    runner: OperationRunner,
    processors: readonly ProcessorDescriptor[],
  ) => unknown;
  readonly timeoutMs: number;
  /** Queue to which the function moves messages that it cannot read. */
  readonly parking?: string;
}

export const REQUESTS = 'payments';

/** No server listens there. */
export const Address = {
  api: 'https://api.payonce.example',
  sandbox: 'https://sandbox.example',
  second: 'https://second.example',
  live: 'https://live.example',
  parties: 'https://parties.example',
} as const;

export const Secret = {
  callbacks: 'callbacks',
  liveCallbacks: 'live-callbacks',
  webhookRoot: 'webhook-root',
  emailKeys: 'email-keys',
  jobs: 'job-credential',
  sandbox: 'sandbox-access',
  live: 'live-access',
} as const;

export function secretOf(mode: Mode): string {
  return mode === 'live' ? Secret.live : Secret.sandbox;
}

const SHOP = { tenant: 'ten_shop', mode: 'test' } as const;

const INTAKE: IntakeSettings = {
  oldestHours: 24,
  senders: [
    { sender: senderName.bus(REQUESTS_SOURCE, '000000000000'), ...SHOP },
    { sender: senderName.queue('shop'), ...SHOP },
    { sender: senderName.topic(REQUESTS), ...SHOP },
    { sender: senderName.subject(REQUESTS), ...SHOP },
  ],
  queues: [{ arn: queueArn('requests-of-shop'), sender: senderName.queue('shop') }],
};

const REDRIVEN = [
  'views-projector',
  'webhook-fan-out',
  'receipt-consumer',
  'commission-consumer',
  'payment-jobs',
  'upkeep-jobs',
  'webhooks',
] as const;

export const VARIABLES: Readonly<Record<string, string>> = {
  AWS_REGION: 'eu-west-1',
  [Environment.idempotencyTable]: TABLES.idempotency,
  [Environment.ledgerTable]: TABLES.ledger,
  [Environment.registryTable]: TABLES.registry,
  [MESSAGE_QUEUES]: JSON.stringify({
    at: queueUrl('webhooks'),
    tasks: Object.fromEntries(REDRIVEN.map((name) => [name, [name, `${name}-dead`]])),
    received: {},
    kept: {},
    functions: {},
  }),
  [Environment.tenantLimit]: JSON.stringify({ rate: 100, burst: 200 }),
  [Environment.viewsTable]: TABLES.views,
  TEST_SANDBOX_URL: Address.sandbox,
  TEST_SANDBOX_ACCESS_SECRET_ID: Secret.sandbox,
  [Environment.callbackSources]: JSON.stringify(
    Object.values(BOOKS).map(({ processor: { name }, mode }) => ({
      name,
      mode,
      scheme: 'sandbox',
      secretId: mode === 'live' ? Secret.liveCallbacks : Secret.callbacks,
    })),
  ),
  [Environment.eventBus]: 'bus',
  [Environment.archiveBucket]: 'archive',
  [ExportsEnvironment.bucket]: EXPORTS_BUCKET,
  [ExportsEnvironment.writer]: 'export-writer',
  [Environment.lostAfterSeconds]: '180',
  [PROJECTOR_QUEUE_URL]: queueUrl('views-projector'),
  [RELAY_PARKING_QUEUE_URL]: queueUrl('relay-parked'),
  [Environment.parkingQueueUrl]: queueUrl('none'),
  [Environment.webhookTasksQueueUrl]: queueUrl('webhooks'),
  [Environment.webhookLanesQueueUrl]: queueUrl('webhook-lanes'),
  [Environment.webhookRootSecretId]: Secret.webhookRoot,
  [Environment.emailKeysSecretId]: Secret.emailKeys,
  [Environment.webhookLoopback]: 'false',
  [Environment.jobCredentialSecretId]: Secret.jobs,
  [Environment.deploymentSettings]: JSON.stringify({ sandbox: 'true' }),
  [Environment.apiUrl]: Address.api,
  [Environment.paymentJobsQueueUrl]: queueUrl('payment-jobs'),
  [Environment.upkeepJobsQueueUrl]: queueUrl('upkeep-jobs'),
  [Environment.listedJobs]: '[]',
  [IntakeEnvironment.settings]: JSON.stringify(INTAKE),
  [IntakeEnvironment.queueUrl]: queueUrl('payment-requests'),
  [PartiesEnvironment.sandboxSecretId]: Secret.sandbox,
  [PartiesEnvironment.shopUrl]: Address.parties,
  [PartiesEnvironment.postmarkUrl]: Address.parties,
  [PartiesEnvironment.postmarkLagSeconds]: '60',
  [PartiesEnvironment.emailSender]: 'shop@payonce.example',
  [PartiesEnvironment.emailsPerRecipient]: '999',
  [PartiesEnvironment.deadLettersQueueUrl]: queueUrl('letters'),
  [PartiesEnvironment.delayedCallsQueueUrl]: queueUrl('delayed-calls'),
};

/** On load, the modules read environment variables that only their real handlers need. */
async function load() {
  const before: Variables = { ...process.env };
  Object.assign(process.env, VARIABLES, { AWS_LAMBDA_FUNCTION_NAME: 'one' });
  try {
    return {
      archiver: await import('../../../lambdas/functions/archiver.ts'),
      callbacks: await import('../../../lambdas/functions/callbacks.ts'),
      'commission-consumer': await import('../../../lambdas/functions/commission-consumer.ts'),
      'cron-executor': await import('../../../lambdas/functions/cron-executor.ts'),
      'dead-letters': await import('../../../lambdas/functions/dead-letters.ts'),
      'export-writer': await import('../../../lambdas/functions/export-writer.ts'),
      exports: await import('../../../lambdas/functions/exports.ts'),
      jobs: await import('../../../lambdas/functions/jobs.ts'),
      ledger: await import('../../../lambdas/functions/ledger.ts'),
      orders: await import('../../../lambdas/functions/orders.ts'),
      'outbox-relay': await import('../../../lambdas/functions/outbox-relay.ts'),
      'payment-jobs': await import('../../../lambdas/functions/payment-jobs.ts'),
      'payment-requests': await import('../../../lambdas/functions/payment-requests.ts'),
      payments: await import('../../../lambdas/functions/payments.ts'),
      reads: await loadReads(),
      'receipt-consumer': await import('../../../lambdas/functions/receipt-consumer.ts'),
      'republish-range': await import('../../../lambdas/functions/republish-range.ts'),
      'upkeep-jobs': await import('../../../lambdas/functions/upkeep-jobs.ts'),
      'views-projector': await import('../../../lambdas/functions/views-projector.ts'),
      'webhook-fan-out': await import('../../../lambdas/functions/webhook-fan-out.ts'),
      'webhook-sender': await import('../../../lambdas/functions/webhook-sender.ts'),
      webhooks: await import('../../../lambdas/functions/webhooks.ts'),
    };
  } finally {
    process.env = before;
  }
}

/** The reads function runs no operations, so its `wire` takes no runner. */
async function loadReads(): Promise<Pick<SimulatedFunction, 'wire'>> {
  const { wire } = await import('../../../lambdas/functions/reads.ts');
  return { wire: (platform, _runner, processors) => wire(platform, processors) };
}

const modules = await load();

const SECONDS = 1_000;
const RELAY_TIMEOUT_SECONDS = RELAY_MAX_WAIT_SECONDS + 60;

export type FunctionName = keyof typeof modules;

const answering = (name: FunctionName, seconds: number = PAYMENTS_TIMEOUT_SECONDS): SimulatedFunction => ({
  wire: modules[name].wire,
  timeoutMs: seconds * SECONDS,
});
const consumer = (name: FunctionName): SimulatedFunction => ({
  wire: modules[name].wire,
  timeoutMs: CONSUMER_TIMEOUT_SECONDS * SECONDS,
  parking: `${name}-dead`,
});
const worker = (name: FunctionName): SimulatedFunction => ({
  wire: modules[name].wire,
  timeoutMs: JOB_WORKER_TIMEOUT_SECONDS * SECONDS,
  parking: `${name}-dead`,
});

/** Consumers of the bus. `RULES` (account.ts) lists the events of each consumer. */
const CONSUMERS = {
  'views-projector': consumer('views-projector'),
  'webhook-fan-out': consumer('webhook-fan-out'),
  'receipt-consumer': consumer('receipt-consumer'),
  'commission-consumer': consumer('commission-consumer'),
} as const satisfies Partial<Record<FunctionName, SimulatedFunction>>;

export type ConsumerName = keyof typeof CONSUMERS;

export const FUNCTIONS: Readonly<Record<FunctionName, SimulatedFunction>> = {
  payments: answering('payments'),
  reads: answering('reads'),
  orders: answering('orders'),
  ledger: answering('ledger'),
  exports: answering('exports'),
  'export-writer': answering('export-writer', EXPORT_WRITER_TIMEOUT_SECONDS),
  webhooks: answering('webhooks'),
  jobs: answering('jobs', JOBS_API_TIMEOUT_SECONDS),
  callbacks: answering('callbacks', CALLBACKS_TIMEOUT_SECONDS),
  'cron-executor': answering('cron-executor', EXECUTOR_TIMEOUT_SECONDS),
  'dead-letters': answering('dead-letters', REDRIVE_TIMEOUT_MINUTES * 60),
  'republish-range': { ...answering('republish-range', REPUBLISH_TIMEOUT_SECONDS), parking: 'relay-parked' },
  'webhook-sender': {
    ...answering('webhook-sender', WEBHOOK_SENDER_TIMEOUT_SECONDS),
    parking: 'webhooks-dead',
  },
  'payment-requests': { ...answering('payment-requests'), parking: 'payment-requests-parked' },
  'outbox-relay': { ...answering('outbox-relay', RELAY_TIMEOUT_SECONDS), parking: 'relay-parked' },
  archiver: { ...answering('archiver', ARCHIVER_WAITS_SECONDS + 60), parking: 'archive-parked' },
  ...CONSUMERS,
  'payment-jobs': worker('payment-jobs'),
  'upkeep-jobs': worker('upkeep-jobs'),
};
