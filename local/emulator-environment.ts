import { delimiter } from 'node:path';
import { BINARIES } from './directories.ts';

export const REGION = 'us-east-1';
export const ACCOUNT = '000000000000';
/** What the emulator takes for its administrator. No secret: it listens on loopback only. */
export const CREDENTIALS = { accessKeyId: 'test', secretAccessKey: 'test' } as const;

/**
 * The environment of every process that talks to the emulator: nothing of the person's own AWS settings gets in, so that no
 * command can ever reach a real account.
 */
export function emulatorEnvironment(endpoint: string, own: NodeJS.ProcessEnv = process.env): NodeJS.ProcessEnv {
  const kept = Object.entries(own).filter(([name]) => !/^(AWS_|CDK_|.*_PROXY$|.*_proxy$)/.test(name));
  return {
    ...Object.fromEntries(kept),
    PATH: `${BINARIES}${delimiter}${own['PATH'] ?? ''}`,
    NO_PROXY: '127.0.0.1,localhost',
    AWS_ACCESS_KEY_ID: CREDENTIALS.accessKeyId,
    AWS_SECRET_ACCESS_KEY: CREDENTIALS.secretAccessKey,
    AWS_REGION: REGION,
    AWS_DEFAULT_REGION: REGION,
    AWS_ENDPOINT_URL: endpoint,
    AWS_ENDPOINT_URL_S3: endpoint,
    AWS_EC2_METADATA_DISABLED: 'true',
    AWS_CONFIG_FILE: '/nonexistent/config',
    AWS_SHARED_CREDENTIALS_FILE: '/nonexistent/credentials',
    CDK_DISABLE_VERSION_CHECK: 'true',
  };
}
