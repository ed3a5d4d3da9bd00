import { createHash, createHmac } from 'node:crypto';
import type { Clock } from '../kernel/world.ts';
import type { Credentials, Server } from './server.ts';

/**
 * The database engine of a connection. According to its user guide, Aurora DSQL supports CHECK constraints, partial
 * indexes, columns of the type json, and FOR UPDATE, which the stores need ("Supported SQL for Aurora DSQL", "CREATE
 * TABLE", "CREATE INDEX"). The guide does not say whether it supports ON CONFLICT, or data-modifying statements in
 * WITH. The checks in docs/operate/first-deploy.md show whether it does.
 */
export type Engine = 'postgres' | 'dsql';

/** The only database of a cluster. */
const DATABASE = 'postgres';
const PORT = 5432;
/** The predefined role for the administrators of a cluster. */
export const DSQL_ADMIN = 'admin';

/** The database role of the functions. `payonce db migrate` creates it. */
export const DSQL_ROLE = 'payonce';

/**
 * Maximum age of a connection, in milliseconds. A cluster ends each connection after 60 minutes (Aurora DSQL user
 * guide, "Cluster quotas and database limits").
 */
export const DSQL_CONNECTION_MS = 55 * 60_000;

/** Validity of a token, in seconds. A new token is created for each connection, and is used only for the login. */
const TOKEN_SECONDS = 900;

/** The endpoint of a cluster: `<id>.dsql.<region>.on.aws`. */
const ENDPOINT = /^[a-z0-9]+\.dsql(?:-[a-z0-9]+)?\.(?<region>[a-z0-9-]+)\.on\.aws$/;

interface AwsKeys {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string | undefined;
}

interface DsqlAccess {
  readonly endpoint: string | undefined;
  /** @default the role of the functions */
  readonly user?: typeof DSQL_ADMIN;
  readonly keys: () => Promise<AwsKeys>;
  readonly clock: Pick<Clock, 'nowMs'>;
}

export function regionOfEndpoint(host = ''): string | undefined {
  return ENDPOINT.exec(host)?.groups?.['region'];
}

export function dsqlServer({ endpoint: host = '', user, keys, clock }: DsqlAccess): Server {
  const region = regionOfEndpoint(host);
  if (region === undefined) throw new Error(`${host} is not the endpoint of an Aurora DSQL cluster`);
  const action = user === DSQL_ADMIN ? 'DbConnectAdmin' : 'DbConnect';
  return {
    host,
    port: PORT,
    database: DATABASE,
    user: user ?? DSQL_ROLE,
    password: async () => dsqlToken({ host, region, action, keys: await keys(), atMs: clock.nowMs() }),
  };
}

/** The credentials never expire, because each connection gets a new token. */
export function dsqlCredentials(access: DsqlAccess): Credentials {
  return { current: async () => dsqlServer(access), renewed: async () => undefined };
}

interface TokenRequest {
  readonly host: string;
  readonly region: string;
  readonly action: 'DbConnect' | 'DbConnectAdmin';
  readonly keys: AwsKeys;
  readonly atMs: number;
}

/**
 * Creates a token: a presigned URL (AWS General Reference, "Signature Version 4") without its scheme. A package for
 * this would be larger than the function.
 */
function dsqlToken({ host, region, action, keys, atMs }: TokenRequest): string {
  const time = new Date(atMs).toISOString().replaceAll(/[-:]|\.\d{3}/g, '');
  const scope = `${time.slice(0, 8)}/${region}/dsql/aws4_request`;
  const parameters = Object.entries({
    Action: action,
    'X-Amz-Algorithm': 'AWS4-HMAC-SHA256',
    'X-Amz-Credential': `${keys.accessKeyId}/${scope}`,
    'X-Amz-Date': time,
    'X-Amz-Expires': String(TOKEN_SECONDS),
    ...(keys.sessionToken === undefined ? {} : { 'X-Amz-Security-Token': keys.sessionToken }),
    'X-Amz-SignedHeaders': 'host',
  }).map(([name, value]) => `${name}=${encoded(value)}`);
  const request = ['GET', '/', parameters.join('&'), `host:${host}\n`, 'host', sha256('')].join('\n');
  const key = scope.split('/').reduce<string | Buffer>((made, part) => hmac(made, part), `AWS4${keys.secretAccessKey}`);
  const signature = hmac(key, ['AWS4-HMAC-SHA256', time, scope, sha256(request)].join('\n')).toString('hex');
  return `${host}/?${[...parameters, `X-Amz-Signature=${signature}`].toSorted().join('&')}`;
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}

/** Percent-encodes all characters except the unreserved ones of RFC 3986. */
function encoded(text: string): string {
  return encodeURIComponent(text).replaceAll(/[!'()*]/g, (each) => `%${each.charCodeAt(0).toString(16).toUpperCase()}`);
}
