import { randomUUID } from 'node:crypto';
import { type ExitCode, endingOf } from './failure.ts';
import { payonceProgram } from './program.ts';

process.on('uncaughtException', (error) => process.exit(told(error)));
// A reader that has seen enough, as `head`, is no failure.
process.stdout.on('error', () => process.exit(0));

try {
  await payonceProgram({
    print: (text) => process.stdout.write(`${text}\n`),
    isTerminal: process.stdout.isTTY,
    freshKey: randomUUID,
  }).parseAsync();
} catch (error) {
  process.exitCode = told(error);
}

function told(error: unknown): ExitCode {
  const { exitCode, sentence } = endingOf(error);
  if (sentence !== undefined) process.stderr.write(`${sentence}\n`);
  return exitCode;
}
