import { join } from 'node:path';
import { PAYONCE_DIRECTORY } from './directories.ts';

/** Folder of the files that all PostgreSQL servers of the project share. It is created once. */
export const PREPARED = join(PAYONCE_DIRECTORY, 'cache', 'postgres');
/** The servers' self-signed certificate is also the CA certificate. */
export const TLS = join(PREPARED, 'tls');
export const CERTIFICATE = 'server.crt';
export const PRIVATE_KEY = 'server.key';
/** The CA certificate with which clients verify the server. They must connect to {@link SERVER_HOST}. */
export const CA_FILE = join(TLS, CERTIFICATE);
export const SERVER_HOST = 'localhost';

/** The database in this subdirectory of a local AWS is kept after a stop. */
export const POSTGRES_DIRECTORY = 'postgres';
export const SECRET = 'payonce-database';

export const DATABASE = 'payonce';

export const DATA = 'data';
export const PASSWORD = 'password';
export const SUPERUSER = 'postgres';
