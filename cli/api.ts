import { type Command, InvalidArgumentError } from 'commander';
import * as z from 'zod';
import { parseIdempotencyKey } from '../lambdas/kernel/idempotency-key.ts';
import { CliFailure, ExitCode } from './failure.ts';
import {
  addAccess,
  addTenant,
  createApiCaller,
  KEYED,
  METHODS,
  type Method,
  OPERATOR,
  Refusal,
  readAnswer,
  tenantOf,
} from './operator-api.ts';
import type { Session } from './session.ts';

interface Options {
  readonly data?: object;
  readonly idempotencyKey?: string;
  readonly tenant?: string;
}

export function addApi(program: Command, session: Session): void {
  const command = program
    .command('api')
    .description('sends one request to the API with the key of an operator, and prints the response')
    .argument('<method>', METHODS.join(', '), readMethod)
    .argument('<path>', 'with the query, for example /v1/admin/mismatches?limit=5', readPath)
    .option('--data <json>', 'the body, a JSON object', readObject)
    .option(
      '--idempotency-key <key>',
      'for POST and DELETE: requests with the same key take effect once; the default is a new key, printed on standard error before the request is sent',
      readKey,
    );
  addTenant(command, 'the tenant that the request is for');
  addAccess(command);
  command.action(async (method: Method, path: string, { data, idempotencyKey, tenant }: Options) => {
    const isKeyed = KEYED.includes(method);
    if (data !== undefined && method === 'GET') throw unused(method, 'body', '--data');
    if (idempotencyKey !== undefined && !isKeyed) throw unused(method, 'idempotency key', '--idempotency-key');
    const key = idempotencyKey ?? session.freshKey();
    const ask = createApiCaller(session, command, OPERATOR, {
      ...tenantOf(command),
      ...(isKeyed ? { 'idempotency-key': key } : {}),
    });
    if (isKeyed && idempotencyKey === undefined) session.note(`The idempotency key is ${key}.`);
    const answer = await ask(method, path, data).catch((error: unknown) => {
      if (!(error instanceof Refusal) || error.status !== 401 || path.startsWith('/v1/admin/') || tenant !== undefined)
        throw error;
      throw new CliFailure(ExitCode.refused, `An operator calls ${path} for a tenant: add --tenant <id>.`, {
        cause: error,
      });
    });
    const document = readAnswer(z.json(), answer);
    session.show(document, [JSON.stringify(document, null, 2)]);
  });
}

function unused(method: Method, part: string, option: string): CliFailure {
  return new CliFailure(ExitCode.usage, `A ${method} request has no ${part}: omit ${option}.`);
}

function readMethod(text: string): Method {
  const method = METHODS.find((each) => each === text.toUpperCase());
  if (method !== undefined) return method;
  throw new InvalidArgumentError(`${text} is not one of ${METHODS.join(', ')}.`);
}

function readPath(text: string): string {
  if (/^\/[\x21-\x7e]*$/.test(text)) return text;
  throw new InvalidArgumentError(`${text} is not a path of the API. Example: /v1/admin/mismatches?limit=5.`);
}

function readObject(text: string): object {
  try {
    const parsed: unknown = JSON.parse(text);
    if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)) return parsed;
  } catch {
    // The error below reports a text that is not JSON.
  }
  throw new InvalidArgumentError('it must be a JSON object, for example {"reason":"Test"}.');
}

function readKey(text: string): string {
  const parsed = parseIdempotencyKey([text]);
  if (parsed.kind === 'key') return text;
  throw new InvalidArgumentError(parsed.kind === 'invalid' ? `${parsed.reason}.` : 'it is empty.');
}
