import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { invariant } from '../lambdas/kernel/invariant.ts';
import { type EmulatorAccess, emulatorEnvironment } from '../local/emulator-environment.ts';
import { startUnderKeeper, stopKept } from '../local/kept-process.ts';

const PROGRAM = join(import.meta.dirname, 'stopped-relay.ts');

/** Payonce's relay, which can be stopped. It restarts when this process ends, and after ten minutes at the latest. */
export class StoppableRelay {
  readonly #access: EmulatorAccess;
  #start: (() => Promise<void>) | undefined;

  constructor(access: EmulatorAccess) {
    this.#access = access;
  }

  /** @throws Error when the relay could not be stopped */
  async stop(relayFunction: string): Promise<void> {
    const keeper = startUnderKeeper({
      command: [process.execPath, PROGRAM, relayFunction],
      environment: emulatorEnvironment(this.#access),
      directory: import.meta.dirname,
      output: 'pipe',
    });
    const { pid, stdout, stderr } = keeper;
    invariant(pid !== undefined && stdout !== null && stderr !== null, 'the keeper was not started');
    const exited = once(keeper, 'exit') as Promise<[number | null]>;
    const errors = text(stderr);
    this.#start = async () => {
      await stopKept(pid);
      const [code] = await exited;
      if (code !== 0) throw new Error(`the relay could not be stopped and restarted: ${await errors}`);
    };
    await Promise.race([once(stdout, 'data'), exited]);
    if (keeper.exitCode !== null) await this.start();
  }

  /** Does nothing if the relay is running. @throws Error when the relay could not be restarted */
  async start(): Promise<void> {
    const start = this.#start;
    this.#start = undefined;
    await start?.();
  }
}
