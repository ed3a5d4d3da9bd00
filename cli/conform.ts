import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { Webhook } from 'standardwebhooks';
import { MAX_CALLBACK_BYTES } from '../lambdas/kernel/contract/limits.ts';
import { defined } from '../lambdas/kernel/defined.ts';
import { isFromPage } from '../lambdas/kernel/page-request.ts';
import { systemClock } from '../lambdas/kernel/platform/platform.ts';
import {
  BOOKS_TIMEOUT_MS,
  LIST_TIMEOUT_MS,
  LOOKUP_TIMEOUT_MS,
  SEND_TIMEOUT_MS,
} from '../lambdas/payments/use/processor.ts';
import { schemeNames } from '../lambdas/processors/contract.ts';
import { PROCESSORS } from '../lambdas/processors/registry.ts';
import { ABILITY_LIST } from '../lambdas/processors/sandbox/contract.ts';
import { abilitiesWithout } from '../lambdas/processors/sandbox/sandbox-abilities.ts';
import type { SandboxEvent } from '../lambdas/processors/sandbox/sandbox-api.ts';
import { signatureScheme } from '../lambdas/processors/signatures/verify-callback.ts';
import { type Answered, type Asked, type Callbacks, conform, POINTS } from './conformance.ts';
import { CliFailure, ExitCode } from './failure.ts';
import { readCountOf, type Session, table } from './session.ts';

const MAX_SECONDS = 3_600;
const SCHEMES = schemeNames(PROCESSORS);

interface Options {
  readonly signingKey?: string;
  readonly secret?: string;
  readonly source: string;
  readonly declined: string;
  readonly disputed?: string;
  readonly without?: string;
  readonly lag?: number;
  readonly callbackPort?: number;
  readonly callbackScheme: string;
  readonly callbackSecret?: string;
  readonly patience: number;
}

export function addConform(program: Command, session: Session): void {
  program
    .command('conform <url>')
    .description(
      'checks whether your processor implements the protocol of processorUrl (docs/guides/processor-protocol.md); it creates charges: use it in test mode',
    )
    .option(
      '--signing-key <whsec>',
      'the secret that signs the calls, in the format of the secret ProcessorSigningKey',
      readKey,
    )
    .option('--secret <text>', 'a bearer token that is sent instead of a signature, as for the sandbox')
    .option('--source <source>', 'a source that is charged immediately', 'tok_ok')
    .option('--declined <source>', 'a source that is declined', 'tok_declined')
    .option('--disputed <source>', 'a source that is disputed after the charge')
    .option(
      '--without <abilities>',
      `abilities that the processor lacks and refuses with 400, as in the setting processorWithout: ${ABILITY_LIST.allowed}`,
      readAbilities,
    )
    .option(
      '--lag <seconds>',
      'maximum delay until a look-up by key finds a charge; the default is no delay',
      readCountOf(MAX_SECONDS),
    )
    .option(
      '--callback-port <n>',
      'receive callbacks on this port of 127.0.0.1; a processor on another machine needs a tunnel to it',
      readCountOf(65_535),
    )
    .option('--callback-secret <text>', 'the secret that signs the callbacks')
    .addOption(
      new Option('--callback-scheme <name>', 'the signature scheme, as in the setting callbackScheme')
        .choices(SCHEMES)
        .default('sandbox'),
    )
    .option('--patience <seconds>', 'maximum wait for callbacks, in seconds', readCountOf(MAX_SECONDS), 60)
    .action(async (given: string, options: Options) => {
      const url = readUrl(given);
      const receiver = await receiverOf(options);
      try {
        const { source: ok, declined, disputed, lag = 0 } = options;
        const subject = {
          ask: asker(url, options),
          freshKey: () => `conform_${randomUUID()}`,
          sources: { ok, declined, ...defined({ disputed }) },
          lagMs: lag * 1_000,
          wait: async (milliseconds: number) => sleep(milliseconds),
          abilities: abilitiesWithout(options.without),
          isSigned: options.signingKey !== undefined || options.secret !== undefined,
          ...defined({ callbacks: receiver?.callbacks }),
        };
        const data = await session.during(`Examining ${url}`, (report) => conform(subject, report));
        const musts = new Map(POINTS.map(({ name, must }) => [name, must]));
        const rows = data.map(({ point, result, seen }) => [point, result, seen ?? musts.get(point) ?? '']);
        session.show({ url, data }, table(['POINT', 'RESULT', 'WHAT'], rows));
        const failed = data.filter(({ result }) => result === 'failed');
        if (failed.length > 0)
          throw new CliFailure(
            ExitCode.incomplete,
            `${failed.length} of ${data.length} points failed: ${failed.map(({ point }) => point).join(', ')}.`,
          );
      } finally {
        receiver?.close();
      }
    });
}

function asker(url: string, { signingKey, secret }: Options) {
  return async (method: 'GET' | 'POST', path: string, { key, body, unsigned }: Asked = {}): Promise<Answered> => {
    const text = body === undefined ? '' : JSON.stringify(body);
    const id = `msg_${randomUUID()}`;
    const now = new Date(Math.floor(Date.now() / 1_000) * 1_000);
    const signature =
      signingKey === undefined || unsigned === true
        ? {}
        : {
            'webhook-id': id,
            'webhook-timestamp': String(now.getTime() / 1_000),
            'webhook-signature': new Webhook(signingKey).sign(id, now, text),
          };
    const response = await fetch(`${url}${path}`, {
      method,
      headers: {
        ...signature,
        ...(secret === undefined || unsigned === true ? {} : { authorization: `Bearer ${secret}` }),
        ...defined({ 'idempotency-key': key }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: text }),
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutMs(method, path)),
    });
    const parsed: unknown = await response.json().catch(() => undefined);
    return { status: response.status, body: parsed };
  };
}

/** Payonce uses the same timeout for the same request. */
function timeoutMs(method: 'GET' | 'POST', path: string): number {
  if (method === 'POST') return SEND_TIMEOUT_MS;
  if (path.startsWith('/charges?key=')) return LOOKUP_TIMEOUT_MS;
  return path.startsWith('/charges?created_from=') ? LIST_TIMEOUT_MS : BOOKS_TIMEOUT_MS;
}

/**
 * @returns undefined when no port is given
 * @throws CliFailure when the secret is missing, or the port cannot be opened
 */
async function receiverOf({ callbackPort, callbackScheme, callbackSecret, patience }: Options) {
  if (callbackPort === undefined) return undefined;
  if (callbackSecret === undefined)
    throw new CliFailure(
      ExitCode.usage,
      'With --callback-port, set --callback-secret to the secret that signs the callbacks.',
    );
  const { callbacks, receive } = await callbackReceiver(callbackScheme, callbackSecret, patience * 1_000);
  const server = await listenForCallbacks(receive, callbackPort).catch((error: unknown) => {
    throw new CliFailure(ExitCode.settings, `Callbacks cannot be received on port ${callbackPort}: ${String(error)}`);
  });
  const close = (): void => {
    server.closeAllConnections();
    server.close();
  };
  return { callbacks, close };
}

/** @throws Error when the port is taken */
export async function listenForCallbacks(receive: Receive, port: number): Promise<Server> {
  const server = createServer((request, response) => {
    // An aborted request gets no response.
    answerCallback(request, receive).then(
      (status) => response.writeHead(status).end(),
      () => response.destroy(),
    );
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  return server;
}

/** Does not check the Host header, because tunnels use their own host name and callbacks are signed. */
async function answerCallback(request: IncomingMessage, receive: Receive): Promise<number> {
  if (isFromPage(request.headers)) return 403;
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    // Read the whole body, so that the sender receives the response.
    if (bytes <= MAX_CALLBACK_BYTES) chunks.push(chunk);
  }
  if (bytes > MAX_CALLBACK_BYTES) return 413;
  return receive(request.headersDistinct, Buffer.concat(chunks)).catch(() => 400);
}

type Receive = (headers: NodeJS.Dict<string[]>, body: Buffer) => Promise<number>;

/** @param scheme a value of the setting `callbackScheme` */
export async function callbackReceiver(
  scheme: string,
  secret: string,
  patienceMs: number,
  clock: Pick<typeof systemClock, 'nowMs'> = systemClock,
) {
  const signature = await signatureScheme(scheme, PROCESSORS);
  const received: SandboxEvent[] = [];
  const refusing = new Set<string>();
  const receive: Receive = async (headers, body) => {
    const callback = { body, header: (name: string) => headers[name] ?? [] };
    const verdict = await signature.verify(callback, [secret], clock.nowMs());
    if (verdict.kind === 'refused') return 401;
    const event = JSON.parse(body.toString('utf8')) as SandboxEvent;
    received.push(event);
    return refusing.delete(event.data.payment ?? '') ? 500 : 200;
  };
  const callbacks: Callbacks = {
    about: (charge) => received.filter(({ data }) => data.charge === charge),
    refuseFirst: (payment) => void refusing.add(payment),
    patienceMs,
  };
  return { callbacks, receive };
}

function readUrl(text: string): string {
  if (/^https?:\/\//.test(text) && URL.canParse(text)) return text.replace(/\/+$/, '');
  throw new CliFailure(ExitCode.usage, `${text} is not a URL. Example: https://processor.example.`);
}

function readAbilities(text: string): string {
  if (ABILITY_LIST.pattern.test(text)) return text;
  throw new InvalidArgumentError(`it must be ${ABILITY_LIST.allowed}.`);
}

function readKey(text: string): string {
  if (/^whsec_[A-Za-z0-9+/=]+$/.test(text)) return text;
  throw new InvalidArgumentError('it must be whsec_ followed by base64.');
}
