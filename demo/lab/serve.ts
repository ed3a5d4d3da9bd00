import { rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { listenerOf } from '../../examples/listener.ts';
import type { Authority } from '../../lambdas/authority/contract.ts';
import { loadedOnce } from '../../lambdas/kernel/loaded-once.ts';
import { makeDirectory } from '../../local/directories.ts';
import { listenNear } from '../../local/free-port.ts';
import { authorityOf, type LocalAws, startLocalAws } from '../../local/local-aws.ts';
import type { DeployedDemo } from '../deployed.ts';
import { Runner, type Watch } from '../runner.ts';
import { LAB_SCENARIOS } from '../scenarios.ts';
import { Lab, type LabStack } from './lab.ts';
import { labServer } from './server.ts';

interface LabServerOptions {
  /** The lab empties the directory at the start, and deletes it at the end. */
  readonly directory: string;
  readonly port: number;
  /** @default the lab deploys the naive shop for the first scenario, and removes it at the end */
  readonly demo?: DeployedDemo;
}

export async function serveLab(
  aws: LocalAws,
  { directory, port: wanted, demo }: LabServerOptions,
): Promise<{ readonly url: string; readonly end: () => Promise<void> }> {
  rmSync(directory, { recursive: true, force: true });
  makeDirectory(directory);
  // The page is built when it is first opened, because the build would double the time that the lab needs to start.
  const page = loadedOnce(async () => {
    const { buildConsole } = await import('../../lib/lambda-code.ts');
    const folder = join(directory, 'page');
    buildConsole(folder, 'console/lab');
    return folder;
  });
  const runner = new Runner(aws, join(directory, 'demo'), demo);
  const authority = authorityOf(aws);
  const second = new SecondStack(join(directory, 'second'), authority === 'postgres' ? 'dynamodb' : 'postgres');
  const lab = new Lab({
    scenarios: LAB_SCENARIOS,
    runner,
    consoleUrl: `${aws.apiUrl}/console`,
    authority,
    other: (step) => second.started(step),
  });
  const server = createServer();
  const port = await listenNear(server, wanted);
  server.on('request', listenerOf(labServer(lab, page, port)));
  const end = async (): Promise<void> => {
    server.close();
    server.closeAllConnections();
    await Promise.all([runner.end(), second.end()]);
    rmSync(directory, { recursive: true, force: true });
  };
  return { url: `http://127.0.0.1:${port}`, end };
}

class SecondStack {
  readonly #directory: string;
  readonly #authority: Authority;
  #starting: Promise<LabStack & { readonly end: () => Promise<void> }> | undefined;

  constructor(directory: string, authority: Authority) {
    this.#directory = directory;
    this.#authority = authority;
  }

  /** After a failed start, the next call starts it again. */
  async started(step: Watch['step']): Promise<LabStack> {
    const starting = (this.#starting ??= this.#start(step));
    starting.catch(() => {
      this.#starting = undefined;
    });
    return starting;
  }

  async end(): Promise<void> {
    const started = await this.#starting?.catch(() => undefined);
    await started?.end();
  }

  async #start(step: Watch['step']) {
    step('starting a second local AWS, which can take minutes');
    const { aws, emulator } = await startLocalAws({
      directory: this.#directory,
      port: 0,
      persist: false,
      authority: this.#authority,
      report: (name, detail) => {
        if (name !== '') step(detail === undefined ? name : `${name}: ${detail}`);
      },
    });
    const runner = new Runner(aws, join(this.#directory, 'demo'));
    const end = async (): Promise<void> => {
      try {
        await runner.end();
      } finally {
        await emulator.stop();
      }
    };
    return { runner, consoleUrl: `${aws.apiUrl}/console`, end };
  }
}
