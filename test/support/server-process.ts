import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

/**
 * The server ends with this process.
 *
 * @param settings the parameters of the program
 */
export async function startServer(
  file: 'postgres-server.ts' | 'synth-server.ts',
  ...settings: readonly string[]
): Promise<{ readonly server: ChildProcess; readonly url: string }> {
  const server = fork(join(import.meta.dirname, file), settings, { execArgv: [] });
  const [port] = (await once(server, 'message')) as [number];
  return { server, url: `http://127.0.0.1:${port}/` };
}
