import {
  AUTHORITY_SETTINGS,
  type AuthoritySetting,
  databasesOf,
  type PostgresSettings,
  type ShardSettings,
} from '../../lambdas/authority/contract.ts';
import { FIRST_SHARD } from '../../lambdas/kernel/contract/tables.ts';
import { defined } from '../../lambdas/kernel/defined.ts';
import { KEY_ARN, matching, PREFIX, parsedJson, type Rule, whole } from './rules.ts';

export interface AuthoritySettings {
  /**
   * The system of record, which holds idempotency keys, payments, orders and their queues. With
   * `postgres`, this is your PostgreSQL database, whose tables `payonce db migrate` creates before the deployment. With
   * `dsql`, this is a cluster of Aurora DSQL that the deployment creates. After the deployment, and whenever
   * `payonce doctor` asks for it, `payonce db migrate --dsql` creates its tables; until then, requests get 503.
   * @default dynamodb
   */
  readonly authority?: AuthoritySetting;
  /**
   * The ARN of the secret with the credentials of the functions' database user: `username` and `password`. It must also
   * contain `host`, `port` and `dbname`, unless the settings below contain them. A rotated password needs no deployment.
   */
  readonly postgresSecretArn?: string;
  /**
   * The ARN of the KMS key of the secret, if you chose a key for it. The functions may decrypt the secret with this key.
   * @default the AWS managed key of Secrets Manager, which needs no permission
   */
  readonly postgresSecretKeyArn?: string;
  /** The host of the PostgreSQL server. @default the host in the secret */
  readonly postgresHost?: string;
  /** The port of the PostgreSQL server. @default the port in the secret, or 5432 */
  readonly postgresPort?: number;
  /** The name of the PostgreSQL database. @default the name in the secret */
  readonly postgresDatabase?: string;
  /**
   * The path of a file with the CA certificates of the server (PEM), as the functions see it, for example in a layer.
   * @default the CA certificates of RDS and of Node
   */
  readonly postgresCaFile?: string;
  /**
   * More databases: a JSON list, for example `[{"name":"b","database":"payonce_b"}]`. An entry may have `secretId` (the
   * ARN of a secret), `host`, `port` and `database`; missing fields are taken from the first database. An entry with a
   * `count` stands for several databases; in each, its number replaces `#` in `host` and `database`. Each new tenant is
   * placed into one of the databases by a hash of its id. A name must never change, and an entry must never be removed.
   * @default one database
   */
  readonly postgresShards?: readonly ShardSettings[];
  /**
   * The subnets of the functions that use PostgreSQL: a JSON list of ids. They need a route to the AWS services and to
   * the processors, for example through a NAT gateway.
   * @default the functions join no VPC, so the server must be reachable from the internet
   */
  readonly postgresSubnets?: readonly string[];
  /** The security groups of the functions that use PostgreSQL: a JSON list of ids. Set it with `postgresSubnets`. */
  readonly postgresSecurityGroups?: readonly string[];
  /**
   * The witness region of linked clusters of Aurora DSQL, which commit in two regions. The functions use the cluster of
   * their region. Create the cluster in the other region with the same witness, set `dsqlLinkedClusterArn` to its ARN,
   * and link it to the cluster of this deployment.
   * @default the cluster is in one region
   */
  readonly dsqlWitnessRegion?: string;
  /** The ARN of the cluster in the other region. @default a cluster with a witness waits until it is linked */
  readonly dsqlLinkedClusterArn?: string;
}

/** Maximum number of databases, including the first one. */
const MAX_DATABASES = 64;
const SECRET_ARN = {
  allowed: 'the ARN of a secret of Secrets Manager',
  read: matching(/^arn:aws[a-z-]*:secretsmanager:[a-z0-9-]+:\d{12}:secret:[A-Za-z0-9/_+=.@-]{1,519}$/),
};
const HOST = { allowed: 'a host name or an IP address', read: matching(/^[A-Za-z0-9][A-Za-z0-9.:-]{0,252}$/) };
const PORT = whole(1, 65_535);
const DATABASE = { allowed: 'the name of a database: 1 to 63 characters', read: matching(/^[^\s/]{1,63}$/) };
const COUNT = whole(1, MAX_DATABASES - 1);
const SHARD_NAME = matching(/^[a-z0-9][a-z0-9-]{0,31}$/);

export const AUTHORITY_RULES = {
  authority: {
    allowed: 'dynamodb, postgres or dsql',
    read: (given: unknown) => AUTHORITY_SETTINGS.find((authority) => authority === given),
  },
  postgresSecretArn: SECRET_ARN,
  postgresSecretKeyArn: KEY_ARN,
  postgresHost: HOST,
  postgresPort: PORT,
  postgresDatabase: DATABASE,
  postgresCaFile: { allowed: 'an absolute path', read: matching(/^\/.{1,1023}$/) },
  postgresShards: {
    allowed: `a JSON list of 1 to ${MAX_DATABASES - 1} databases with different names of a-z, 0-9 and -, except ${FIRST_SHARD}, each with secretId, host, port or database`,
    read: readShards,
  },
  postgresSubnets: idsOf('subnet'),
  postgresSecurityGroups: idsOf('sg'),
  dsqlWitnessRegion: { allowed: 'a region, for example us-west-2', read: matching(/^[a-z]{2}(?:-[a-z]+)+-\d$/) },
  dsqlLinkedClusterArn: {
    allowed: 'the ARN of a cluster of Aurora DSQL',
    read: matching(/^arn:aws[a-z-]*:dsql:[a-z0-9-]+:\d{12}:cluster\/[a-z0-9]{26}$/),
  },
} satisfies Record<keyof AuthoritySettings, Rule<unknown>>;

function readShards(given: unknown): readonly ShardSettings[] | undefined {
  const list: unknown = typeof given === 'string' ? parsedJson(given) : given;
  if (!Array.isArray(list) || list.length === 0) return undefined;
  const shards = list.flatMap((each: unknown) => readShard(each) ?? []);
  const databases = databasesOf({ secretId: '', shards });
  const names = new Set(databases.map(({ name }) => name));
  const isRead = shards.length === list.length && names.size === databases.length;
  return isRead && databases.length <= MAX_DATABASES ? shards : undefined;
}

function readShard(given: unknown): ShardSettings | undefined {
  if (typeof given !== 'object' || given === null) return undefined;
  const { name, count, secretId, host, port, database, ...others } = given as Readonly<Record<string, unknown>>;
  const address = defined({ count: COUNT.read(count), secretId, host, port: PORT.read(port), database });
  const numbered = (value: unknown): unknown =>
    count !== undefined && typeof value === 'string' ? value.replaceAll('#', '1') : value;
  const isAllowed =
    SHARD_NAME(name) !== undefined &&
    (count === undefined || COUNT.read(count) !== undefined) &&
    (secretId === undefined || SECRET_ARN.read(secretId) !== undefined) &&
    (host === undefined || HOST.read(numbered(host)) !== undefined) &&
    (port === undefined || PORT.read(port) !== undefined) &&
    (database === undefined || DATABASE.read(numbered(database)) !== undefined);
  const isKnown = Object.keys(others).length === 0 && (secretId ?? host ?? port ?? database) !== undefined;
  return isAllowed && isKnown ? ({ name, ...address } as unknown as ShardSettings) : undefined;
}

/**
 * Returns the settings of the PostgreSQL databases.
 * @throws Error without `postgresSecretArn`; {@link refuseAuthorityConflicts} refuses such settings earlier
 */
export function postgresSettings(settings: AuthoritySettings): PostgresSettings {
  const { postgresSecretArn: secretId, postgresHost: host, postgresPort: port } = settings;
  const { postgresDatabase: database, postgresCaFile: caFile, postgresShards: shards } = settings;
  if (secretId === undefined)
    throw new Error('the settings have no postgresSecretArn, although readSettings requires it');
  return { secretId, ...defined({ host, port, database, caFile, shards }) };
}

/** Returns the rule for a list of EC2 ids, for example `["subnet-0123abcd"]`. */
function idsOf(kind: 'subnet' | 'sg'): Rule<readonly string[]> {
  const id = new RegExp(`^${kind}-[0-9a-f]{8,17}$`);
  return {
    allowed: `a JSON list of 1 to 16 distinct ids of the form ${kind}-…`,
    read: (given) => {
      const list: unknown = typeof given === 'string' ? parsedJson(given) : given;
      if (!Array.isArray(list) || list.length === 0 || list.length > 16) return undefined;
      const ids = list.filter((each): each is string => typeof each === 'string' && id.test(each));
      return ids.length === list.length && new Set(ids).size === ids.length ? ids : undefined;
    },
  };
}

/**
 * Refuses authority settings that are incomplete or contradict each other, for example `postgres` without a secret.
 * @throws Error naming the settings
 */
export function refuseAuthorityConflicts(settings: AuthoritySettings): void {
  const { authority, postgresSecretArn, postgresSubnets, postgresSecurityGroups } = settings;
  refuseLinkConflicts(settings);
  const given = Object.entries(settings).find(([name, value]) => name.startsWith('postgres') && value !== undefined);
  if (authority !== 'postgres') {
    if (given === undefined) return;
    const reason =
      authority === 'dsql' ? 'dsql, which has no such setting: remove it' : 'not postgres: set it to postgres';
    throw new Error(`${PREFIX}${given[0]} is set, but ${PREFIX}authority is ${reason}`);
  }
  if (postgresSecretArn === undefined)
    throw new Error(
      `${PREFIX}authority is postgres, so ${PREFIX}postgresSecretArn must be ${AUTHORITY_RULES.postgresSecretArn.allowed}`,
    );
  if ((postgresSubnets === undefined) !== (postgresSecurityGroups === undefined))
    throw new Error(
      `${PREFIX}postgresSubnets and ${PREFIX}postgresSecurityGroups must be given together or not at all`,
    );
  const databases = databasesOf(postgresSettings(settings));
  const addresses = databases.map((each) => addressOf(each.settings));
  const same = addresses.findIndex((address, index) => addresses.indexOf(address) < index);
  if (same > 0)
    throw new Error(
      `${PREFIX}postgresShards has the database of ${databases[same]?.name} more than once: each must differ`,
    );
}

function refuseLinkConflicts({ authority, dsqlWitnessRegion, dsqlLinkedClusterArn }: AuthoritySettings): void {
  const given = dsqlWitnessRegion === undefined ? dsqlLinkedClusterArn && 'dsqlLinkedClusterArn' : 'dsqlWitnessRegion';
  if (given !== undefined && authority !== 'dsql')
    throw new Error(`${PREFIX}${given} is set, but ${PREFIX}authority is not dsql: set it to dsql`);
  if (given === 'dsqlLinkedClusterArn')
    throw new Error(`${PREFIX}${given} is set, so ${PREFIX}dsqlWitnessRegion must be set, too`);
}

function addressOf({ secretId, host, port, database }: PostgresSettings): string {
  return JSON.stringify([secretId, host, port, database]);
}
