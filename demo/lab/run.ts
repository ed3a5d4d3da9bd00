/**
 * The lab of a running local AWS. `npm start` starts it (local/lab.ts) as a command of the keeper (local/keeper.ts).
 *
 * It listens on the given port, or on another one if that is taken, and then prints its address.
 *
 *   node demo/lab/run.ts <directory of the local AWS> <port>
 */
import { join } from 'node:path';
import { StartFailure } from '../../local/failure.ts';
import { StateFile } from '../../local/state-file.ts';
import { serveLab } from './serve.ts';

const [, , directory = '', port = ''] = process.argv;
const aws = await new StateFile(directory).running();
if (aws === undefined) throw new StartFailure('Payonce is not running. Start it with "npm start".');
const { url, end } = await serveLab(aws, { directory: join(directory, 'lab'), port: Number(port) });
console.log(url);
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.once(signal, () => void leave());

async function leave(): Promise<void> {
  // `end` removes the naive shop. This can fail because the local AWS has ended; the naive shop has then ended, too.
  await end().catch((error: unknown) => console.error(error));
  process.exit();
}
