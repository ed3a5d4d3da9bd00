import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { SelfManagedKafkaEvent } from 'aws-lambda';
import { freePort } from '../../../local/free-port.ts';
import { runKept, startUnderKeeper } from '../../../local/kept-process.ts';
import { runningProcesses, signalProcess } from '../../../local/processes.ts';
import { until } from '../../support/until.ts';

/** Returns the first program that is missing or too old; undefined if there is none. */
export function missingForKafka(): string | undefined {
  const versions: Readonly<Record<string, readonly string[]>> = {
    'Java 17 or later': ['java', '--version'],
    'a Java compiler': ['javac', '--version'],
    Maven: ['mvn', '--version'],
  };
  return Object.entries(versions).find(([what, [program = '', option = '']]) => {
    try {
      const said = execFileSync(program, [option], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
      return what.startsWith('Java') && Number(/(\d+)/.exec(said)?.[1]) < 17;
    } catch {
      return true;
    }
  })?.[0];
}

const TOPIC = 'payments';
const POLLER = join(import.meta.dirname, 'Poller.java');
/** An attempt to start the broker fails if another program has taken one of its ports. */
const MAX_STARTS = 5;

/**
 * A single-node Kafka (KRaft) whose broker is also its controller. It runs from Maven jars, and its processes end with
 * the test process.
 */
export class Kafka {
  /** Created on first use, so that skipped tests leave nothing to remove. */
  #made: string | undefined;
  #classpath = '';
  readonly #children = new Set<ChildProcess>();
  #keeper: ChildProcess | undefined;
  #port = 0;

  get #directory(): string {
    this.#made ??= mkdtempSync(join(tmpdir(), 'payonce-kafka-'));
    return this.#made;
  }

  async start(): Promise<void> {
    const written = join(this.#directory, 'classpath');
    const pom = join(import.meta.dirname, 'pom.xml');
    const goal = ['dependency:build-classpath', `-Dmdep.outputFile=${written}`, '-DincludeScope=runtime'];
    await this.#complete('mvn', '-q', '-B', '-f', pom, ...goal);
    this.#classpath = readFileSync(written, 'utf8').trim();
    for (let starts = 1; !(await this.#startBroker(starts)); starts += 1)
      if (starts === MAX_STARTS) throw new Error(`the broker ended at each of ${MAX_STARTS} starts`);
  }

  async #complete(...command: readonly string[]): Promise<void> {
    const { code, lines } = await runKept({ command, environment: process.env, directory: this.#directory });
    if (code !== 0) throw new Error(`${command[0]} ended with ${code}: ${lines.join('\n')}`);
  }

  /** Returns false if the broker ended because another program uses one of its ports. */
  async #startBroker(number: number): Promise<boolean> {
    this.#port = await freePort(0);
    const controller = await freePort(0);
    const settings = {
      'process.roles': 'broker,controller',
      'node.id': '1',
      'controller.quorum.voters': `1@127.0.0.1:${controller}`,
      listeners: `PLAINTEXT://127.0.0.1:${this.#port},CONTROLLER://127.0.0.1:${controller}`,
      'controller.listener.names': 'CONTROLLER',
      'log.dirs': join(this.#directory, `data-${number}`),
      'num.partitions': '2',
      'offsets.topic.replication.factor': '1',
      'group.initial.rebalance.delay.ms': '0',
    };
    const file = join(this.#directory, `server-${number}.properties`);
    writeFileSync(
      file,
      Object.entries(settings)
        .map(([name, value]) => `${name}=${value}\n`)
        .join(''),
    );
    const storage = ['kafka.tools.StorageTool', 'format', '-t', randomBytes(16).toString('base64url'), '-c', file];
    await this.#complete('java', '-cp', this.#classpath, ...storage);
    const keeper = startUnderKeeper({
      command: ['java', '-Xmx384m', '-cp', this.#classpath, 'kafka.Kafka', file],
      environment: process.env,
      directory: this.#directory,
      output: 'pipe',
    });
    this.#keeper = keeper;
    keeper.stdout?.resume();
    keeper.stderr?.pipe(process.stderr);
    return until(async () => {
      if (keeper.exitCode !== null || keeper.signalCode !== null) return false;
      return this.#isListening();
    });
  }

  async #isListening(): Promise<true | undefined> {
    const socket = connect(this.#port, '127.0.0.1');
    return new Promise((resolve) => {
      socket.once('connect', () => resolve(true)).once('error', () => resolve(undefined));
    }).finally(() => socket.destroy()) as Promise<true | undefined>;
  }

  async remove(): Promise<void> {
    for (const child of this.#children) await end(child);
    const { pid, exitCode, signalCode } = this.#keeper ?? {};
    if (this.#keeper !== undefined && pid !== undefined) {
      if (exitCode === null && signalCode === null) signalProcess(-pid, 'SIGKILL');
      // The broker writes into the directory until it has ended.
      await until(async () => (runningProcesses().some(({ group }) => group === pid) ? undefined : true));
    }
    if (this.#made !== undefined) rmSync(this.#made, { recursive: true, force: true });
  }

  get servers(): string {
    return `127.0.0.1:${this.#port}`;
  }

  #run(...args: readonly string[]): ChildProcess {
    // Java runs a single source file without a separate compilation.
    const command = ['-Xmx128m', '-cp', this.#classpath, POLLER, ...args];
    const child = spawn('java', command, { stdio: ['pipe', 'pipe', 'inherit'] });
    // Errors of the pipe are ignored, because the exit event reports that the process has ended.
    child.stdin.on('error', () => undefined);
    this.#children.add(child);
    return child;
  }

  /** A record without a value is a tombstone. */
  async produce(records: readonly (readonly [partition: number, value?: string])[]): Promise<void> {
    const child = this.#run('produce', this.servers, TOPIC);
    const lines = records.map(([partition, value]) =>
      value === undefined ? `${partition}\n` : `${partition} ${Buffer.from(value).toString('base64')}\n`,
    );
    child.stdin?.write(`${lines.join('')}done\n`);
    const [code] = (await once(child, 'exit')) as [number | null];
    if (code !== 0) throw new Error(`the producer ended with ${code}`);
  }

  /** If the member is killed before it commits, the next member receives the same batch. */
  poll(group: string, mostRecords: number): Poller {
    return new Poller(this.#run('poll', this.servers, TOPIC, group, String(mostRecords)), this.servers);
  }
}

type Batches = SelfManagedKafkaEvent['records'];

export class Poller {
  readonly #child: ChildProcess;
  readonly #servers: string;
  readonly #lines: AsyncIterator<string>;

  constructor(child: ChildProcess, servers: string) {
    this.#child = child;
    this.#servers = servers;
    if (child.stdout === null) throw new Error('the poller has no output');
    this.#lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  }

  /** The AWS Lambda developer guide describes the format ("Using Lambda with self-managed Apache Kafka"). */
  async next(): Promise<SelfManagedKafkaEvent> {
    const line = await this.#lines.next();
    if (line.done === true) throw new Error('the poller has ended');
    const read = JSON.parse(line.value) as Batches[string];
    const records: Batches = Object.groupBy(read, ({ topic, partition }) => `${topic}-${partition}`) as Batches;
    return { eventSource: 'SelfManagedKafka', bootstrapServers: this.#servers, records };
  }

  commit(): void {
    this.#child.stdin?.write('done\n');
  }

  kill(): Promise<void> {
    return end(this.#child);
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}
