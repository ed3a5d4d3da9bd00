import { AUTHORITIES, type Authority } from '../../lambdas/authority/contract.ts';
import { KEY_ARN, matching, PREFIX, parsedJson, type Rule, whole } from './rules.ts';

export interface AuthoritySettings {
  /**
   * The system of record, which holds idempotency keys, payments, orders and their queues. With
   * `postgres`, this is your PostgreSQL database, whose tables `payonce db migrate` creates before the deployment.
   * @default dynamodb
   */
  readonly authority?: Authority;
  /**
   * The ARN of the secret with the user of the functions: `username` and `password`, and `host`, `port` and `dbname` if
   * the next settings lack them. A rotated password needs no deployment.
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
   * The subnets of the functions that use PostgreSQL: a JSON list of ids. They need a route to the AWS services and to
   * the processors, for example through a NAT gateway.
   * @default the functions join no VPC, so the server must be reachable from the internet
   */
  readonly postgresSubnets?: readonly string[];
  /** The security groups of the functions that use PostgreSQL: a JSON list of ids. Set it with `postgresSubnets`. */
  readonly postgresSecurityGroups?: readonly string[];
}

export const AUTHORITY_RULES = {
  authority: {
    allowed: AUTHORITIES.join(' or '),
    read: (given: unknown) => AUTHORITIES.find((authority) => authority === given),
  },
  postgresSecretArn: {
    allowed: 'the ARN of a secret of Secrets Manager',
    read: matching(/^arn:aws[a-z-]*:secretsmanager:[a-z0-9-]+:\d{12}:secret:[A-Za-z0-9/_+=.@-]{1,519}$/),
  },
  postgresSecretKeyArn: KEY_ARN,
  postgresHost: { allowed: 'a host name or an IP address', read: matching(/^[A-Za-z0-9][A-Za-z0-9.:-]{0,252}$/) },
  postgresPort: whole(1, 65_535),
  postgresDatabase: { allowed: 'the name of a database: 1 to 63 characters', read: matching(/^[^\s/]{1,63}$/) },
  postgresCaFile: { allowed: 'an absolute path', read: matching(/^\/.{1,1023}$/) },
  postgresSubnets: idsOf('subnet'),
  postgresSecurityGroups: idsOf('sg'),
} satisfies Record<keyof AuthoritySettings, Rule<unknown>>;

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

/** Refuses `postgres` without a database, and database settings without `postgres`. @throws Error */
export function refuseAuthorityConflicts(settings: AuthoritySettings): void {
  const { authority, postgresSecretArn, postgresSubnets, postgresSecurityGroups } = settings;
  const given = Object.entries(settings).find(([name, value]) => name.startsWith('postgres') && value !== undefined);
  if (authority !== 'postgres') {
    if (given !== undefined)
      throw new Error(`${PREFIX}${given[0]} is set, but ${PREFIX}authority is not postgres: set it to postgres`);
    return;
  }
  if (postgresSecretArn === undefined)
    throw new Error(
      `${PREFIX}authority is postgres, so ${PREFIX}postgresSecretArn must be ${AUTHORITY_RULES.postgresSecretArn.allowed}`,
    );
  if ((postgresSubnets === undefined) !== (postgresSecurityGroups === undefined))
    throw new Error(
      `${PREFIX}postgresSubnets and ${PREFIX}postgresSecurityGroups must be given together or not at all`,
    );
}
