import type { components } from '../generated/api-types.ts';
import { setClock } from './clock.ts';

export type Schemas = components['schemas'];
export type Role = Schemas['OperatorSelf']['role'];

/** The response can be from the API or from a gateway in front of it. */
export class Refused extends Error {
  override readonly name = 'Refused';
  readonly status: number;
  readonly code: string;
  readonly param: string | undefined;

  constructor(status: number, { code, title, detail, param }: Partial<Record<string, string>>) {
    super(detail ?? title ?? withoutProblem(status));
    this.status = status;
    this.code = code ?? 'unknown';
    this.param = param;
  }
}

function withoutProblem(status: number): string {
  const from = `A gateway in front of the API returned ${status}.`;
  if (status === 504) return `${from} The API did not respond in time; a change may have taken effect.`;
  return status >= 500
    ? `${from} The API could not be reached. Try again in a minute.`
    : `${from} It refused the request.`;
}

/** Thrown when no response was received, or a response cannot be read. The API may have received the request. */
class NoAnswer extends Error {
  override readonly name = 'NoAnswer';
}

/** The address is relative to the page, so that the console works under every host, stage and prefix. */
const ROOT = new URL('../', document.baseURI);

/** `session.ts` stores the credential for reloads of the tab. */
export interface Api {
  readonly self: Schemas['OperatorSelf'];
  get<Answer>(path: string): Promise<Answer>;
  /** @param key the idempotency key: the same for each retry of an action */
  send<Answer>(method: 'POST' | 'PATCH', path: string, body: unknown, key: string): Promise<Answer>;
  /** @param tenant the tenant and mode whose routes are called, for example `ten_desk/live` */
  of(tenant: string): Api;
}

/**
 * @param ended called when the API no longer accepts the credential
 * @throws Refused when the credential is not valid, and NoAnswer without a readable response
 */
export async function signIn(credential: string, ended: () => void): Promise<Api> {
  const call = async <Answer>(
    method: string,
    path: string,
    headers: Readonly<Record<string, string>>,
    body?: unknown,
  ): Promise<Answer> => {
    const { ok, status, text } = await request(new URL(path.slice(1), ROOT), {
      method,
      headers: { authorization: `Bearer ${credential}`, ...headers },
      cache: 'no-store',
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const read = parsed(text);
    if (isIn && status === 401) ended();
    if (!ok) throw new Refused(status, read ?? {});
    if (read === undefined) throw new NoAnswer('The response cannot be read.');
    return read as Answer;
  };
  let isIn = false;
  const self = await call<Schemas['OperatorSelf']>('GET', '/v1/admin/me', {});
  isIn = true;
  const apiWith = (more: Readonly<Record<string, string>>): Api => ({
    self,
    get: (path) => call('GET', path, more),
    send: (method, path, body, key) =>
      call(method, path, { 'content-type': 'application/json', 'idempotency-key': key, ...more }, body),
    of: (tenant) => apiWith({ 'payonce-tenant': tenant }),
  });
  return apiWith({});
}

async function request(address: URL, init: RequestInit) {
  try {
    const answer = await fetch(address, init);
    setClock(answer.headers.get('date'));
    return { ok: answer.ok, status: answer.status, text: await answer.text() };
  } catch (cause) {
    throw new NoAnswer('No response was received.', { cause });
  }
}

/** The text may be from a gateway in front of the API. */
function parsed(text: string): object | undefined {
  try {
    return JSON.parse(text) as object;
  } catch {
    return undefined;
  }
}

const ROLES: readonly Role[] = ['viewer', 'operator', 'approver', 'owner'];

export function may(self: Schemas['OperatorSelf'], needed: Role): boolean {
  return ROLES.indexOf(self.role) >= ROLES.indexOf(needed);
}
