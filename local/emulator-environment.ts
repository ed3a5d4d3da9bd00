import { delimiter } from 'node:path';
import { BINARIES } from './directories.ts';

export const REGION = 'us-east-1';
export const ACCOUNT = '000000000000';
/** The emulator's administrator credentials. They are not secret: it listens on loopback only. */
export const CREDENTIALS = { accessKeyId: 'test', secretAccessKey: 'test' } as const;

/** The machine's variables that programs need. */
const OF_THE_MACHINE =
  /^(HOME|USER|LOGNAME|SHELL|LANG|LC_.+|TZ|TERM|COLORTERM|NO_COLOR|FORCE_COLOR|CI|TMPDIR|LD_LIBRARY_PATH)$/;

/**
 * The environment of the emulator and of its functions. It excludes the user's other variables: AWS settings, proxies, and
 * variables that a function could read as its settings.
 */
export function isolatedEnvironment(own: NodeJS.ProcessEnv = process.env): NodeJS.ProcessEnv {
  return {
    ...Object.fromEntries(Object.entries(own).filter(([name]) => OF_THE_MACHINE.test(name))),
    PATH: `${BINARIES}${delimiter}${own['PATH'] ?? ''}`,
    NO_PROXY: '127.0.0.1,localhost',
    AWS_ACCESS_KEY_ID: CREDENTIALS.accessKeyId,
    AWS_SECRET_ACCESS_KEY: CREDENTIALS.secretAccessKey,
    AWS_REGION: REGION,
    AWS_DEFAULT_REGION: REGION,
    AWS_EC2_METADATA_DISABLED: 'true',
    AWS_CONFIG_FILE: '/nonexistent/config',
    AWS_SHARED_CREDENTIALS_FILE: '/nonexistent/credentials',
  };
}

/** The environment of clients of the emulator. No command with it can reach a real account. */
export function emulatorEnvironment(endpoint: string, own: NodeJS.ProcessEnv = process.env): NodeJS.ProcessEnv {
  return { ...isolatedEnvironment(own), AWS_ENDPOINT_URL: endpoint, AWS_ENDPOINT_URL_S3: endpoint };
}
