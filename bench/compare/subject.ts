import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { isolatedEnvironment } from '../../local/emulator-environment.ts';
import type { LocalAws } from '../../local/local-aws.ts';
import type { Postgres } from '../postgres.ts';
import { Calls } from './calls.ts';
import { type Contender, environmentOf } from './contenders.ts';
import { type Gate, openHttpGate } from './http-gate.ts';
import { openPostgresGate } from './postgres-gate.ts';
import type { Services } from './services.ts';
import type { Report, Request } from './subject-process.ts';

export interface Surroundings {
  readonly aws: Pick<LocalAws, 'tables' | 'accessKeyId'>;
  readonly services: Services;
  readonly postgres: Postgres | undefined;
}

/** The status is 0 if the process died before it responded. */
export interface Answer {
  readonly status: number;
  readonly body: string;
}

const PROGRAM = join(import.meta.dirname, 'subject-process.ts');

/**
 * The proxies through which one contender instance calls the HTTP services and PostgreSQL, so that each call can be
 * stopped. A restarted process uses the same ports.
 */
export class CallProxies {
  readonly calls = new Calls();
  readonly #opened: Gate[] = [];
  #httpPort = 0;
  #postgresUrl: string | undefined;

  private constructor() {}

  static async open({ services, postgres }: Surroundings): Promise<CallProxies> {
    const proxies = new CallProxies();
    const http = await openHttpGate(proxies.calls, (request) => services.answer(request));
    proxies.#opened.push(http);
    proxies.#httpPort = http.port;
    if (postgres !== undefined) {
      const database = await openPostgresGate(proxies.calls, postgres.port);
      proxies.#opened.push(database);
      proxies.#postgresUrl = postgres.url(database.port);
    }
    return proxies;
  }

  get addresses() {
    return { port: this.#httpPort, postgresUrl: this.#postgresUrl };
  }

  close(): void {
    for (const gate of this.#opened) gate.close();
  }
}

export class Subject {
  readonly calls: Calls;
  readonly #child: ChildProcess;
  readonly #services: Services;

  private constructor(calls: Calls, child: ChildProcess, services: Services) {
    this.calls = calls;
    this.#child = child;
    this.#services = services;
  }

  /**
   * @param instance distinguishes concurrent processes of a contender
   * @throws Error if the process ends before it is ready
   */
  static async start(
    contender: Contender,
    { aws, services }: Surroundings,
    proxies: CallProxies,
    instance: string,
  ): Promise<Subject> {
    const child = fork(PROGRAM, {
      execArgv: ['--disable-warning=ExperimentalWarning', '--disable-warning=DeprecationWarning'],
      env: {
        ...isolatedEnvironment(),
        ...environmentOf(contender, { ...aws, ...proxies.addresses }),
        DBOS__VMID: instance,
      },
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    const subject = new Subject(proxies.calls, child, services);
    if ((await subject.#nextReport()) === undefined)
      throw new Error(`the process of ${contender.name} exited before it was ready`);
    return subject;
  }

  async pay(key: string): Promise<Answer> {
    const report = await this.#ask({ kind: 'pay', key });
    return report?.kind === 'paid' ? report : { status: 0, body: '' };
  }

  /** The mean CPU time of a payment, in milliseconds. @throws Error if a payment fails */
  async measure(keys: readonly string[]): Promise<number> {
    const report = await this.#ask({ kind: 'measure', keys });
    if (report?.kind !== 'measured') throw new Error('a measured payment failed');
    return report.cpuMs;
  }

  async kill(): Promise<void> {
    if (!this.#isRunning) return;
    const ended = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await ended;
  }

  async #ask(
    asked: Omit<Extract<Request, { kind: 'pay' }>, 'aheadMs'> | Omit<Extract<Request, { kind: 'measure' }>, 'aheadMs'>,
  ) {
    const report = this.#nextReport();
    this.#child.send({ ...asked, aheadMs: this.#services.aheadMs }, () => undefined);
    return report;
  }

  get #isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  async #nextReport(): Promise<Report | undefined> {
    if (!this.#isRunning) return undefined;
    const ended = new AbortController();
    const message = once(this.#child, 'message', { signal: ended.signal }).then(
      ([report]) => report as Report,
      () => undefined,
    );
    const end = once(this.#child, 'exit', { signal: ended.signal }).then(
      () => undefined,
      () => undefined,
    );
    const report = await Promise.race([message, end]);
    ended.abort();
    return report;
  }
}
