/** Tests the guarantee "safe client". */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Client } from '../../client/client.ts';
import { fileKeys } from '../../client/file-keys.ts';
import { type KeyStore, memoryKeys } from '../../client/key-store.ts';
import type { Runtime } from '../../client/surroundings.ts';
import { bundleFolder } from '../support/bundle-folder.ts';
import { sliceOf, whole } from '../support/slice.ts';
import { Api } from '../world/api.ts';
import { chargesIn, clientOn, errorOf, outcomeOf, surroundingsOn, TEA } from './client-world.ts';

let folder: string;
beforeAll(() => {
  folder = bundleFolder('crashes');
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** `step` is the zero-based index of a step of the run. */
interface Crash {
  readonly step: number;
  /** The step takes effect before the crash: the row is stored, or the request arrives. */
  readonly isAfter: boolean;
}

interface Disk {
  readonly api: Api;
  readonly keys: KeyStore;
}

type Call = (client: Client) => Promise<unknown>;

/** After the crash, no client code runs. */
function life({ api, keys }: Disk, crash: Crash | undefined) {
  const steps: string[] = [];
  let die: () => void = () => undefined;
  const death = new Promise<'died'>((resolve) => {
    die = () => resolve('died');
  });
  const step = async <Value>(name: string, take: () => Value | Promise<Value>): Promise<Value> => {
    const isLast = steps.push(name) - 1 === crash?.step;
    if (!isLast) return take();
    // A request that was sent is processed without its client, concurrently with the next run.
    if (crash.isAfter) void take();
    die();
    return new Promise<Value>(() => undefined);
  };
  const around = surroundingsOn(api);
  const changes: Partial<Runtime> = {
    fetch: (url, init) => step('fetch', () => around.fetch(url, init)),
    sleep: (ms, signal) => step('sleep', () => around.sleep(ms, signal)),
  };
  const stored: KeyStore = {
    putIfAbsent: (request) => step('putIfAbsent', () => keys.putIfAbsent(request)),
    keepAnswer: (request, answer) => step('keepAnswer', () => keys.keepAnswer(request, answer)),
    keepRefusal: (request) => step('keepRefusal', () => keys.keepRefusal?.(request)),
  };
  return { client: clientOn(api, changes, stored).client, steps, death };
}

async function untilDone(disk: Disk, call: Call, crashes: readonly Crash[]) {
  const steps: (readonly string[])[] = [];
  for (const crash of [...crashes, undefined]) {
    const process = life(disk, crash);
    const outcome = await Promise.race([outcomeOf(call(process.client)), process.death]);
    steps.push(process.steps);
    if (outcome !== 'died') return { outcome, steps };
  }
  throw new Error('the last run has no outcome although it does not crash');
}

/**
 * Each combination is extended by a crash at each step of its last run. A slice runs only some of the combinations with
 * `lives` crashes.
 */
async function eachHistory(lives: number, run: (crashes: readonly Crash[]) => Promise<readonly (readonly string[])[]>) {
  let histories = 0;
  const extend = async (crashes: readonly Crash[]): Promise<void> => {
    histories += 1;
    const steps = await run(crashes);
    if (crashes.length === lives || steps.length <= crashes.length) return;
    const next = [...(steps.at(-1) ?? []).keys()].flatMap((step) =>
      [false, true].map((isAfter) => ({ step, isAfter })),
    );
    const isLast = crashes.length === lives - 1;
    for (const crash of isLast ? sliceOf(next, 5) : next) await extend([...crashes, crash]);
  };
  await extend([]);
  return histories;
}

const LIVES = whole(3, { slice: 2 });

const payingWith =
  (source: string): Call =>
  (client) =>
    client.payments.create({ ...TEA, source }, { operation: 'order_42' });

const correcting: Call = async (client) => {
  const error = await errorOf(client.payments.create({ ...TEA, amount: -1 }, { operation: 'order_42' }));
  expect(['invalid_request', 'operation_changed']).toContain(error.code);
  return client.payments.create(TEA, { operation: 'order_42' });
};

async function survey(call: Call, keysOf: () => KeyStore) {
  const findings: string[] = [];
  const single = await untilDone({ api: new Api(), keys: memoryKeys() }, call, []);
  const histories = await eachHistory(LIVES, async (crashes) => {
    const disk = { api: new Api(), keys: keysOf() };
    const { outcome, steps } = await untilDone(disk, call, crashes);
    const again = await outcomeOf(call(life(disk, undefined).client));
    const made = disk.api.processor.inside.all.length;
    const statusOf = (value: unknown) =>
      (value as { status?: string; code?: string }).status ?? (value as { code?: string }).code;
    if (made !== 1) findings.push(`${made} charges after ${JSON.stringify(crashes)}`);
    if (JSON.stringify(again) !== JSON.stringify(outcome))
      findings.push(`two answers after ${JSON.stringify(crashes)}`);
    if (statusOf(outcome) !== statusOf(single.outcome))
      findings.push(`a different outcome after ${JSON.stringify(crashes)}`);
    return steps;
  });
  return { findings, histories };
}

describe('a client that crashes at any step of any run', () => {
  test.each([
    'tok_ok',
    'tok_declined',
    'tok_timeout_charged',
    'tok_timeout_not_charged',
    'tok_flaky',
    'tok_rate_limited',
  ])('charges %s once and never receives two different responses', async (source) => {
    const { findings, histories } = await survey(payingWith(source), memoryKeys);
    expect(findings).toEqual([]);
    // A run has at least the steps putIfAbsent, fetch and keepAnswer, and can crash before and after each of them.
    expect(histories).toBeGreaterThan(whole(6 ** 2, { slice: 6 }));
  });

  test.each([
    ['memory', memoryKeys],
    ['files', () => fileKeys(join(folder, crypto.randomUUID()))],
  ] as const)('corrects a refused body and charges once, with its keys in %s', async (_name, keysOf) => {
    const { findings, histories } = await survey(correcting, keysOf);
    expect(findings).toEqual([]);
    // The steps putIfAbsent, fetch and keepRefusal precede those of a payment.
    expect(histories).toBeGreaterThan(whole(12 ** 2, { slice: 12 }));
  });

  test.each([
    [
      'stores the key only together with the response',
      (keys: KeyStore): KeyStore => ({
        putIfAbsent: (request) => request,
        keepAnswer: async (request, answer) => {
          await keys.putIfAbsent(request);
          await keys.keepAnswer(request, answer);
        },
      }),
    ],
    [
      'overwrites an earlier request',
      (): KeyStore => ({ putIfAbsent: (request) => request, keepAnswer: () => undefined }),
    ],
  ])('charges twice when its faulty store %s', async (_name, storeOn) => {
    const { findings } = await survey(payingWith('tok_ok'), () => storeOn(memoryKeys()));
    expect(findings.filter((each) => !each.startsWith('two answers')).length).toBeGreaterThan(0);
  });
});

describe('a client that loses responses', () => {
  const LOSSES: Readonly<Record<string, (send: () => Promise<Response>) => Promise<Response>>> = {
    arrives: (send) => send(),
    'is not sent': () => Promise.reject(new TypeError('the connection was refused')),
    'is not answered': async (send) => {
      await send();
      throw new TypeError('the connection was reset');
    },
    'is answered partially': async (send) => new Response((await (await send()).text()).slice(0, 40), { status: 201 }),
    'gets a gateway’s response': async (send) => {
      await send();
      return new Response('<html>', { status: 504 });
    },
    'gets a response while the first attempt still runs': (send) => {
      void send();
      return Promise.reject(new TypeError('the connection was reset'));
    },
  };
  const NAMES = Object.keys(LOSSES);
  const pairs = NAMES.flatMap((one) => NAMES.map((two) => [one, two]));
  const triples = pairs.flatMap((pair) => NAMES.map((three) => [...pair, three]));
  const all = sliceOf(whole(triples, { slice: pairs }), 5);

  test.each(['tok_ok', 'tok_timeout_charged'])(
    'charges %s exactly once, whichever responses are lost',
    async (source) => {
      const findings: unknown[] = [];
      for (const losses of all) {
        const api = new Api();
        let sends = 0;
        const { client, sent } = clientOn(api, {
          fetch: (url, init) => {
            const loss = LOSSES[losses[sends] ?? 'arrives'] ?? ((send) => send());
            sends += 1;
            return loss(() => api.fetch(new Request(url, init)));
          },
        });
        const paid = await client.payments.create({ ...TEA, source }, { operation: 'order_42', timeoutMs: 300_000 });
        const keys = new Set(sent.map(({ headers }) => headers.get('idempotency-key')));
        if (paid.status !== 'succeeded' || chargesIn(api) !== 1 || keys.size !== 1) findings.push({ losses, paid });
      }
      expect(findings).toEqual([]);
      expect(all.length).toBeGreaterThanOrEqual(whole(NAMES.length ** 3, { slice: NAMES.length }));
    },
  );
});
