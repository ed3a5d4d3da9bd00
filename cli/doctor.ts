import { CloudFormationClient, paginateListStackResources } from '@aws-sdk/client-cloudformation';
import {
  GetSecretValueCommand,
  ResourceNotFoundException,
  SecretsManagerClient,
} from '@aws-sdk/client-secrets-manager';
import { type Command, InvalidArgumentError } from 'commander';
import { DynamoDbActivity } from '../lambdas/activity/store/dynamodb-activity.ts';
import { storesOf } from '../lambdas/authority/contract.ts';
import { type AuthorityState, readAuthorityState } from '../lambdas/authority/store/authority-state.ts';
import { KnownDatabase } from '../lambdas/authority/store/known-database.ts';
import { stackNameOf } from '../lambdas/kernel/contract/api.ts';
import { defined } from '../lambdas/kernel/defined.ts';
import { isRevokedOrExpired } from '../lambdas/tenants/api-key-registry.ts';
import type { ApiKeySummary, OperatorKeySummary } from '../lambdas/tenants/keys.ts';
import { TenantAdministration } from '../lambdas/tenants/store/tenant-administration.ts';
import type * as Synthesized from '../lib/synthesized.ts';
import { type AccountCheck, examineAccount, examineQuotas, hasResources, readAccount } from './account.ts';
import { settingOf } from './cost.ts';
import { databasesOfSettings } from './database.ts';
import { problemsOfDatabase } from './db.ts';
import { type AwsTarget, openTables, stackOutputs } from './deployment.ts';
import { CliFailure, ExitCode } from './failure.ts';
import { TENANT } from './operator-api.ts';
import { examinePeakRates, type RecordedRates } from './peak-rates.ts';
import { runProbes } from './probes.ts';
import { type Session, table } from './session.ts';

const MAX_CHANGES = 100;

export interface Examined {
  /** The activity log records them. */
  readonly settings: Readonly<Record<string, string>>;
  /** The authority that has the payments. @default the authority in `settings` */
  readonly authority?: AuthorityState | undefined;
  /** API keys of all tenants, and operator keys, which have no mode. */
  readonly keys: readonly (Pick<ApiKeySummary, 'id' | 'revokedAtMs' | 'expiresAtMs'> &
    Partial<Pick<ApiKeySummary, 'mode'>>)[];
  readonly secrets: readonly { readonly name: string; readonly text: string }[];
  readonly nowMs: number;
}

export interface Finding {
  readonly check:
    | AccountCheck
    | 'live_without_archive'
    | 'sandbox_with_live_keys'
    | 'empty_secret'
    | 'key_without_expiry'
    | 'authority'
    | 'database'
    | 'peak_rates';
  /** Name or id of the affected object, for example of a secret, a key, a setting or a stack. */
  readonly about: string;
  readonly detail: string;
}

export function examine({ settings, authority, keys, secrets, nowMs }: Examined): readonly Finding[] {
  const valid = keys.filter((key) => !isRevokedOrExpired(key, nowMs));
  const live = settings['sandbox'] === 'true' ? valid.filter(({ mode }) => mode === 'live') : [];
  return [
    ...examineSettings(settings),
    ...examineAuthority(authority, settings),
    ...live.map(({ id }) => ({
      check: 'sandbox_with_live_keys' as const,
      about: id,
      detail: 'The sandbox is deployed although a live key exists. Deploy production without payonce:sandbox.',
    })),
    ...secrets
      .filter(({ text }) => /^\s*(?:\{\s*\}|"")?\s*$/.test(text))
      .map(({ name }) => ({
        check: 'empty_secret' as const,
        about: name,
        detail: 'The secret is empty. Set it to the value that its issuer gave you.',
      })),
    ...valid
      .filter(({ expiresAtMs }) => expiresAtMs === undefined)
      .map(({ id, mode }) => ({
        check: 'key_without_expiry' as const,
        about: id,
        detail: `The key does not expire. Create a key with \`payonce ${mode === undefined ? 'operators' : 'keys'} create --expires-in <days>\`, then revoke this one.`,
      })),
  ];
}

export function examineSettings(settings: Examined['settings']): readonly Finding[] {
  const isLive = Object.keys(settings).some((name) => name.includes('.live.'));
  const { archive, archiveYears } = settings;
  const hasNone = archive === 'false';
  if (!isLive || !(hasNone || archiveYears === '0')) return [];
  const detail = hasNone
    ? 'Live payments have no copy outside the tables. Deploy with payonce:archive=true (docs/operate/audit.md); in a trial, add payonce:archiveYears=0.'
    : 'The archive locks the rows of live payments for one day only. Deploy with a higher payonce:archiveYears.';
  return [{ check: 'live_without_archive', about: hasNone ? 'archive' : 'archiveYears', detail }];
}

/** @param settings if they lack `authority`, DynamoDB is selected */
function examineAuthority(state: AuthorityState | undefined, settings: Examined['settings']): readonly Finding[] {
  const { authority: selected = 'dynamodb' } = settings;
  const { authority = storesOf(selected), isImporting = false, imported = {} } = state ?? {};
  if (isImporting)
    return [{ check: 'authority', about: authority, detail: 'An import has stopped all writes: finish or cancel it.' }];
  if (authority === storesOf(selected)) {
    const names = databasesOfSettings(settings).map(({ name }) => name);
    return Object.keys(imported)
      .filter((name) => !names.includes(name))
      .map((name) => ({
        check: 'authority' as const,
        about: name,
        detail: `Payments were imported into the database ${name}, so the functions return 503. Deploy with its entry in payonce:postgresShards.`,
      }));
  }
  // The recorded state does not distinguish a PostgreSQL server from a cluster of Aurora DSQL.
  const other = authority === 'postgres' ? 'postgres, or dsql if this deployment used Aurora DSQL' : authority;
  const detail = `The payments are in ${authority}, so the functions return 503. Deploy with payonce:authority=${other}.`;
  return [{ check: 'authority', about: selected, detail }];
}

async function examineDatabase(
  session: Session,
  settings: Examined['settings'],
  deployed: Deployed | undefined,
): Promise<readonly Finding[]> {
  const { authority } = settings;
  // Before the first deployment, the Aurora DSQL cluster does not exist.
  if (storesOf(authority) === 'dynamodb' || (authority === 'dsql' && deployed === undefined)) return [];
  const problems = await problemsOfDatabase(session, settings, deployed?.identityOf);
  return problems.map((detail) => ({ check: 'database', about: 'postgres', detail }));
}

/** If the rates of the next deployment are unknown, compares those of the current deployment. */
async function examineRates({ rates, nowMs }: Deployed, context: DoctorOptions['context']) {
  return examinePeakRates(rates, nowMs, await ofClone(({ peakRatesOfClone }) => peakRatesOfClone(context)));
}

export function addDoctor(program: Command, session: Session): void {
  program
    .command('doctor')
    .description('reports errors and unsafe settings of the account and the deployment, before and after "cdk deploy"')
    .option('-c, --context <name=value...>', 'before a deploy: a setting, as for cdk deploy', settingOf, {})
    .option('--probe', 'also run the probes that need a real account (docs/operate/first-deploy.md)', false)
    .option(
      '--key <key>',
      'a test-mode API key for the payment of --probe; the default is a test key in PAYONCE_API_KEY',
      testKey,
    )
    .option('--url <address>', 'the address of the API, for --probe')
    .action(async ({ context, probe, key = ownTestKey(), url }: DoctorOptions) => {
      const target = await session.aws();
      const account = await readAccount(target);
      const isDeployed = (['data', 'service'] as const).every((stack) =>
        account.stacks.some(
          ({ name, status }) => name === stackNameOf(stack, target.environment) && hasResources(status),
        ),
      );
      const examined = isDeployed ? await read(target, session.operator) : undefined;
      const settings = examined?.settings ?? (await settingsOf(context));
      const data: Finding[] = [
        ...examineAccount(account),
        ...examineQuotas(account, settings),
        ...(examined === undefined ? examineSettings(settings) : examine(examined)),
        ...(examined === undefined ? [] : await examineRates(examined, context)),
        ...(await examineDatabase(session, settings, examined)),
      ];
      const probed =
        probe && isDeployed
          ? await runProbes({
              target,
              apiUrl: url ?? (await session.local())?.apiUrl ?? (await apiUrlOf(target)),
              ...defined({ key }),
            })
          : [];
      const failed = probed.filter(({ result }) => result === 'failed').length;
      const lines = [
        ...(isDeployed ? [] : [`Not deployed in ${account.region}: only the account and the settings were examined.`]),
        ...(data.length === 0
          ? ['Nothing found.']
          : table(
              ['CHECK', 'ABOUT', 'WHAT TO DO'],
              data.map(({ check, about, detail }) => [check, about, detail]),
            )),
        ...(probed.length === 0
          ? []
          : table(
              ['PROBE', 'RESULT', 'SEEN'],
              probed.map(({ id, result, seen }) => [id, result, seen]),
            )),
      ];
      session.show({ deployed: isDeployed, data, ...(probe ? { probes: probed } : {}) }, lines);
      if (data.length > 0 || failed > 0)
        throw new CliFailure(ExitCode.incomplete, `There are ${data.length} findings and ${failed} failed probes.`);
    });
}

interface Deployed extends Examined {
  /** Newest first. */
  readonly rates: readonly RecordedRates[];
  readonly identityOf: (name: string) => Promise<number | undefined>;
}

interface DoctorOptions {
  readonly context: Readonly<Record<string, string>>;
  readonly probe: boolean;
  readonly key?: string;
  readonly url?: string;
}

/** @throws CliFailure for an invalid setting */
async function settingsOf(context: DoctorOptions['context']): Promise<Examined['settings']> {
  const settings = await ofClone(({ settingsOfClone }) => settingsOfClone(context));
  // Without the CDK, as in an installed package, only the given settings are known.
  return (
    settings ??
    Object.fromEntries(Object.entries(context).map(([name, value]) => [name.replace('payonce:', ''), value]))
  );
}

/**
 * @returns undefined without the CDK
 * @throws CliFailure for an invalid setting
 */
async function ofClone<Result>(readWith: (clone: typeof Synthesized) => Result) {
  const clone = await import('../lib/synthesized.ts').catch(() => undefined);
  try {
    return clone === undefined ? undefined : readWith(clone);
  } catch (error) {
    throw new CliFailure(ExitCode.usage, error instanceof Error ? error.message : String(error));
  }
}

/** A live key is ignored, because the probes make payments. */
function ownTestKey(): string | undefined {
  const key = process.env[TENANT.variable]?.trim();
  return key?.startsWith('sk_test_') === true ? key : undefined;
}

function testKey(text: string): string {
  if (text.startsWith('sk_test_')) return text;
  // The text is a secret, so the message omits it.
  throw new InvalidArgumentError('the probes make payments: use a test-mode API key, sk_test_….');
}

async function apiUrlOf(target: AwsTarget): Promise<string> {
  const [apiUrl] = await stackOutputs(target, 'service', ['apiUrl']);
  return apiUrl.replace(/\/$/, '');
}

async function read(target: AwsTarget, operator: string): Promise<Deployed> {
  const { client, tables, pacing } = await openTables(target);
  const administration = new TenantAdministration(client, tables, operator);
  const recorded = await new DynamoDbActivity(client, tables, pacing).listActivity('settings', {
    order: 'newest_first',
    limit: MAX_CHANGES,
  });
  const keys: (ApiKeySummary | OperatorKeySummary)[] = [...(await administration.listOperatorKeys())];
  for (const { id } of await administration.listTenants()) keys.push(...(await administration.listApiKeys(id)));
  const secrets = await secretsOf(target);
  const authority = await readAuthorityState({ client, tables, pacing });
  const rates = recorded.map(({ occurredAtMs, details }) => ({
    atMs: occurredAtMs,
    peakRates: details?.['peakRates'],
  }));
  const known = { client, registryTable: tables.registry, pacing };
  const identityOf = (name: string): Promise<number | undefined> => new KnownDatabase(known, name).read();
  const settings = recorded[0]?.details ?? {};
  return { settings, authority, rates, keys, secrets, identityOf, nowMs: pacing.clock.nowMs() };
}

/** Their values never leave this process. */
async function secretsOf(target: AwsTarget): Promise<Examined['secrets']> {
  const manager = new SecretsManagerClient(target);
  const found: { name: string; text: string }[] = [];
  const pages = paginateListStackResources(
    { client: new CloudFormationClient(target) },
    { StackName: stackNameOf('data', target.environment) },
  );
  for await (const { StackResourceSummaries = [] } of pages) {
    for (const { ResourceType, PhysicalResourceId: SecretId, LogicalResourceId: name = '' } of StackResourceSummaries) {
      if (ResourceType !== 'AWS::SecretsManager::Secret' || SecretId === undefined) continue;
      // AWS reports a secret without a value as not found.
      const { SecretString: text = '' } = await manager.send(new GetSecretValueCommand({ SecretId })).catch((error) => {
        if (error instanceof ResourceNotFoundException) return { SecretString: '' };
        throw error;
      });
      found.push({ name, text });
    }
  }
  return found;
}
