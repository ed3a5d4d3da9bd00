import { join } from 'node:path';
import { PROJECT } from './directories.ts';
import { isolatedEnvironment } from './emulator-environment.ts';
import { StartFailure } from './failure.ts';
import { startKeptServer } from './kept-process.ts';

/** Allows for a busy machine. */
const READY_WITHIN_MS = 60_000;
const PROGRAM = join(PROJECT, 'demo', 'lab', 'run.ts');
const LOG = 'lab.log';

/**
 * On the lab's page, a user causes failures at a naive shop and at Payonce. The lab runs only with the local AWS,
 * because a deployed stack must not have a route that kills processes.
 */
export interface RunningLab {
  readonly url: string;
  readonly keeperPid: number;
}

/**
 * The lab is a separate process, so that it continues to run after a detached start.
 *
 * @param wanted the preferred port; another port is used if this one is taken
 * @throws StartFailure when the lab does not start
 */
export async function startLab(
  directory: string,
  wanted: number,
): Promise<{ readonly lab: RunningLab; readonly detach: () => void }> {
  const logFile = join(directory, LOG);
  const started = await startKeptServer({
    command: [process.execPath, PROGRAM, directory, String(wanted)],
    environment: isolatedEnvironment(),
    directory,
    logFile,
    line: /^(http:\/\/127\.0\.0\.1:\d+)$/m,
    withinMs: READY_WITHIN_MS,
  });
  if (started === undefined) throw new StartFailure(`The lab did not start (see ${logFile}).`);
  const { captured: url, keeperPid, detach } = started;
  return { lab: { url, keeperPid }, detach };
}
