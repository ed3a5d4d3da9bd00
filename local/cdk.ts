import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Authority, databasesOf, isShard, type ShardSettings, storesOf } from '../lambdas/authority/contract.ts';
import { deployKey } from './deploy-key.ts';
import { BINARIES, makeDirectory, PROJECT } from './directories.ts';
import {
  ACCOUNT,
  type EmulatorAccess,
  emulatorEnvironment,
  isolatedEnvironment,
  REGION,
} from './emulator-environment.ts';
import { RefusedSetting, StartFailure } from './failure.ts';
import { runKept } from './kept-process.ts';
import { CA_FILE, DATABASE, SECRET, SERVER_HOST } from './postgres-files.ts';

/** `cdk bootstrap` creates this bucket with the default qualifier. */
export const ASSETS_BUCKET = `cdk-hnb659fds-assets-${ACCOUNT}-${REGION}`;

/** After a failure, this file in the run's directory contains the CLI's output. */
const LOG = 'cdk.log';

/** Contains the deployment key of the assembly's sources (deploy-key.ts). */
const ASSEMBLY_KEY = 'payonce-deploy.key';

export interface CdkRun {
  readonly access: EmulatorAccess;
  readonly directory: string;
  readonly report: (line: string) => void;
}

export interface CdkApp {
  /** @default the program of `cdk.json` */
  readonly command?: string;
  /** Empty for an assembly. */
  readonly context: Readonly<Record<string, string>>;
}

/** Settings contain this id before the tenant exists. */
export const LOCAL_TENANT = 'ten_local';

const JOB_TARGETS = 'payonce:jobTargets';

export const PAYONCE: CdkApp = {
  context: {
    'payonce:sandbox': 'true',
    // The emulator's CloudFormation does not support event archives.
    'payonce:eventArchive': 'false',
    // The batching window is zero, so payments are archived immediately.
    'payonce:archive': 'true',
    'payonce:archiveBatchSeconds': '0',
    // Locally, the relay and the projector take a tenth of a second per event, so this short period suffices. A
    // developer who stops one of them soon sees that events count as lost.
    'payonce:eventsLostAfterSeconds': '20',
    // Above this amount, operators' changes need an approval. The examples use smaller amounts.
    'payonce:approvalAbove': '{"*":5000000}',
    // There is no Kafka cluster with this ARN; tests invoke the function with batches.
    'payonce:paymentRequests': JSON.stringify({
      senders: [
        { tenant: LOCAL_TENANT, mode: 'test' },
        { topic: 'payments', tenant: LOCAL_TENANT, mode: 'test' },
        { subject: 'payments.local', tenant: LOCAL_TENANT, mode: 'test' },
      ],
      kafka: { cluster: 'arn:aws:kafka:us-east-1:000000000000:cluster/local/1' },
    }),
    // The example of docs/guides/services.md, at its port. While the example is not running, its daily run is reported
    // as missed.
    [JOB_TARGETS]: JSON.stringify({
      membership: {
        url: 'http://127.0.0.1:8787',
        jobs: [
          {
            id: 'release-commission-locks',
            why: 'Releases commission locks that are due.',
            schedule: 'cron(20 3 * * ? *)',
            every: 86_400,
            path: '/v1/admin/commission-locks/release-expired',
            scopes: ['membership:admin'],
          },
        ],
      },
    }),
    // The webhook receivers and the job target run on this machine, at loopback addresses.
    'payonce:allowLoopbackWebhooks': 'true',
  },
};

const AUTHORITY = 'payonce:authority';
const PORT = 'payonce:postgresPort';
const SHARDS = 'payonce:postgresShards';

/** Sets no port, because the secret contains the port of the server. */
const POSTGRES_CONTEXT: CdkApp['context'] = {
  [AUTHORITY]: 'postgres',
  'payonce:postgresHost': SERVER_HOST,
  'payonce:postgresDatabase': DATABASE,
  // In the emulator, the ARN of each secret that is created through the API ends in these characters
  // (generated_secrets.py).
  'payonce:postgresSecretArn': `arn:aws:secretsmanager:${REGION}:${ACCOUNT}:secret:${SECRET}-local0`,
  'payonce:postgresCaFile': CA_FILE,
  // The emulator accepts the VPC settings of a function but ignores them.
  'payonce:postgresSubnets': '["subnet-00000000"]',
  'payonce:postgresSecurityGroups': '["sg-00000000"]',
};

type Context = Readonly<Record<string, unknown>>;

export function projectContext(project: string = PROJECT): Context {
  const { context = {} } = JSON.parse(readFileSync(join(project, 'cdk.json'), 'utf8')) as {
    readonly context?: Context;
  };
  return context;
}

/**
 * A job target of the project's context replaces a local target of the same name. Shards of the project's context
 * become databases of the local server.
 *
 * @throws StartFailure when the project's context has a setting that the local AWS cannot replace
 */
export function payonceWith(context: Context, authority: Authority = authorityOf(context)): CdkApp {
  const { [JOB_TARGETS]: given = {} } = context;
  const targets = targetsIn(given);
  // Passes an unreadable value on to the synthesis, which refuses it with an error.
  const merged = targets === undefined ? given : { ...targetsIn(PAYONCE.context[JOB_TARGETS]), ...targets };
  return { context: { ...PAYONCE.context, ...contextFor(authority, context), [JOB_TARGETS]: textOf(merged) } };
}

/** Aurora DSQL does not exist locally; PostgreSQL replaces it. */
export function authorityOf({ [AUTHORITY]: given }: Context): Authority {
  return storesOf(given);
}

function contextFor(
  authority: Authority,
  { [AUTHORITY]: given, [PORT]: port, [SHARDS]: shards }: Context,
): CdkApp['context'] {
  if (authority === 'dynamodb') return given === undefined ? {} : { [AUTHORITY]: authority };
  if (port === undefined)
    return {
      ...POSTGRES_CONTEXT,
      // Passes an unreadable value on to the synthesis, which refuses it with an error.
      ...(shards === undefined ? {} : { [SHARDS]: textOf(localShards(shards) ?? shards) }),
    };
  throw new StartFailure(
    `cdk.json sets ${PORT}, which the local stack cannot override: store the port in the secret instead.`,
  );
}

export function localDatabases({ [SHARDS]: given }: Context): readonly string[] {
  const shards = localShards(given) ?? [];
  return databasesOf({ database: DATABASE, shards }).flatMap(({ settings }) => settings.database ?? []);
}

/** Undefined for an unreadable value. */
function localShards(given: unknown): readonly ShardSettings[] | undefined {
  const list = parsed(given);
  if (!Array.isArray(list) || !list.every(isShard)) return undefined;
  return list.map(({ secretId: _secret, host: _host, port: _port, ...own }) => ({
    ...own,
    database: `${DATABASE}_${own.name}${own.count === undefined ? '' : '#'}`,
  }));
}

export function settingsWithoutEffect(context: Context, authority: Authority): readonly string[] {
  return Object.entries(payonceWith(context, authority).context).flatMap(([name, value]) => {
    const given = context[name];
    return [JOB_TARGETS, SHARDS].includes(name) || given === undefined || textOf(given) === value ? [] : [name];
  });
}

function targetsIn(given: unknown): object | undefined {
  const value = parsed(given);
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined;
}

/** Returns any value that is not a text unchanged; undefined for invalid JSON. */
function parsed(given: unknown): unknown {
  try {
    return typeof given === 'string' ? JSON.parse(given) : given;
  } catch {
    return undefined;
  }
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

export type StackOutputs = Readonly<Record<string, Readonly<Record<string, string>>>>;

export async function bootstrap(run: CdkRun, app: CdkApp): Promise<void> {
  await cdk(run, bootstrapParameters(app, run.directory), emulatorEnvironment(run.access));
}

/** The CLI also runs the app, so it needs the context of the deployment. */
export function bootstrapParameters(app: CdkApp, directory: string): readonly string[] {
  return ['bootstrap', `aws://${ACCOUNT}/${REGION}`, ...appOf(app), '--output', join(directory, 'bootstrap')];
}

/**
 * Includes the functions' code, so several runs of the local AWS can share the assembly.
 *
 * @param withRules whether to also apply the CDK's own rules, fail on warnings, and print every finding to standard
 * error; by default only the rule packs apply, and their violations fail any synthesis
 * @throws StartFailure when the synthesis fails; with `withRules`, it names the constructs and the violated rules
 */
export async function synthesizeForLocalAws(
  assembly: string,
  { authority = 'dynamodb', withRules = false }: { readonly authority?: Authority; readonly withRules?: boolean } = {},
): Promise<CdkApp> {
  const lines: string[] = [];
  const run = { directory: assembly, report: (line: string) => void lines.push(line) };
  const parameters = ['synth', '--quiet', ...contextOf(payonceWith(projectContext(), authority)), '--output', assembly];
  const key = deployKey();
  if (withRules) {
    await cdk(run, [...parameters, '--strict'], { ...isolatedEnvironment(), CDK_VALIDATION: 'true' }).catch(
      (error: unknown) => {
        console.error(lines.join('\n'));
        const violations = violationsIn(lines);
        throw violations.length === 0 ? error : new StartFailure(`the stacks violate rules: ${violations.join('; ')}`);
      },
    );
  } else {
    await cdk(run, parameters, isolatedEnvironment());
  }
  // If the sources changed during the synthesis, the key is not written.
  if (key !== undefined && deployKey() === key) writeFileSync(join(assembly, ASSEMBLY_KEY), key);
  return { command: assembly, context: {} };
}

/** The CLI prints the construct on the line after the rule. */
function violationsIn(lines: readonly string[]): readonly string[] {
  return lines.flatMap((line, index) => {
    const [, rule] = /^(?:ERROR|WARNING) (.+)/.exec(line) ?? [];
    const [, construct = 'unknown construct'] = /^ +(\S+)/.exec(lines[index + 1] ?? '') ?? [];
    return rule === undefined ? [] : [`${construct}: ${rule}`];
  });
}

/** Undefined for a program, or when the key is not known. */
export function keyOfAssembly({ command = '' }: CdkApp): string | undefined {
  const file = join(command, ASSEMBLY_KEY);
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined;
}

const contextOf = ({ context }: CdkApp): readonly string[] =>
  Object.entries(context).flatMap(([name, value]) => ['--context', `${name}=${value}`]);

const appOf = (app: CdkApp): readonly string[] => [
  ...(app.command === undefined ? [] : ['--app', app.command]),
  ...contextOf(app),
];

/** Returns the outputs by stack name and output name. */
export async function deploy(run: CdkRun, app: CdkApp): Promise<StackOutputs> {
  const outputs = join(run.directory, 'outputs.json');
  const assembly = join(run.directory, 'cdk.out');
  makeDirectory(run.directory);
  await cdk(
    run,
    [
      'deploy',
      '--all',
      '--require-approval',
      'never',
      ...appOf(app),
      '--progress',
      'events',
      '--output',
      assembly,
      '--outputs-file',
      outputs,
    ],
    emulatorEnvironment(run.access),
  );
  return JSON.parse(readFileSync(outputs, 'utf8')) as StackOutputs;
}

async function cdk(run: Omit<CdkRun, 'access'>, parameters: readonly string[], own: NodeJS.ProcessEnv): Promise<void> {
  const environment = {
    // The CDK's own rules for templates take more than half of a synthesis, so they apply only on request.
    CDK_VALIDATION: 'false',
    ...own,
    // Makes the CDK work offline: no version check and no telemetry.
    CDK_DISABLE_VERSION_CHECK: 'true',
    CDK_DISABLE_CLI_TELEMETRY: 'true',
    // Makes the CDK ignore the user's `.cdk.json`.
    HOME: run.directory,
  };
  const command = [join(BINARIES, 'cdk'), ...parameters, '--no-notices'];
  const { code, lines } = await runKept({ command, environment, directory: PROJECT }, run.report);
  if (code === 0) return;
  const log = join(run.directory, LOG);
  makeDirectory(run.directory);
  writeFileSync(log, `${lines.join('\n')}\n`);
  throw cdkFailure(parameters[0] ?? '', lines, log);
}

/**
 * If Payonce refused a setting, the failure contains the sentence that Payonce printed; otherwise, the CLI's last line
 * about the failure.
 */
export function cdkFailure(command: string, lines: readonly string[], log: string): StartFailure {
  const ended = lines.findIndex((line) => line.endsWith('Subprocess exited with error 1'));
  const sentence = lines.slice(0, Math.max(ended, 0)).findLast((line) => line.includes('payonce:'));
  if (sentence !== undefined) return new RefusedSetting(`${sentence.trim()} (full output: ${log})`);
  const errorLine =
    lines.findLast((line) => /❌|error|fail|must be/i.test(line)) ?? lines.at(-1) ?? 'it printed nothing';
  return new StartFailure(`cdk ${command} failed: ${errorLine.trim()} (full output: ${log})`);
}
