import { Command } from 'commander';
import { PAYONCE_DIRECTORY } from './directories.ts';
import { isKeeperRunning, stopKept } from './kept-process.ts';
import { StateFile } from './state-file.ts';

const { directory } = new Command('npm stop --')
  .description('Stops the processes of "npm start".')
  .option('--directory <path>', 'the directory for all files', PAYONCE_DIRECTORY)
  .parse()
  .opts<{ readonly directory: string }>();

const state = new StateFile(directory);
const { keeperPid: pid = 0, postgres, lab } = state.read() ?? {};
// The lab stops first, so that it can still remove its naive shop from the local AWS.
await stopKept(lab?.keeperPid ?? 0);
if (isKeeperRunning(pid)) {
  await stopKept(pid);
  console.log('Payonce stopped. Its tables and keys are kept for the next start.');
} else {
  console.log('Payonce is not running.');
}
// If the local AWS was killed, its database can still be running.
await stopKept(postgres?.keeperPid ?? 0);
state.remove();
