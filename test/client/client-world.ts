import { type Client, createClient } from '../../client/client.ts';
import type { PayonceError } from '../../client/errors.ts';
import { type KeyStore, memoryKeys } from '../../client/key-store.ts';
import type { Runtime } from '../../client/surroundings.ts';
import { API_KEY, type Api } from '../world/api.ts';

export const URL_OF_API = 'https://api.example';
export const TEA = { amount: 1_000, currency: 'EUR', source: 'tok_ok' } as const;

/** Calls the real handlers. The jitter is constant. */
export function surroundingsOn(api: Api): Runtime {
  return {
    fetch: (url, init) => api.fetch(new Request(url, init)),
    nowMs: () => api.clock.nowMs(),
    elapsedMs: () => api.clock.nowMs(),
    sleep: async (ms, signal) => {
      signal?.throwIfAborted();
      await api.clock.sleep(ms);
    },
    expire: () => new AbortController().signal,
    fraction: () => 0.5,
    mintKey: () => crypto.randomUUID(),
  };
}

export function clientOn(api: Api, changes: Partial<Runtime> = {}, keys: KeyStore = memoryKeys(), apiKey = API_KEY) {
  const sent: Request[] = [];
  const around = { ...surroundingsOn(api), ...changes };
  const fetch: Runtime['fetch'] = (url, init) => {
    sent.push(new Request(url, init));
    return around.fetch(url, init);
  };
  const client: Client = createClient({ url: URL_OF_API, apiKey, keys, surroundings: { ...around, fetch } });
  return { client, keys, sent };
}

export function chargesIn(api: Api): number {
  return api.processor.inside.all.filter(({ status }) => status !== 'declined').length;
}

export async function outcomeOf(call: Promise<unknown>): Promise<unknown> {
  try {
    return await call;
  } catch (error) {
    const { code, problem } = error as { readonly code?: unknown; readonly problem?: object };
    if (code === undefined) throw error;
    return { code, ...(problem === undefined ? {} : { problem }) };
  }
}

export async function errorOf(call: Promise<unknown>): Promise<PayonceError> {
  return (await call.then(
    () => {
      throw new Error('the call succeeded');
    },
    (error: unknown) => error,
  )) as PayonceError;
}

export async function allOf<Item>(list: AsyncIterable<Item>): Promise<readonly Item[]> {
  const items: Item[] = [];
  for await (const item of list) items.push(item);
  return items;
}
