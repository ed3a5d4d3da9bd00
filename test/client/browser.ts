import { type ChildProcess, execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { PROJECT } from '../../local/directories.ts';
import { startUnderKeeper } from '../../local/kept-process.ts';
import { runningProcesses, signalProcess } from '../../local/processes.ts';
import { until } from '../support/until.ts';

/** The package `@sparticuz/chromium` contains Chromium only for this platform. */
export const HAS_BROWSER = process.platform === 'linux' && process.arch === 'x64';

/**
 * Longer than any wait on a busy machine but shorter than the time limit of a test, so a test reports the error of the
 * wait.
 */
const PATIENCE_MS = 300_000;

/** All runs share this folder, because unpacking takes some seconds of CPU time. */
function unpacked(): string {
  const source = join(PROJECT, 'node_modules', '@sparticuz', 'chromium', 'package.json');
  const { version } = JSON.parse(readFileSync(source, 'utf8')) as { readonly version: string };
  return join(PROJECT, '.payonce', 'cache', `browser-${version}`);
}

/** Can be killed and restarted with the same profile, and never outlives its test. */
export class RealBrowser {
  readonly #folder: string;
  #process: ChildProcess | undefined;
  #control: Browser | undefined;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  /** @param folder absolute path of the folder for the profile */
  static unpack(folder: string): RealBrowser {
    const files = unpacked();
    if (!existsSync(files)) {
      mkdirSync(dirname(files), { recursive: true });
      // The system's temporary folder may be on another file system, so the draft could not be renamed.
      const draft = mkdtempSync(`${files}-`);
      // With AWS_EXECUTION_ENV, `@sparticuz/chromium` adds libraries that are missing on a minimal system.
      const env = { ...process.env, TMPDIR: draft, AWS_EXECUTION_ENV: 'AWS_Lambda_nodejs24.x' };
      try {
        execFileSync(process.execPath, [join(import.meta.dirname, 'unpack-browser.ts')], { env });
        renameSync(draft, files);
      } catch (error) {
        rmSync(draft, { recursive: true, force: true });
        // Another run may have unpacked the browser first.
        if (!existsSync(files)) throw error;
      }
    }
    return new RealBrowser(folder);
  }

  /** All pages share the stored data of the origin. */
  async open(url: string): Promise<Page> {
    this.#control ??= await this.#start();
    const page = await this.#control.contexts()[0]?.newPage();
    if (page === undefined) throw new Error('the browser has no context');
    page.setDefaultTimeout(PATIENCE_MS);
    await page.goto(url);
    return page;
  }

  /** Has its own stored data, and is faster than a second browser. */
  async newContext(settings: BrowserContextOptions = {}): Promise<BrowserContext> {
    this.#control ??= await this.#start();
    const context = await this.#control.newContext({ viewport: null, ...settings });
    context.setDefaultTimeout(PATIENCE_MS);
    return context;
  }

  /** One signal kills all processes, as in a crash. */
  async kill(): Promise<void> {
    const { pid, exitCode, signalCode } = this.#process ?? {};
    if (pid !== undefined && exitCode === null && signalCode === null) {
      signalProcess(-pid, 'SIGKILL');
      // The next browser uses the same profile.
      await until(async () => (runningProcesses().some(({ group }) => group === pid) ? undefined : true));
    }
    this.#process = undefined;
    this.#control = undefined;
  }

  async #start(): Promise<Browser> {
    const [folder, files] = [this.#folder, unpacked()];
    const own = ['--remote-debugging-port=0', `--user-data-dir=${join(folder, 'profile')}`];
    const flags = [
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      '--disable-dev-shm-usage',
      '--no-first-run',
      ...own,
      'about:blank',
    ];
    const keeper = startUnderKeeper({
      command: [join(files, 'chromium'), ...flags],
      environment: { ...process.env, TMPDIR: folder, LD_LIBRARY_PATH: join(files, 'al2023', 'lib') },
      directory: folder,
      output: 'pipe',
    });
    this.#process = keeper;
    const { stdout, stderr } = keeper;
    if (stdout === null || stderr === null) throw new Error('the browser has no standard error stream');
    stdout.resume();
    const said: string[] = [];
    for await (const line of createInterface({ input: stderr })) {
      const address = /^DevTools listening on (ws:\S+)$/.exec(line)?.[1];
      if (address !== undefined) {
        stderr.resume();
        return chromium.connectOverCDP(address, { timeout: PATIENCE_MS });
      }
      said.push(line);
    }
    throw new Error(`the browser did not start: ${said.join('\n')}`);
  }
}
