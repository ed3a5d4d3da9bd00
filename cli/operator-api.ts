import { setTimeout as sleep } from 'node:timers/promises';
import { type Command, InvalidArgumentError, Option } from 'commander';
import * as z from 'zod';
import { stackOutputs } from './deployment.ts';
import { CliFailure, ExitCode } from './failure.ts';
import { readTenant } from './keys.ts';
import type { Session } from './session.ts';

export interface ApiAccess {
  /** Base URL of the API, without a trailing slash. */
  readonly url: string;
  readonly key: string;
}

export interface Caller {
  readonly variable: string;
  readonly ownerName: string;
  readonly local: 'operatorKey' | 'apiKey';
}

export const OPERATOR: Caller = { variable: 'PAYONCE_OPERATOR_KEY', ownerName: 'an operator', local: 'operatorKey' };
export const TENANT: Caller = { variable: 'PAYONCE_API_KEY', ownerName: 'a tenant', local: 'apiKey' };

interface Named {
  readonly url?: string;
  readonly key?: string;
}

/** Longer than the API's limit of 20 seconds for a response. */
const TIMEOUT_MS = 30_000;
const POLL_INTERVAL_MS = 1_000;

export const METHODS = ['GET', 'POST', 'PATCH', 'DELETE'] as const;
export type Method = (typeof METHODS)[number];

export const KEYED: readonly Method[] = ['POST', 'DELETE'];

export type AskApi = (method: Method, path: string, body?: object) => Promise<unknown>;

export function addAccess(command: Command, { variable, ownerName }: Caller = OPERATOR): void {
  command
    .option('--url <address>', 'base address of the API; the default is the output of the stack', withoutSlash)
    .option('--key <key>', `the key of ${ownerName}; the default is the environment variable ${variable}`);
}

export function addTenant(command: Command, does: string): void {
  command
    .option('--tenant <id>', does, readTenant)
    .addOption(new Option('--mode <mode>', 'the mode of the tenant').choices(['test', 'live']).default('test'));
}

/** Without `--tenant`, the mode would have no effect. @throws CliFailure */
export function refuseModeAlone(command: Command): void {
  if (command.getOptionValueSource('mode') === 'cli' && command.getOptionValue('tenant') === undefined)
    throw new CliFailure(ExitCode.usage, '--mode needs --tenant.');
}

/** Returns no header without `--tenant`. @throws as {@link refuseModeAlone} */
export function tenantOf(command: Command): Readonly<Record<string, string>> {
  refuseModeAlone(command);
  const { tenant, mode } = command.opts<{ readonly tenant?: string; readonly mode: string }>();
  return tenant === undefined ? {} : { 'payonce-tenant': `${tenant}/${mode}` };
}

/**
 * @param command the command with the options of {@link addAccess}
 * @param headers added to each request
 */
export function createApiCaller(
  session: Session,
  command: Command,
  caller: Caller = OPERATOR,
  headers: Readonly<Record<string, string>> = {},
): AskApi {
  return async (method, path, body) =>
    askApi(await locate(session, command, caller), method, path, { freshKey: session.freshKey, body, headers });
}

/** @throws CliFailure when the key is missing or contains invalid characters, or when the address is missing */
export async function locate(session: Session, command: Command, caller: Caller): Promise<ApiAccess> {
  const { url, key: given = process.env[caller.variable] ?? '' } = command.opts<Named>();
  // Shells and containers set empty variables, so an empty key is a missing key.
  const key = given.trim();
  // Check the key here, because an error of `fetch` would show the key. This message omits it.
  if (!/^[\x21-\x7e]*$/.test(key)) throw new CliFailure(ExitCode.settings, 'The key contains invalid characters.');
  const local = await session.local();
  if (local !== undefined) return { url: url ?? local.apiUrl, key: key === '' ? local[caller.local] : key };
  if (key === '')
    throw new CliFailure(
      ExitCode.settings,
      `No key is set: set ${caller.variable} or --key to the key of ${caller.ownerName}.`,
    );
  if (url !== undefined) return { url, key };
  const [apiUrl] = await stackOutputs(
    await session.aws(),
    'service',
    ['apiUrl'],
    'set the address of the API with --url.',
  );
  return { url: withoutSlash(apiUrl), key };
}

interface Request {
  readonly freshKey: () => string;
  readonly body?: object | undefined;
  readonly headers: Readonly<Record<string, string>>;
}

/** `cause` contains the problem document. */
export class Refusal extends CliFailure {
  readonly status: number;

  constructor(status: number, message: string, problem: unknown) {
    super(status === 404 ? ExitCode.notFound : ExitCode.refused, message, { cause: problem });
    this.status = status;
  }
}

const problem = z.object({ code: z.string(), detail: z.string(), param: z.string().optional() });

/**
 * @throws Refusal when the API returns an error. Its message contains the code, the detail and the invalid field, or
 * only the HTTP status if the response is not a problem document
 */
async function askApi(
  { url, key }: ApiAccess,
  method: Method,
  path: string,
  { freshKey, body, headers }: Request,
): Promise<unknown> {
  const type = method === 'GET' ? {} : { 'content-type': 'application/json' };
  const keyed = KEYED.includes(method) ? { 'idempotency-key': freshKey() } : {};
  const response = await fetch(`${url}${path}`, {
    method,
    headers: { ...type, ...keyed, ...headers, authorization: `Bearer ${key}` },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    redirect: 'error',
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  const answer: unknown = await response.json().catch(() => undefined);
  if (response.ok) return answer;
  const { data } = problem.safeParse(answer);
  throw new Refusal(
    response.status,
    data === undefined ? `The API returned HTTP ${response.status}.` : sentenceOfProblem(data),
    answer,
  );
}

function sentenceOfProblem({ code, detail, param = '' }: z.infer<typeof problem>): string {
  return detail.includes(param) ? `${code}: ${detail}` : `${code}: ${param}: ${detail}`;
}

/** @throws CliFailure when the response does not have the form of this version's API */
export function readAnswer<Shape>(schema: z.ZodType<Shape>, document: unknown): Shape {
  const { success, data } = schema.safeParse(document);
  if (success) return data;
  throw otherAnswer();
}

export function otherAnswer(): CliFailure {
  return new CliFailure(
    ExitCode.settings,
    'The response does not match the API of this version of Payonce: check --url.',
  );
}

/**
 * Polls every second.
 *
 * @returns the last state that was read, even if the object has not ended
 */
export async function untilEnded(
  first: unknown,
  again: () => Promise<unknown>,
  maxMinutes: number,
  hasEnded: (state: unknown) => boolean,
): Promise<unknown> {
  let state = first;
  for (let waitedMs = 0; waitedMs < maxMinutes * 60_000 && !hasEnded(state); waitedMs += POLL_INTERVAL_MS) {
    await sleep(POLL_INTERVAL_MS);
    state = await again();
  }
  return state;
}

function withoutSlash(address: string): string {
  if (!/^https?:\/\//.test(address) || !URL.canParse(address))
    throw new InvalidArgumentError(`${address} is not a URL. Example: https://api.example.`);
  return address.replace(/\/+$/, '');
}
