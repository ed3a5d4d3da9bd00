import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

/** Starts a server of this folder, which ends with this process. @returns the process and its URL */
export async function startServer(
  file: 'postgres-server.ts' | 'synth-server.ts',
): Promise<{ readonly server: ChildProcess; readonly url: string }> {
  const server = fork(join(import.meta.dirname, file), { execArgv: [] });
  const [port] = (await once(server, 'message')) as [number];
  return { server, url: `http://127.0.0.1:${port}/` };
}
