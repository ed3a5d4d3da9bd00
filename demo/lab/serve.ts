import { rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { listenerOf } from '../../examples/listener.ts';
import { buildConsole } from '../../lib/lambda-code.ts';
import { makeDirectory } from '../../local/directories.ts';
import { listenNear } from '../../local/free-port.ts';
import type { LocalAws } from '../../local/local-aws.ts';
import type { DeployedDemo } from '../deployed.ts';
import { Runner } from '../runner.ts';
import { LAB_SCENARIOS } from '../scenarios.ts';
import { Lab } from './lab.ts';
import { labServer } from './server.ts';

interface LabServerOptions {
  /** A separate directory, which is deleted at the end. */
  readonly directory: string;
  /** Preferred port. */
  readonly port: number;
  /**
   * The naive shop, if it is already deployed.
   * @default the lab deploys the naive shop for the first scenario, and removes it at the end
   */
  readonly demo?: DeployedDemo;
}

/**
 * Serves the lab of a running local AWS.
 * @returns a function that stops the lab
 */
export async function serveLab(
  aws: LocalAws,
  { directory, port: wanted, demo }: LabServerOptions,
): Promise<{ readonly url: string; readonly end: () => Promise<void> }> {
  rmSync(directory, { recursive: true, force: true });
  makeDirectory(directory);
  const page = join(directory, 'page');
  buildConsole(page, 'console/lab');
  const runner = new Runner(aws, join(directory, 'demo'), demo);
  const lab = new Lab({ scenarios: LAB_SCENARIOS, runner, consoleUrl: `${aws.apiUrl}/console` });
  const server = createServer();
  const port = await listenNear(server, wanted);
  server.on('request', listenerOf(labServer(lab, page, port)));
  const end = async (): Promise<void> => {
    server.close();
    server.closeAllConnections();
    await runner.end();
    rmSync(directory, { recursive: true, force: true });
  };
  return { url: `http://127.0.0.1:${port}`, end };
}
