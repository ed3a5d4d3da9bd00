import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { promisify } from 'node:util';
import {
  CreateQueueCommand,
  DeleteMessageBatchCommand,
  type Message,
  ReceiveMessageCommand,
  SQSClient,
} from '@aws-sdk/client-sqs';
import { jetstreamManager, RetentionPolicy, StorageType } from '@nats-io/jetstream';
import { type ConnectionOptions, connect, type NatsConnection } from '@nats-io/transport-node';
import { PROJECT } from '../../local/directories.ts';
import { emulatorEnvironment } from '../../local/emulator-environment.ts';
import { freePort } from '../../local/free-port.ts';
import { startUnderKeeper } from '../../local/kept-process.ts';
import { signalProcess } from '../../local/processes.ts';
import { ensurePython } from '../../local/python-environment.ts';
import { CREDENTIALS, emulatedAws } from '../support/local-aws.ts';
import { until } from '../support/until.ts';

export const LOGIN = { user: 'shop', pass: 'secret' };

/** A real server with a file store. It can be killed and restarted on the same port and store. */
export class NatsServer {
  readonly #directory = mkdtempSync(join(tmpdir(), 'payonce-nats-'));
  #keeper: ChildProcess | undefined;
  readonly #access: string;
  readonly #login: ConnectionOptions;
  port = 0;

  /**
   * @param access the authentication block of the server configuration
   * @param login the connection options of the test's client
   */
  constructor(access: string, login: ConnectionOptions = LOGIN) {
    this.#access = access;
    this.#login = login;
  }

  async start(): Promise<void> {
    const program = join(dirname(await ensurePython()), 'nats-server');
    const config = join(this.#directory, 'server.conf');
    if (!existsSync(config)) {
      // The preferred port is unique to this process and below the ephemeral range, so it stays free after a kill.
      this.port = await freePort(10_000 + (process.pid % 20_000));
      writeFileSync(
        config,
        `listen: "127.0.0.1:${this.port}"\njetstream { store_dir: "${this.#directory}" }\n${this.#access}\n`,
      );
    }
    this.#keeper = startUnderKeeper({
      command: [program, '-c', config, '-l', join(this.#directory, 'server.log')],
      environment: process.env,
      directory: this.#directory,
      output: 'pipe',
    });
  }

  async kill(): Promise<void> {
    const { pid, exitCode, signalCode } = this.#keeper ?? {};
    if (this.#keeper === undefined || pid === undefined || exitCode !== null || signalCode !== null) return;
    const ended = once(this.#keeper, 'exit');
    signalProcess(-pid, 'SIGKILL');
    await ended;
  }

  async remove(): Promise<void> {
    await this.kill();
    rmSync(this.#directory, { recursive: true, force: true });
  }

  /** The client reconnects after every kill of the server. */
  async connect(): Promise<NatsConnection> {
    return connect({
      servers: `127.0.0.1:${this.port}`,
      ...this.#login,
      waitOnFirstConnect: true,
      maxReconnectAttempts: -1,
      reconnectTimeWait: 100,
    });
  }
}

type Verdict = 'pass' | 'refuse';

/** A test intercepts each request before the local AWS receives it, and each response before the bridge receives it. */
export class SqsGate {
  before: (action: string, body: string) => Promise<Verdict> | Verdict = () => 'pass';
  after: (action: string, body: string) => Promise<void> | void = () => undefined;
  atOnce = 0;
  mostAtOnce = 0;
  readonly #server = createServer((call, answer) => void this.#serve(call, answer));

  async open(): Promise<void> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  get endpoint(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  through(queueUrl: string): string {
    return `${this.endpoint}${new URL(queueUrl).pathname}`;
  }

  async #serve(call: IncomingMessage, answer: ServerResponse): Promise<void> {
    const body = await buffer(call);
    const text = body.toString('utf8');
    const [, action = ''] = String(call.headers['x-amz-target']).split('.');
    this.atOnce += 1;
    this.mostAtOnce = Math.max(this.mostAtOnce, this.atOnce);
    try {
      if ((await this.before(action, text)) === 'refuse') {
        answer.writeHead(500, { 'content-type': 'application/x-amz-json-1.0' }).end('{"__type":"InternalFailure"}');
        return;
      }
      const { host: _, connection: __, 'content-length': ___, ...headers } = call.headers;
      const got = await fetch(new URL(call.url ?? '/', emulatedAws().awsEndpoint), {
        method: 'POST',
        headers: headers as Record<string, string>,
        body,
      });
      const content = Buffer.from(await got.arrayBuffer());
      await this.after(action, text);
      answer.writeHead(got.status, { 'content-type': got.headers.get('content-type') ?? '' }).end(content);
    } catch (error) {
      answer.destroy(error as Error);
    } finally {
      this.atOnce -= 1;
    }
  }
}

export class BridgeProcess {
  static #bundle: Promise<string> | undefined;
  readonly #child: ChildProcess;
  readonly lines: string[] = [];

  private constructor(child: ChildProcess) {
    this.#child = child;
    child.stdout?.setEncoding('utf8').on('data', (text: string) => this.lines.push(...text.split('\n')));
  }

  static async start(endpoint: string, variables: Readonly<Record<string, string>>): Promise<BridgeProcess> {
    BridgeProcess.#bundle ??= BridgeProcess.#build();
    const child = spawn(process.execPath, [await BridgeProcess.#bundle], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: {
        ...emulatorEnvironment({ awsEndpoint: endpoint, accessKeyId: emulatedAws().accessKeyId }),
        HEALTH_PORT: '0',
        ...variables,
      },
    });
    return new BridgeProcess(child);
  }

  static async #build(): Promise<string> {
    const file = join(mkdtempSync(join(tmpdir(), 'payonce-bridge-')), 'bridge.cjs');
    // The temporary folder must be empty after the tests.
    const env = { ...process.env, NODE_DISABLE_COMPILE_CACHE: '1' };
    const build = ['run', '--silent', 'bridge:build', '--', `--outfile=${file}`];
    await promisify(execFile)('npm', build, { cwd: PROJECT, env });
    return file;
  }

  static async removeBundle(): Promise<void> {
    if (BridgeProcess.#bundle !== undefined) rmSync(dirname(await BridgeProcess.#bundle), { recursive: true });
  }

  async health(): Promise<{ readonly status: number; readonly body: Health }> {
    const port = await until(async () => /health check on port (\d+)/.exec(this.lines.join('\n'))?.[1]);
    const answer = await fetch(`http://127.0.0.1:${port}/health`);
    return { status: answer.status, body: (await answer.json()) as Health };
  }

  /**
   * Sends nothing if the process had already ended.
   * @returns the exit code, or the signal that ended the process; null if a signal had already ended it
   */
  async end(signal: NodeJS.Signals): Promise<number | NodeJS.Signals | null> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return this.#child.exitCode;
    this.#child.kill(signal);
    return this.ended();
  }

  kill(): void {
    this.#child.kill('SIGKILL');
  }

  async ended(): Promise<number | NodeJS.Signals | null> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) await once(this.#child, 'exit');
    return this.#child.exitCode ?? this.#child.signalCode;
  }
}

interface Health {
  readonly status: string;
  readonly nats: { readonly connected: boolean; readonly reconnects: number };
  readonly requests?: Counts;
  readonly events?: Counts;
}

interface Counts {
  readonly carried: number;
  readonly failures: number;
  readonly failing: boolean;
  readonly redelivered: number;
  readonly parked: number;
}

let made = 0;
export const unique = (prefix: string): string => `${prefix}-${process.pid}-${(made += 1)}`;

export function sqsClient(): SQSClient {
  const { awsEndpoint: endpoint, region } = emulatedAws();
  return new SQSClient({ endpoint, region, credentials: CREDENTIALS });
}

/** @param hiddenForSeconds the visibility timeout */
export async function makeQueue(sqs: SQSClient, hiddenForSeconds = 30): Promise<string> {
  const attributes = { VisibilityTimeout: String(hiddenForSeconds) };
  const { QueueUrl = '' } = await sqs.send(
    new CreateQueueCommand({ QueueName: unique('bridge'), Attributes: attributes }),
  );
  return QueueUrl;
}

export async function takeUntil(
  sqs: SQSClient,
  QueueUrl: string,
  isEnough: (messages: readonly Message[]) => boolean,
): Promise<readonly Message[]> {
  const taken: Message[] = [];
  await until(async () => {
    const { Messages = [] } = await sqs.send(
      new ReceiveMessageCommand({ QueueUrl, MaxNumberOfMessages: 10, MessageAttributeNames: ['All'] }),
    );
    taken.push(...Messages);
    if (Messages.length > 0) {
      const Entries = Messages.map(({ ReceiptHandle }, index) => ({ Id: String(index), ReceiptHandle }));
      await sqs.send(new DeleteMessageBatchCommand({ QueueUrl, Entries }));
    }
    return isEnough(taken) ? taken : undefined;
  });
  return taken;
}

export async function makeStream(nats: NatsConnection, ...subjects: string[]): Promise<string> {
  const name = unique('stream');
  const manager = await jetstreamManager(nats);
  await manager.streams.add({ name, subjects, storage: StorageType.File, retention: RetentionPolicy.Limits });
  return name;
}
