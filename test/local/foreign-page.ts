import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Page } from 'playwright-core';
import type { RealBrowser } from '../client/browser.ts';
import { until } from '../support/until.ts';
import { LISTENERS } from './own-listeners.ts';

/** Opens, in a real browser, pages from another site, and pages from another origin on the same site as 127.0.0.1. */
export class ForeignPage {
  readonly #server: Server;
  readonly #browser: RealBrowser;

  private constructor(server: Server, browser: RealBrowser) {
    this.#server = server;
    this.#browser = browser;
  }

  static async serve(browser: RealBrowser): Promise<ForeignPage> {
    const server = createServer((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><title>foreign</title><p>');
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new ForeignPage(server, browser);
  }

  stop(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  /** @param host host of the page: `localhost` is a different site than 127.0.0.1 */
  open(host: '127.0.0.1' | 'localhost'): Promise<Page> {
    return this.#browser.open(`http://${host}:${(this.#server.address() as AddressInfo).port}/`);
  }
}

/**
 * Browsers send no preflight for a form.
 * @returns the status of the response, which is not visible to the page's scripts
 */
export async function postForm(page: Page, url: string, body: string): Promise<number> {
  return statusOf(
    page,
    { method: 'POST', url },
    `const form = Object.assign(document.createElement('form'), { method: 'post', action: url, enctype: 'text/plain' });
    const [name, value = ''] = ${JSON.stringify(body)}.split('=');
    form.append(Object.assign(document.createElement('input'), { name, value }));
    const frame = Object.assign(document.createElement('iframe'), { name: 'frame' + Math.random() });
    form.target = frame.name;
    document.body.append(frame, form);
    form.submit();`,
  );
}

/** An image causes a GET without `Origin`. */
export async function embed(page: Page, url: string): Promise<number> {
  return statusOf(
    page,
    { method: 'GET', url },
    "document.body.append(Object.assign(document.createElement('img'), { src: url }));",
  );
}

async function statusOf(
  page: Page,
  { method, url }: { readonly method: string; readonly url: string },
  script: string,
): Promise<number> {
  const found: number[] = [];
  page.on('response', (response) => {
    if (response.url() === url && response.request().method() === method) found.push(response.status());
  });
  await page.evaluate(`{ const url = ${JSON.stringify(url)}; ${script} }`);
  return until(async () => found[0]);
}

/** Returns `unreadable` if the browser hides the text from the page's scripts. */
export async function read(page: Page, url: string, headers: Record<string, string> = {}): Promise<string> {
  const call = `fetch(${JSON.stringify(url)}, { headers: ${JSON.stringify(headers)} })`;
  return page.evaluate<string>(`${call}.then((response) => response.text(), () => 'unreadable')`);
}

export async function ownListeners(): Promise<{ readonly urls: readonly string[]; readonly stop: () => void }> {
  const servers = await Promise.all(LISTENERS.map(([, start]) => start()));
  return {
    urls: servers.map((server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`),
    stop: () => {
      for (const server of servers) {
        server.close();
        server.closeAllConnections();
      }
    },
  };
}
