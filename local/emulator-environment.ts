import { delimiter } from 'node:path';
import { BINARIES } from './directories.ts';

export const REGION = 'us-east-1';
export const ACCOUNT = '000000000000';
/** What the emulator takes for its administrator. No secret: it listens on loopback only. */
export const CREDENTIALS = { accessKeyId: 'test', secretAccessKey: 'test' } as const;

/** What programs need of the machine that they run on. */
const OF_THE_MACHINE =
  /^(HOME|USER|LOGNAME|SHELL|LANG|LC_.+|TZ|TERM|COLORTERM|NO_COLOR|FORCE_COLOR|CI|TMPDIR|LD_LIBRARY_PATH)$/;

/**
 * The environment of the emulator and of the functions in it. Nothing else of the person's own gets in: no AWS settings, no
 * proxy, and no variable that a function would take for its own.
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

/** The environment of whatever talks to the emulator: no command in it can ever reach a real account. */
export function emulatorEnvironment(endpoint: string, own: NodeJS.ProcessEnv = process.env): NodeJS.ProcessEnv {
  return { ...isolatedEnvironment(own), AWS_ENDPOINT_URL: endpoint, AWS_ENDPOINT_URL_S3: endpoint };
}
