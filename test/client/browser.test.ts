/** Tests the guarantee "safe client". */
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { build } from 'esbuild';
import type { Page } from 'playwright-core';
import { listenerOf } from '../../examples/listener.ts';
import { bundleFolder } from '../support/bundle-folder.ts';
import { inTurn, sliceOf, whole } from '../support/slice.ts';
import { API_KEY, Api } from '../world/api.ts';
import { HAS_BROWSER, RealBrowser } from './browser.ts';
import { chargesIn } from './client-world.ts';

/**
 * At the step `stopsAt`, counted from 0, the page stops forever and sets its title to `stopped`. Two stores are faulty:
 * `lateKeys` returns before its row is on disk, and `splitKeys` reads and then writes without a lock that other tabs
 * respect.
 */
const PAGE = `<!doctype html><title>ready</title><script type="module">
import { browserKeys, createClient } from '/client.js';
// Chromium writes localStorage to disk only some seconds after a change. This store keeps its rows in memory, so a
// killed browser loses them in the same way.
const rows = new Map();
const lateKeys = () => ({
  putIfAbsent: async (request) => {
    if (!rows.has(request.operation)) rows.set(request.operation, request);
    return rows.get(request.operation);
  },
  keepAnswer: async (request, answer) => void rows.set(request.operation, { ...request, answer }),
});
const splitKeys = () => ({
  putIfAbsent: async (request) => {
    const stored = localStorage[request.operation] ?? JSON.stringify(request);
    await bothLooked(request.operation);
    localStorage[request.operation] = stored;
    return JSON.parse(stored);
  },
  keepAnswer: () => undefined,
});
const stores = { browserKeys, lateKeys, splitKeys };
let steps = 0;
globalThis.create = async (operation, { stopsAt = -1, store = 'browserKeys' } = {}) => {
  const stop = async () => {
    if (steps++ !== stopsAt) return;
    document.title = 'stopped';
    await new Promise(() => {});
  };
  const step = (take) => async (...given) => {
    await stop();
    const value = await take(...given);
    await stop();
    return value;
  };
  const { putIfAbsent, keepAnswer } = stores[store]();
  const client = createClient({
    url: location.origin,
    keys: { putIfAbsent: step(putIfAbsent), keepAnswer: step(keepAnswer) },
    surroundings: { fetch: step((url, init) => fetch(url, init)) },
  });
  const payment = await client.payments.create({ amount: 1000, currency: 'EUR', source: 'tok_ok' }, { operation });
  return { id: payment.id, steps };
};
globalThis.keys = browserKeys();
globalThis.lookTogether = () => {
  const { get } = IDBObjectStore.prototype;
  IDBObjectStore.prototype.get = function (operation) {
    let areBoth = false;
    void bothLooked(operation).then(() => { areBoth = true; });
    const reading = get.call(this, operation);
    const listen = reading.addEventListener.bind(reading);
    reading.addEventListener = (type, listener) => listen(type, (event) => {
      // The reads are repeated to keep the transaction open.
      const proceed = () => {
        if (areBoth) listener(event);
        else get.call(this, operation).onsuccess = proceed;
      };
      proceed();
    });
    return reading;
  };
};
</script>`;

interface Paid {
  readonly id: string;
  readonly steps: number;
}

const create = (page: Page, operation: string, options: object = {}) =>
  page.evaluate<Paid>(`create(${JSON.stringify(operation)}, ${JSON.stringify(options)})`);

function barrier(callers: number): () => Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let waiting = 0;
  return () => {
    waiting += 1;
    if (waiting === callers) resolve();
    return promise;
  };
}

// Skipped on platforms that the browser package does not support.
(HAS_BROWSER ? describe : describe.skip)('a client in a browser', () => {
  let folder: string;
  let browser: RealBrowser;
  let script: string;
  let server: Server;
  let url: string;
  let api: Api;
  let operations = 0;

  beforeAll(async () => {
    folder = bundleFolder('browser');
    browser = RealBrowser.unpack(folder);
    const contents = `export * from './client/client.ts'; export * from './client/browser-keys.ts';`;
    const stdin = { contents, resolveDir: '.' };
    const bundle = await build({ stdin, bundle: true, format: 'esm', platform: 'browser', write: false });
    script = bundle.outputFiles[0]?.text ?? '';
    server = createServer(listenerOf(backend)).listen(0, '127.0.0.1');
    await once(server, 'listening');
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  });
  afterAll(async () => {
    server.close();
    server.closeAllConnections();
    await rm(folder, { recursive: true, force: true });
  });
  beforeEach(() => {
    api = new Api();
    operations += 1;
  });
  afterEach(() => browser.kill());

  /** Has the secret API key and forwards the page's requests. */
  async function backend(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url);
    if (pathname === '/') return new Response(PAGE, { headers: { 'content-type': 'text/html' } });
    if (pathname === '/client.js') return new Response(script, { headers: { 'content-type': 'text/javascript' } });
    if (!pathname.startsWith('/v1/')) return new Response(null, { status: 404 });
    const headers = new Headers([...request.headers, ['authorization', `Bearer ${API_KEY}`]]);
    return api.fetch(new Request(request, { headers }));
  }

  const AGAIN = {
    isReloaded: async (page: Page) => {
      await page.reload();
      return page;
    },
    isOpenedInAnotherTab: async (page: Page) => {
      const other = await browser.open(url);
      await page.close();
      return other;
    },
    isKilled: async () => {
      await browser.kill();
      return browser.open(url);
    },
  };

  /** @returns the number of charges */
  async function chargesAfter(again: (page: Page) => Promise<Page>, stopsAt: number, store?: string): Promise<number> {
    const operation = `order_${operations}_${stopsAt}`;
    const before = chargesIn(api);
    const page = await browser.open(url);
    void create(page, operation, { stopsAt, store }).catch(() => undefined);
    await page.waitForFunction(`document.title === 'stopped'`);
    const next = await again(page);
    const paid = await create(next, operation, { store });
    expect(await create(next, operation, { store })).toMatchObject({ id: paid.id });
    return chargesIn(api) - before;
  }

  /**
   * The steps are before and after each of three calls, which store the row, send the request, and store the response.
   */
  const STEPS = [0, 1, 2, 3, 4, 5];

  test('pays in exactly the expected steps', async () => {
    const page = await browser.open(url);
    expect(await create(page, 'order_1')).toMatchObject({ steps: STEPS.length });
  });

  test.each(['isReloaded', 'isOpenedInAnotherTab'] as const)(
    'charges once if its page stops at any step and then “%s”',
    async (again) => {
      // Each slice has one step before a call and one step after a call.
      for (const step of sliceOf(STEPS, 3)) expect([step, await chargesAfter(AGAIN[again], step)]).toEqual([step, 1]);
    },
  );

  test('charges once when the browser is killed at any step', async () => {
    for (const step of sliceOf(STEPS, 6)) expect([step, await chargesAfter(AGAIN.isKilled, step)]).toEqual([step, 1]);
  });

  /** Each slice plays one of four tests, because each test starts a browser. */
  const turn = (place: number) => inTurn(test, { place, of: 4, otherwise: test.skip });

  const late = 'charges twice with the faulty store lateKeys if the browser is killed before the row is on disk';
  turn(0)(late, async () => {
    expect(await chargesAfter(AGAIN.isKilled, 3, 'lateKeys')).toBe(2);
  });

  turn(1)('keeps operations with any names, and their responses, separate', async () => {
    const page = await browser.open(url);
    const names = ['order_42', 'ORDER_42', '../order_42', 'ö'.repeat(200), '__proto__', ''];
    const rows = await page.evaluate<readonly object[]>(`(async () => {
      const names = ${JSON.stringify(names)};
      for (const operation of names) await keys.putIfAbsent({ operation, key: 'k ' + operation });
      for (const operation of names) await keys.keepAnswer({ operation, key: 'k ' + operation }, { status: 201 });
      return Promise.all(names.map((operation) => keys.putIfAbsent({ operation, key: 'new' })));
    })()`);
    expect(rows).toEqual(names.map((operation) => ({ operation, key: `k ${operation}`, answer: { status: 201 } })));
  });

  /**
   * A tab writes a row only after both tabs have begun to read.
   *
   * @returns the number of different payments that the two tabs received, for each operation
   */
  async function paidInTwoTabs(names: readonly string[], store?: string): Promise<readonly number[]> {
    const tabs = [await browser.open(url), await browser.open(url)];
    const barriers = new Map(names.map((name) => [name, barrier(tabs.length)]));
    for (const tab of tabs) {
      await tab.exposeFunction('bothLooked', (name: string) => barriers.get(name)?.());
      await tab.evaluate('lookTogether()');
    }
    const pay = async (name: string) => {
      const ids = await Promise.all(tabs.map(async (tab) => (await create(tab, name, { store })).id));
      return new Set(ids).size;
    };
    return Promise.all(names.map(pay));
  }

  const MANY = Array.from({ length: whole(20, { slice: 5 }) }, (_, each) => `tabs_${each}`);

  test('charges each operation only once if two tabs start many operations concurrently', async () => {
    expect(await paidInTwoTabs(MANY)).toEqual(MANY.map(() => 1));
    expect(chargesIn(api)).toBe(MANY.length);
  });

  turn(2)('charges twice with the faulty store splitKeys when two tabs find no row and both store one', async () => {
    expect(await paidInTwoTabs(MANY, 'splitKeys')).toEqual(MANY.map(() => 2));
    expect(chargesIn(api)).toBe(2 * MANY.length);
  });

  turn(3)('sends nothing when the browser cannot store the key', async () => {
    const page = await browser.open(url);
    const error = page.evaluate(`indexedDB.open = () => { throw new DOMException('full', 'QuotaExceededError') };
      create('order_1').catch(({ code, message }) => ({ code, message }))`);
    expect(await error).toMatchObject({
      code: 'invalid_key_store',
      message: expect.stringContaining('QuotaExceededError'),
    });
    expect(chargesIn(api)).toBe(0);
  });
});
