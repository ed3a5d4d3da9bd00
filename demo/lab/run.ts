/**
 * The lab of a running local AWS: `npm start` starts it. It serves until it is told to end, and then takes the naive shop away.
 *
 *   node demo/lab/run.ts <directory of the local AWS> <port>
 */
import { rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { listenerOf } from '../../examples/listener.ts';
import { buildConsole } from '../../lib/lambda-code.ts';
import { makeDirectory } from '../../local/directories.ts';
import { StartFailure } from '../../local/failure.ts';
import { StateFile } from '../../local/state-file.ts';
import { SCENARIOS } from '../scenarios.ts';
import { Lab } from './lab.ts';
import { LabRunner } from './runner.ts';
import { labServer } from './server.ts';

const [, , directory = '', port = ''] = process.argv;
const aws = await new StateFile(directory).running();
if (aws === undefined) throw new StartFailure('Payonce is not running. Start it with "npm start".');

const own = join(directory, 'lab');
rmSync(own, { recursive: true, force: true });
makeDirectory(own);
const page = join(own, 'page');
buildConsole(page, 'console/lab');
const runner = new LabRunner(aws, join(own, 'demo'));
const lab = new Lab({ scenarios: SCENARIOS, runner: runner.run, consoleUrl: `${aws.apiUrl}/console` });
const server = createServer(listenerOf(labServer(lab, page, Number(port)))).listen(Number(port), '127.0.0.1');
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.once(signal, () => void end());

async function end(): Promise<void> {
  server.close();
  server.closeAllConnections();
  // If the local AWS has ended, the naive shop has ended with it.
  await runner.remove().catch(() => undefined);
  rmSync(own, { recursive: true, force: true });
  process.exit();
}
