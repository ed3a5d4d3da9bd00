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
import { startKept } from '../../../local/kept-process.ts';
import { signalProcess } from '../../../local/processes.ts';
import { until } from '../../support/until.ts';

/** What is missing on this machine for a broker of Kafka; undefined when nothing is. */
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

/** A real single node of Kafka, broker and controller in one (KRaft), with its jars from Maven. */
export class Kafka {
  /** Made at its first use: where Kafka is missing, the tests are skipped and remove nothing. */
  #made: string | undefined;
  #classpath = '';
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
    execFileSync('mvn', ['-q', '-B', '-f', pom, ...goal], { stdio: ['ignore', 'ignore', 'inherit'] });
    this.#classpath = readFileSync(written, 'utf8').trim();
    this.#port = await freePort(19_092);
    const controller = await freePort(19_093);
    const settings = {
      'process.roles': 'broker,controller',
      'node.id': '1',
      'controller.quorum.voters': `1@127.0.0.1:${controller}`,
      listeners: `PLAINTEXT://127.0.0.1:${this.#port},CONTROLLER://127.0.0.1:${controller}`,
      'controller.listener.names': 'CONTROLLER',
      'log.dirs': join(this.#directory, 'data'),
      'num.partitions': '2',
      'offsets.topic.replication.factor': '1',
      'group.initial.rebalance.delay.ms': '0',
    };
    const file = join(this.#directory, 'server.properties');
    writeFileSync(
      file,
      Object.entries(settings)
        .map(([name, value]) => `${name}=${value}\n`)
        .join(''),
    );
    const storage = ['kafka.tools.StorageTool', 'format', '-t', randomBytes(16).toString('base64url'), '-c', file];
    execFileSync('java', ['-cp', this.#classpath, ...storage], { stdio: 'ignore' });
    this.#keeper = startKept({
      command: ['java', '-Xmx384m', '-cp', this.#classpath, 'kafka.Kafka', file],
      environment: process.env,
      directory: this.#directory,
      output: 'pipe',
    });
    await until(() => this.#isListening());
  }

  async #isListening(): Promise<true | undefined> {
    const socket = connect(this.#port, '127.0.0.1');
    return new Promise((resolve) => {
      socket.once('connect', () => resolve(true)).once('error', () => resolve(undefined));
    }).finally(() => socket.destroy()) as Promise<true | undefined>;
  }

  async remove(): Promise<void> {
    const { pid, exitCode, signalCode } = this.#keeper ?? {};
    if (this.#keeper !== undefined && pid !== undefined && exitCode === null && signalCode === null) {
      const ended = once(this.#keeper, 'exit');
      signalProcess(-pid, 'SIGKILL');
      await ended;
    }
    if (this.#made !== undefined) rmSync(this.#made, { recursive: true, force: true });
  }

  get servers(): string {
    return `127.0.0.1:${this.#port}`;
  }

  #run(...args: readonly string[]): ChildProcess {
    // Nothing is compiled before: Java runs a single source file.
    const command = ['-Xmx128m', '-cp', this.#classpath, POLLER, ...args];
    return spawn('java', command, { stdio: ['pipe', 'pipe', 'inherit'] });
  }

  /** Writes records in their order. A record without a value is a tombstone. */
  async produce(records: readonly (readonly [partition: number, value?: string])[]): Promise<void> {
    const child = this.#run('produce', this.servers, TOPIC);
    const lines = records.map(([partition, value]) =>
      value === undefined ? `${partition}\n` : `${partition} ${Buffer.from(value).toString('base64')}\n`,
    );
    child.stdin?.end(lines.join(''));
    const [code] = (await once(child, 'exit')) as [number | null];
    if (code !== 0) throw new Error(`the producer ended with ${code}`);
  }

  /** A process of the group that polls. Kill it before it commits, and the next one gets the batch again. */
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

  /** The next batch, as Lambda invokes a function with it (AWS Lambda developer guide, "Using Lambda with self-managed Apache Kafka"). */
  async next(): Promise<SelfManagedKafkaEvent> {
    const line = await this.#lines.next();
    if (line.done === true) throw new Error('the poller has ended');
    const read = JSON.parse(line.value) as Batches[string];
    const records: Batches = Object.groupBy(read, ({ topic, partition }) => `${topic}-${partition}`) as Batches;
    return { eventSource: 'SelfManagedKafka', bootstrapServers: this.#servers, records };
  }

  /** Commits the offsets of the last batch. */
  commit(): void {
    this.#child.stdin?.write('done\n');
  }

  async kill(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    this.#child.kill('SIGKILL');
    await once(this.#child, 'exit');
  }
}
