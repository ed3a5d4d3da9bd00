import { randomUUID } from 'node:crypto';
import { CliFailure, ExitCode, endingOf } from './failure.ts';
import { payonceProgram } from './program.ts';

process.on('uncaughtException', (error) => process.exit(reportFailure(error)));
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // A reader such as `head` may close the pipe early. This is not a failure.
  if (error.code === 'EPIPE') process.exit(ExitCode.done);
  process.exit(reportFailure(new CliFailure(ExitCode.incomplete, `The result cannot be written: ${error.message}`)));
});

try {
  await payonceProgram({
    print: (text) => process.stdout.write(`${text}\n`),
    note: (text) => process.stderr.write(`${text}\n`),
    isTerminal: process.stdout.isTTY,
    freshKey: randomUUID,
  }).parseAsync();
} catch (error) {
  process.exitCode = reportFailure(error);
}

function reportFailure(error: unknown): ExitCode {
  const { exitCode, sentence } = endingOf(error);
  if (sentence !== undefined) process.stderr.write(`${sentence}\n`);
  return exitCode;
}
