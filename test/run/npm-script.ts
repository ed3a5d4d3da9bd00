import { spawn } from 'node:child_process';
import { once } from 'node:events';

export async function runNpmScript(
  name: string,
  environment: Readonly<Record<string, string>> = {},
  values: readonly string[] = [],
): Promise<number> {
  const child = spawn('npm', ['run', name, '--', ...values], {
    stdio: 'inherit',
    env: { ...process.env, ...environment },
    // On Windows, npm is a batch file, which needs a shell.
    shell: process.platform === 'win32',
  });
  const [code] = (await once(child, 'close')) as [number | null];
  return code ?? 1;
}
