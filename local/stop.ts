import { Command } from 'commander';
import { PAYONCE_DIRECTORY } from './directories.ts';
import { isAlive, stopKeeper } from './emulator.ts';
import { StateFile } from './state-file.ts';

const { directory } = new Command('npm stop --')
  .description('Ends what "npm start" began.')
  .option('--directory <path>', 'where its files are', PAYONCE_DIRECTORY)
  .parse()
  .opts<{ readonly directory: string }>();

const state = new StateFile(directory);
const pid = state.read()?.keeperPid ?? 0;
if (isAlive(pid)) {
  await stopKeeper(pid);
  console.log('Payonce has ended; its tables and keys are there for the next start.');
} else {
  console.log('Nothing was running.');
}
state.remove();
