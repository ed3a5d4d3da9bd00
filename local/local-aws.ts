import { CloudFormationClient, DescribeStacksCommand } from '@aws-sdk/client-cloudformation';
import { DescribeTimeToLiveCommand, DynamoDBClient, UpdateTimeToLiveCommand } from '@aws-sdk/client-dynamodb';
import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { ListQueuesCommand, SetQueueAttributesCommand, SQSClient } from '@aws-sdk/client-sqs';
import { PutParameterCommand, SSMClient } from '@aws-sdk/client-ssm';
import type { Authority } from '../lambdas/authority/contract.ts';
import {
  ALL_SCOPES,
  callbackAddressParameter,
  type StackName,
  StackOutput,
  stackNameOf,
} from '../lambdas/kernel/contract/api.ts';
import { IdempotencyTable } from '../lambdas/kernel/contract/tables.ts';
import { tenantId as asTenant } from '../lambdas/kernel/ids.ts';
import { ActiveSecrets } from '../lambdas/kernel/platform/active-secrets.ts';
import { documentClient } from '../lambdas/kernel/platform/document-client.ts';
import { systemClock } from '../lambdas/kernel/platform/platform.ts';
import { callbackPath } from '../lambdas/processors/contract.ts';
import { sandboxContract } from '../lambdas/processors/sandbox/contract.ts';
import { isRevokedOrExpired } from '../lambdas/tenants/api-key-registry.ts';
import { hashOfApiKey, TenantAdministration } from '../lambdas/tenants/store/tenant-administration.ts';
import {
  bootstrap,
  type CdkApp,
  deploy,
  LOCAL_TENANT,
  localDatabases,
  payonceWith,
  projectContext,
  type StackOutputs,
} from './cdk.ts';
import { type Emulator, startEmulator } from './emulator.ts';
import { accessTo, type EmulatorAccess, REGION } from './emulator-environment.ts';
import { StartFailure } from './failure.ts';
import type { RunningLab } from './lab.ts';
import { type LocalPostgres, type RunningPostgres, shareDatabase, startPostgres } from './postgres.ts';
import { ensurePython } from './python-environment.ts';
import { SavedState } from './saved-state.ts';
import { sentenceOf } from './sentence.mjs';
import { Snapshots } from './snapshots.ts';

export interface LocalAwsOptions {
  /** Each directory has at most one local AWS. */
  readonly directory: string;
  /** The preferred port; another port is used if this one is taken. */
  readonly port: number;
  readonly persist: boolean;
  /** With `postgres`, a PostgreSQL server starts and stops with the local AWS. The default is `dynamodb`. */
  readonly authority?: Authority;
  /** Must be configured for this authority. @default Payonce, synthesized for the local AWS */
  readonly app?: CdkApp;
  /** Reused if they are still valid. */
  readonly keys?: LocalKeys;
  /** If true, deploys even if the same sources are already deployed. */
  readonly redeploy?: boolean;
  /** Snapshots of earlier deployments. @default the snapshots of this project */
  readonly snapshots?: Snapshots;
  readonly report: (step: string, detail?: string) => void;
}

export interface LocalKeys {
  readonly tenantId: string;
  /** Has all scopes, in test mode. */
  readonly apiKey: string;
  readonly operatorKey: string;
}

/** Not the default port, on which a developer's own server may run. */
const POSTGRES_PORT = 15_432;

export interface LocalAws extends LocalKeys, EmulatorAccess {
  readonly region: string;
  /** Without a trailing slash. */
  readonly apiUrl: string;
  readonly sandboxUrl: string;
  /** The secret that every caller of the sandbox except the payer must send. */
  readonly sandboxSecret: string;
  readonly tables: {
    readonly idempotency: string;
    readonly ledger: string;
    readonly registry: string;
    readonly views: string;
  };
  readonly paymentsFunction: string;
  readonly callbacksFunction: string;
  readonly paymentJobsFunction: string;
  readonly ordersFunction: string;
  readonly keeperPid: number;
  readonly postgres?: LocalPostgres | undefined;
  /** Only set by `npm start`. */
  readonly lab?: RunningLab | undefined;
}

export function authorityOf({ postgres }: Pick<LocalAws, 'postgres'>): Authority {
  return postgres === undefined ? 'dynamodb' : 'postgres';
}

export interface RunningLocalAws {
  readonly aws: LocalAws;
  readonly emulator: Emulator;
}

/**
 * Stops everything on failure. Without `redeploy`, does not deploy if an earlier run or a snapshot has stacks that were
 * deployed from the same sources.
 *
 * @throws StartFailure with the action to take
 */
export async function startLocalAws(options: LocalAwsOptions): Promise<RunningLocalAws> {
  const { report, snapshots = new Snapshots(), redeploy = false } = options;
  report('Python environment');
  const python = await ensurePython();
  const state = new SavedState({ ...options, snapshots, redeploy });
  try {
    return await begin(options, python, state);
  } catch (error) {
    if (state.origin !== 'snapshot') throw error;
    report('Snapshot', `not usable, deploying instead: ${sentenceOf(error)}`);
    state.discardSnapshot();
    return begin(options, python, new SavedState({ ...options, snapshots, redeploy: true }));
  }
}

async function begin(options: LocalAwsOptions, python: string, state: SavedState): Promise<RunningLocalAws> {
  if (options.authority !== 'postgres') return beginWith(options, python, state);
  options.report('PostgreSQL');
  const postgres = await startPostgres({
    ...options,
    port: POSTGRES_PORT,
    databases: localDatabases(projectContext()),
  });
  try {
    const { aws, emulator } = await beginWith(options, python, state, postgres);
    const { url, keeperPid } = postgres;
    return { aws: { ...aws, postgres: { url, keeperPid } }, emulator: together(emulator, postgres) };
  } catch (error) {
    await postgres.stop();
    throw error;
  }
}

function together(emulator: Emulator, postgres: RunningPostgres): Emulator {
  return {
    ...emulator,
    ended: AbortSignal.any([emulator.ended, postgres.ended]),
    detach: () => {
      emulator.detach();
      postgres.detach();
    },
    stop: async () => {
      // Stop the functions first, so that none of them loses its database.
      await emulator.stop();
      await postgres.stop();
    },
  };
}

async function beginWith(
  options: LocalAwsOptions,
  python: string,
  state: SavedState,
  postgres?: RunningPostgres,
): Promise<RunningLocalAws> {
  const { directory, persist, report } = options;
  report('Local AWS');
  const emulator = await startEmulator({ python, port: options.port, directory, state: state.directory, persist });
  const { port } = new URL(emulator.access.awsEndpoint);
  report(
    'Local AWS',
    port === String(options.port) ? `port ${port}` : `port ${port}, because ${options.port} is taken`,
  );
  try {
    if (postgres !== undefined) await shareDatabase(postgres, emulator.access);
    const aws = (await reuse(options, emulator, state)) ?? (await deployAndConnect(options, emulator, state));
    return { aws: { ...aws, keeperPid: emulator.keeperPid }, emulator };
  } catch (error) {
    await emulator.stop();
    throw error;
  }
}

type Connected = Omit<LocalAws, 'keeperPid'>;

/**
 * @returns undefined when the stacks must be deployed
 * @throws Error when the state is from a snapshot and the stacks do not work
 */
async function reuse(
  { keys, report }: LocalAwsOptions,
  { access }: Emulator,
  state: SavedState,
): Promise<Connected | undefined> {
  try {
    const outputs = await state.currentOutputs(access);
    if (outputs === undefined && state.origin === 'snapshot')
      throw new StartFailure('A stack is missing or has changed.');
    if (outputs === undefined) return undefined;
    report(
      'Stacks',
      state.origin === 'snapshot' ? 'from the snapshot of an earlier deployment' : 'unchanged, not deployed',
    );
    report('Tenant and API keys');
    const aws = await connect(access, outputs, keys === undefined ? {} : { keys });
    await expectAnswers(aws);
    return aws;
  } catch (error) {
    if (state.origin === 'snapshot') throw error;
    report('Stacks', `not usable, deploying again: ${sentenceOf(error)}`);
    return undefined;
  }
}

/** Each path is served by its own function. */
async function expectAnswers({ apiUrl, apiKey }: Connected): Promise<void> {
  const read = async (path: string): Promise<void> => {
    const answer = await fetch(`${apiUrl}${path}`, { headers: { authorization: `Bearer ${apiKey}` } });
    await answer.body?.cancel();
    if (!answer.ok) throw new StartFailure(`The API returned HTTP ${answer.status} for ${path}.`);
  };
  await Promise.all([read('/v1/payments?limit=1'), read('/v1/openapi.json')]);
}

async function deployAndConnect(
  { authority, app = payonceWith(projectContext(), authority ?? 'dynamodb'), directory, keys, report }: LocalAwsOptions,
  emulator: Emulator,
  state: SavedState,
): Promise<Connected> {
  const { access } = emulator;
  const run = { access, directory, report: (line: string) => report('', line) };
  state.beginDeploy();
  if (!(await isBootstrapped(access))) {
    report('Bootstrap');
    await bootstrap(run, app);
  }
  report('Deploy the stacks');
  const outputs = await deploy(run, app);
  // If the state cannot be saved, the next start deploys again.
  await state.endDeploy(emulator).catch((error: unknown) => report('', sentenceOf(error)));
  report('Tenant and API keys');
  return connect(access, outputs, keys === undefined ? {} : { keys });
}

async function isBootstrapped(access: EmulatorAccess): Promise<boolean> {
  const client = new CloudFormationClient(accessTo(access));
  try {
    await client.send(new DescribeStacksCommand({ StackName: 'CDKToolkit' }));
    return true;
  } catch {
    return false;
  }
}

/** Reuses the given keys that are still valid. */
export async function connect(
  access: EmulatorAccess,
  outputs: StackOutputs,
  { keys, environment }: { readonly keys?: LocalKeys; readonly environment?: string },
): Promise<Connected> {
  const read = (stack: keyof typeof StackName, output: keyof typeof StackOutput): string => {
    const name = stackNameOf(stack, environment);
    const value = outputs[name]?.[StackOutput[output]];
    if (value === undefined) throw new StartFailure(`The stack ${name} has no output ${StackOutput[output]}`);
    return value;
  };
  const tables = {
    idempotency: read('data', 'idempotencyTable'),
    ledger: read('data', 'ledgerTable'),
    registry: read('data', 'registryTable'),
    views: read('data', 'viewsTable'),
  };
  for (const table of [tables.idempotency, tables.registry]) await enableTimeToLive(access, table);
  await openQueuesToPlainHttp(access);
  const apiUrl = reachable(access.awsEndpoint, read('service', 'apiUrl'));
  const sandboxUrl = reachable(access.awsEndpoint, read('sandbox', 'sandboxUrl'));
  await pointCallbacksTo(access, `${apiUrl}${callbackPath(sandboxContract, 'test')}`, environment);
  return {
    ...access,
    region: REGION,
    apiUrl,
    sandboxUrl,
    sandboxSecret: await firstValueOf(access, read('sandbox', 'sandboxSecret')),
    tables,
    paymentsFunction: read('service', 'paymentsFunction'),
    callbacksFunction: read('service', 'callbacksFunction'),
    paymentJobsFunction: read('service', 'paymentJobsFunction'),
    ordersFunction: read('service', 'ordersFunction'),
    ...(await tenantWithKeys(access, tables, keys)),
  };
}

/**
 * The emulator serves `https://<api>.execute-api.<region>.amazonaws.com/<stage>` under its own path, over plain HTTP.
 */
export function reachable(endpoint: string, url: string): string {
  const [api = ''] = new URL(url).hostname.split('.');
  return `${endpoint}/restapis/${api}${new URL(url).pathname}/_user_request_`;
}

async function firstValueOf(access: EmulatorAccess, secretId: string): Promise<string> {
  const client = new SecretsManagerClient(accessTo(access));
  const [first] = await new ActiveSecrets(client, systemClock).active(secretId);
  if (first === undefined) throw new StartFailure(`The secret ${secretId} has no value.`);
  return first;
}

async function pointCallbacksTo(
  access: EmulatorAccess,
  address: string,
  environment: string | undefined,
): Promise<void> {
  const client = new SSMClient(accessTo(access));
  await client.send(
    new PutParameterCommand({
      Name: callbackAddressParameter(environment),
      Value: address,
      Type: 'String',
      Overwrite: true,
    }),
  );
}

/** With an empty queue policy, only the policies of roles apply. */
const NO_POLICY = JSON.stringify({ Version: '2012-10-17', Statement: [] });

/** The queue policies deny requests without TLS, but the emulator does not support TLS. */
export async function openQueuesToPlainHttp(access: EmulatorAccess): Promise<void> {
  const client = new SQSClient(accessTo(access));
  // The policy would deny even the request that removes it. With this header, the emulator assumes that a proxy in
  // front of it terminated TLS.
  client.middlewareStack.add(
    (next) => (call) => {
      (call.request as { headers: Record<string, string> }).headers['x-forwarded-proto'] = 'https';
      return next(call);
    },
    { step: 'build' },
  );
  const { QueueUrls = [] } = await client.send(new ListQueuesCommand({}));
  for (const QueueUrl of QueueUrls) {
    await client.send(new SetQueueAttributesCommand({ QueueUrl, Attributes: { Policy: NO_POLICY } }));
  }
}

/** The emulator's CloudFormation ignores this setting of the template. */
async function enableTimeToLive(access: EmulatorAccess, table: string): Promise<void> {
  const client = new DynamoDBClient(accessTo(access));
  const { TimeToLiveDescription } = await client.send(new DescribeTimeToLiveCommand({ TableName: table }));
  if (TimeToLiveDescription?.TimeToLiveStatus === 'ENABLED') return;
  await client.send(
    new UpdateTimeToLiveCommand({
      TableName: table,
      TimeToLiveSpecification: { AttributeName: IdempotencyTable.timeToLiveAttribute, Enabled: true },
    }),
  );
}

/**
 * A key of an earlier run is invalid if the tables were emptied, or if the key was rolled or revoked, or has expired.
 */
export async function tenantWithKeys(
  access: EmulatorAccess,
  tables: LocalAws['tables'],
  known: LocalKeys | undefined,
): Promise<LocalKeys> {
  const client = new DynamoDBClient(accessTo(access));
  const administration = new TenantAdministration(documentClient(client), tables, 'npm start');
  const id = asTenant(LOCAL_TENANT);
  const stored = [...(await administration.listApiKeys(id)), ...(await administration.listOperatorKeys())];
  const nowMs = systemClock.nowMs();
  // A rolled key expires soon.
  const valid = stored.filter((key) => key.rolledTo === undefined && !isRevokedOrExpired(key, nowMs));
  const isValid = (key = ''): key is string => valid.some(({ keyHash }) => keyHash === hashOfApiKey(key));
  await administration.createTenant('Local', { id });
  return {
    tenantId: id,
    apiKey: isValid(known?.apiKey)
      ? known.apiKey
      : await administration.createApiKey({ name: 'Shop', tenantId: id, mode: 'test', scopes: ALL_SCOPES }),
    operatorKey: isValid(known?.operatorKey)
      ? known.operatorKey
      : await administration.createOperatorKey({ operator: 'Local Owner', role: 'owner' }),
  };
}
