import { randomUUID } from 'node:crypto';
import { StackName, StackOutput } from '../lambdas/kernel/contract/api.ts';
import { deployedOutput, localState } from './deployed.ts';
import { type ApiAccess, jobsProgram, type Target } from './jobs-program.ts';

try {
  await jobsProgram({ locate, print: (line) => console.log(line), freshKey: randomUUID }).parseAsync();
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}

async function locate({ local = false, url, key = process.env['PAYONCE_API_KEY'] }: Target): Promise<ApiAccess> {
  if (local) {
    const { apiUrl, adminApiKey } = localState();
    return { url: url ?? apiUrl, key: key ?? adminApiKey };
  }
  if (key === undefined) throw new Error('Name an API key with the scope admin: in PAYONCE_API_KEY, or with --key.');
  const otherwise = 'name the address of the API with --url.';
  return { url: url ?? (await deployedOutput(StackName.service, StackOutput.apiUrl, { otherwise })), key };
}
