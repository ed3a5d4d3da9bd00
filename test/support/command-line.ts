import { execFile } from 'node:child_process';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { credentialVariables } from '../../local/emulator-environment.ts';
import type { LocalAws } from '../../local/local-aws.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

type Target = Pick<LocalAws, 'awsEndpoint' | 'accessKeyId' | 'region'> & {
  /** Module that the process loads before the command. */
  readonly preload?: string;
};

/** Runs the operator's command against the local AWS, in a separate process. */
export async function payonce(
  { awsEndpoint, accessKeyId, region, preload }: Target,
  ...words: readonly string[]
): Promise<{ readonly code: number; readonly said: string }> {
  const env = {
    ...process.env,
    AWS_ENDPOINT_URL: awsEndpoint,
    AWS_REGION: region,
    ...credentialVariables(accessKeyId),
    ...(preload === undefined ? {} : { NODE_OPTIONS: `--import=${pathToFileURL(preload).href}` }),
  };
  try {
    const { stdout } = await promisify(execFile)(process.execPath, ['cli/payonce.mjs', ...words], { cwd: ROOT, env });
    return { code: 0, said: stdout };
  } catch (error) {
    const { code = 1, stdout = '', stderr = '' } = error as { code?: number; stdout?: string; stderr?: string };
    return { code, said: `${stdout}${stderr}` };
  }
}
