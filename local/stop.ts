import { Command } from 'commander';
import { PAYONCE_DIRECTORY } from './directories.ts';
import { isKept, stopKept } from './kept-process.ts';
import { StateFile } from './state-file.ts';

const { directory } = new Command('npm stop --')
  .description('Ends what "npm start" began.')
  .option('--directory <path>', 'where its files are', PAYONCE_DIRECTORY)
  .parse()
  .opts<{ readonly directory: string }>();

const state = new StateFile(directory);
const pid = state.read()?.keeperPid ?? 0;
if (isKept(pid)) {
  await stopKept(pid);
  console.log('Payonce stopped. Its tables and keys are kept for the next start.');
} else {
  console.log('Payonce is not running.');
}
state.remove();
