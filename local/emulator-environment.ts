import { delimiter } from 'node:path';
import { BINARIES } from './directories.ts';

export const REGION = 'us-east-1';
export const ACCOUNT = '000000000000';

export interface EmulatorAccess {
  readonly awsEndpoint: string;
  /** Must be kept secret: the emulator does not verify signatures, so the id alone grants access. */
  readonly accessKeyId: string;
}

export function accessTo({ awsEndpoint, accessKeyId }: EmulatorAccess) {
  return { endpoint: awsEndpoint, region: REGION, credentials: credentialsOf(accessKeyId) };
}

export function credentialsOf(accessKeyId: string) {
  return { accessKeyId, secretAccessKey: 'not-verified' };
}

const MACHINE_VARIABLES =
  /^(HOME|USER|LOGNAME|SHELL|LANG|LC_.+|TZ|TERM|COLORTERM|NO_COLOR|FORCE_COLOR|CI|TMPDIR|LD_LIBRARY_PATH)$/;

/**
 * Returns the environment of the emulator and its functions. It excludes AWS settings, proxies, and variables that a
 * function could read as its settings.
 */
export function isolatedEnvironment(own: NodeJS.ProcessEnv = process.env): NodeJS.ProcessEnv {
  return {
    ...Object.fromEntries(Object.entries(own).filter(([name]) => MACHINE_VARIABLES.test(name))),
    PATH: `${BINARIES}${delimiter}${own['PATH'] ?? ''}`,
    NO_PROXY: '127.0.0.1,localhost',
    AWS_REGION: REGION,
    AWS_DEFAULT_REGION: REGION,
    AWS_EC2_METADATA_DISABLED: 'true',
    AWS_CONFIG_FILE: '/nonexistent/config',
    AWS_SHARED_CREDENTIALS_FILE: '/nonexistent/credentials',
  };
}

/** No command that uses this environment can reach a real account. */
export function emulatorEnvironment(
  { awsEndpoint, accessKeyId }: EmulatorAccess,
  own: NodeJS.ProcessEnv = process.env,
): NodeJS.ProcessEnv {
  return {
    ...isolatedEnvironment(own),
    ...credentialVariables(accessKeyId),
    AWS_ENDPOINT_URL: awsEndpoint,
    AWS_ENDPOINT_URL_S3: awsEndpoint,
  };
}

export function credentialVariables(id: string) {
  const { accessKeyId, secretAccessKey } = credentialsOf(id);
  return { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey };
}
