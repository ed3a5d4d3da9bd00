import type { components } from './api-types.ts';

export type Schemas = components['schemas'];
export type Role = Schemas['OperatorSelf']['role'];

/** An answer of the API that is not 2xx, in the form of RFC 9457. */
export class Refused extends Error {
  override readonly name = 'Refused';
  readonly status: number;
  readonly code: string;
  readonly param: string | undefined;

  constructor(status: number, { code, title, detail, param }: Partial<Record<string, string>>) {
    super(detail ?? title ?? `The answer was ${status}.`);
    this.status = status;
    this.code = code ?? 'unknown';
    this.param = param;
  }
}

/** Relative to the page, so that it works under every host, stage and prefix. */
const ROOT = new URL('../', document.baseURI);

/** Calls the API with the credential of one operator, which is kept in memory only. */
export interface Api {
  readonly self: Schemas['OperatorSelf'];
  get<Answer>(path: string): Promise<Answer>;
  /** @param key the idempotency key: the same for each repetition of one act */
  send<Answer>(method: 'POST' | 'PATCH', path: string, body: unknown, key: string): Promise<Answer>;
  /** @param tenant whose routes to call, with the mode, for example `ten_desk/live` @returns the same API for this tenant */
  of(tenant: string): Api;
}

/** @throws Refused when the key is not valid */
export async function signIn(credential: string): Promise<Api> {
  const call = async <Answer>(
    method: string,
    path: string,
    headers: Readonly<Record<string, string>>,
    body?: unknown,
  ): Promise<Answer> => {
    const answer = await fetch(new URL(path.slice(1), ROOT), {
      method,
      headers: { authorization: `Bearer ${credential}`, ...headers },
      cache: 'no-store',
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    const read: unknown = text === '' ? {} : JSON.parse(text);
    if (!answer.ok) throw new Refused(answer.status, read as Partial<Record<string, string>>);
    return read as Answer;
  };
  const self = await call<Schemas['OperatorSelf']>('GET', '/v1/admin/me', {});
  const apiWith = (more: Readonly<Record<string, string>>): Api => ({
    self,
    get: (path) => call('GET', path, more),
    send: (method, path, body, key) =>
      call(method, path, { 'content-type': 'application/json', 'idempotency-key': key, ...more }, body),
    of: (tenant) => apiWith({ 'payonce-tenant': tenant }),
  });
  return apiWith({});
}

const ROLES: readonly Role[] = ['viewer', 'operator', 'approver', 'owner'];

export function may(self: Schemas['OperatorSelf'], needed: Role): boolean {
  return ROLES.indexOf(self.role) >= ROLES.indexOf(needed);
}
