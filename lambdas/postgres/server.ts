import { isIPv4 } from 'node:net';
import * as z from 'zod';
import { TerminalError } from '../kernel/faults.ts';
import type { SecretReader } from '../kernel/platform/active-secrets.ts';

const DEFAULT_PORT = 5432;

export interface Server {
  readonly host: string;
  readonly port: number;
  readonly database: string;
  readonly user: string;
  /** If this is a function, it is called for each connection. */
  readonly password: string | (() => Promise<string>);
}

export interface Credentials {
  current(): Promise<Server>;
  /** Returns changed credentials after the server refused the current ones; undefined if there are none. */
  renewed(): Promise<Server | undefined>;
}

/** Settings for the parts of the address that a secret may lack, for example because RDS manages the secret. */
type ServerDefaults = Partial<Pick<Server, 'host' | 'port' | 'database'>>;

/** Schema of the secret, with the fields that RDS and its rotation functions write. */
const secretBody = z.object({
  username: z.string().min(1),
  password: z.string().min(1),
  host: z.string().min(1).optional(),
  port: z.coerce.number().int().min(1).max(65_535).optional(),
  dbname: z.string().min(1).optional(),
});

export function serverSecret(settings: ServerDefaults): (secretId: string, text: string | undefined) => Server {
  return (secretId, text = '') => {
    const read = secretBody.safeParse(parsedJson(text));
    // No `cause`, because it could quote the secret.
    if (!read.success) throw malformed(secretId, [...new Set(read.error.issues.map(({ path }) => path.join('.')))]);
    const { username: user, password, ...inSecret } = read.data;
    const host = settings.host ?? inSecret.host;
    const database = settings.database ?? inSecret.dbname;
    if (host === undefined) throw malformed(secretId, ['host']);
    if (database === undefined) throw malformed(secretId, ['dbname']);
    return { host, database, user, password, port: settings.port ?? inSecret.port ?? DEFAULT_PORT };
  };
}

/** The secret is read again when the server refuses the credentials, so that a rotation needs no deployment. */
export function secretCredentials(
  secrets: Pick<SecretReader<Server>, 'active' | 'renewed'>,
  secretId: string,
): Credentials {
  return { current: () => secrets.active(secretId), renewed: () => secrets.renewed(secretId) };
}

export function parseServerUrl(text: string): Server {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^postgres(?:ql)?:$/.test(url.protocol))
    throw new Error('the database URL must have the form postgres://user:password@host:port/database');
  if (url.search !== '' || url.hash !== '') throw new Error('the database URL must have no parameters');
  const server = {
    host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: url.port === '' ? DEFAULT_PORT : Number(url.port),
    database: decodeURIComponent(url.pathname.slice(1)),
    user: decodeURIComponent(url.username),
    password: decodeURIComponent(url.password),
  };
  for (const part of ['host', 'database', 'user', 'password'] as const)
    if (server[part] === '') throw new Error(`the database URL has no ${part}`);
  return server;
}

/** Reports whether a host is this machine, where connections need no TLS. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'));
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function malformed(secretId: string, fields: readonly string[]): TerminalError {
  const named = fields.filter((field) => field !== '').join(', ');
  const reason = named === '' ? 'is not a JSON object' : `has no valid ${named}`;
  return new TerminalError('secret_malformed', `The secret ${secretId} ${reason}.`);
}
