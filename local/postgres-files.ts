import { join } from 'node:path';
import { PAYONCE_DIRECTORY } from './directories.ts';

/** Folder of the files that all PostgreSQL servers of the project share. It is created once. */
export const PREPARED = join(PAYONCE_DIRECTORY, 'cache', 'postgres');
/** Folder with the servers' self-signed certificate, which is also the CA certificate, and with its private key. */
export const TLS = join(PREPARED, 'tls');
export const CERTIFICATE = 'server.crt';
export const PRIVATE_KEY = 'server.key';
/** The CA certificate with which clients verify the server. They must connect to {@link SERVER_HOST}. */
export const CA_FILE = join(TLS, CERTIFICATE);
export const SERVER_HOST = 'localhost';

/** Subdirectory, in the directory of a local AWS, with the database that is kept after a stop. */
export const POSTGRES_DIRECTORY = 'postgres';
/** Name of the secret with which functions on a local AWS connect to PostgreSQL. */
export const SECRET = 'payonce-database';

export const DATABASE = 'payonce';

/** Names in the directory of a server: the folder of its data, and the file with the password of its superuser. */
export const DATA = 'data';
export const PASSWORD = 'password';
export const SUPERUSER = 'postgres';
