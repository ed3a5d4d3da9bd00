import { once } from 'node:events';
import { readdir, readFile, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect } from '@jest/globals';
import axe from 'axe-core';
import type { BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { listenerOf } from '../../examples/listener.ts';
import { documentsApi } from '../../lambdas/api-docs/documents-api.ts';
import type { ConsoleSignIn } from '../../lambdas/kernel/contract/environment.ts';
import { tenantId } from '../../lambdas/kernel/ids.ts';
import { systemDigest, systemEntropy } from '../../lambdas/kernel/platform/platform.ts';
import { TenantAdministration } from '../../lambdas/tenants/store/tenant-administration.ts';
import { buildConsole } from '../../lib/lambda-code.ts';
import { operations } from '../api-docs/described-api.ts';
import { HAS_BROWSER, RealBrowser } from '../client/browser.ts';
import { bundleFolder } from '../support/bundle-folder.ts';
import { sliceOf } from '../support/slice.ts';
import { until } from '../support/until.ts';
import { Api, OPERATOR_KEY } from '../world/api.ts';
import { gatewayEvent } from '../world/gateway-event.ts';
import { TABLES } from '../world/tables.ts';

/** All paths begin with the stage of API Gateway. */
const PREFIX = '/live';

/** The matrix of routes and roles has a row for each of these routes (test/http/access-matrix.test.ts). */
const OF_OPERATORS = operations
  .filter(({ security }) => security.some((way) => 'operator' in way))
  .map(({ method, path }) => new RegExp(`^${method} ${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`));

const SWAGGER = join(import.meta.dirname, '..', '..', 'node_modules', 'swagger-ui-dist');
const OF_DOCUMENTS = /^\/(?:console|docs|v1\/openapi\.json$)/;

export class BuiltConsole {
  readonly folder: string;

  private constructor(folder: string) {
    this.folder = folder;
  }

  static async build(): Promise<BuiltConsole> {
    const folder = bundleFolder('console');
    buildConsole(join(folder, 'console'));
    return new BuiltConsole(folder);
  }

  documents(signIn?: ConsoleSignIn): ReturnType<typeof documentsApi> {
    return documentsApi(
      (name) => readFile(join(name.startsWith('swagger') ? SWAGGER : this.folder, name), 'utf8'),
      systemDigest,
      () => readdir(join(this.folder, 'console', 'assets')),
      signIn,
    );
  }

  remove(): Promise<void> {
    return rm(this.folder, { recursive: true, force: true });
  }
}

/** Each suite needs a browser for half a minute. */
const IN_TURN = [
  'actions of operators in a browser',
  'keyboard use and long lists in a browser',
  'an operator in a browser',
  'dead letters in a browser',
  'the console during failures',
  'volumes and books in a browser',
  'webhooks in a browser',
  'verifications of the archive in a browser',
  'actions that move money, in a browser',
  'the API reference in a browser',
  'the attention list in a browser',
  'results, tables and forms in a browser',
];

/** @param name a suite that `IN_TURN` does not list runs in every slice */
export function describeConsole(name: string, tests: (shown: ConsoleInBrowser) => void): void {
  const isPlayed = !IN_TURN.includes(name) || sliceOf(IN_TURN, 7).includes(name);
  (HAS_BROWSER && isPlayed ? describe : describe.skip)(name, () => {
    const shown = new ConsoleInBrowser();
    beforeAll(() => shown.start());
    afterAll(() => shown.stop());
    beforeEach(() => shown.begin());
    afterEach(() => shown.end());
    tests(shown);
  });
}

interface Shared {
  readonly built: BuiltConsole;
  readonly browser: RealBrowser;
}

interface Started extends Shared {
  readonly server: Server;
}

let shared: Shared | undefined;

async function builtOnce(): Promise<Shared> {
  if (shared !== undefined) return shared;
  const built = await BuiltConsole.build();
  const browser = RealBrowser.unpack(built.folder);
  atEnd(async () => {
    await browser.kill();
    await built.remove();
  });
  shared = { built, browser };
  return shared;
}

/** The production API runs in this process. */
export class ConsoleInBrowser {
  #started: Started | undefined;
  #documents: ReturnType<typeof documentsApi> | undefined;
  #context: BrowserContext | undefined;
  readonly #tenantsOf = new WeakSet<object>();
  api = new Api();
  settings: BrowserContextOptions = {};
  /** Contains the method and path of each write request of the page. */
  written: string[] = [];
  /** Violations of the content security policy, and script errors. */
  violations: string[] = [];

  async start(): Promise<void> {
    const server = createServer(listenerOf((request) => this.#backend(request))).listen(0, '127.0.0.1');
    await once(server, 'listening');
    this.#started = { ...(await builtOnce()), server };
  }

  stop(): void {
    const { server } = this.#running;
    server.close();
    server.closeAllConnections();
  }

  begin(): void {
    this.written = [];
    this.violations = [];
    this.settings = {};
    this.signsIn();
  }

  async end(): Promise<void> {
    await this.#context?.close();
    this.#context = undefined;
  }

  /** @default operators sign in with keys */
  signsIn(signIn?: ConsoleSignIn): void {
    this.#documents = this.#running.built.documents(signIn);
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#running.server.address() as AddressInfo).port}${PREFIX}/console`;
  }

  get #running(): Started {
    if (this.#started === undefined) throw new Error('the console is not started');
    return this.#started;
  }

  /** API Gateway adds the stage to the path. */
  async #backend(request: Request): Promise<Response> {
    const { pathname, search } = new URL(request.url);
    const path = pathname.slice(PREFIX.length);
    if (OF_DOCUMENTS.test(path) && this.#documents !== undefined) {
      const { statusCode, headers, body } = await this.#documents(gatewayEvent('GET', path));
      return new Response(body, { status: statusCode, headers: headers as Record<string, string> });
    }
    if (!path.startsWith('/v1/')) return new Response(null, { status: 404 });
    const { authorization = '', ...headers } = Object.fromEntries(request.headers);
    const asked = `${request.method} ${path}`;
    if (!OF_OPERATORS.some((route) => route.test(asked))) this.violations.push(`${asked} is not an operator route`);
    if (request.method !== 'GET') this.written.push(asked);
    const text = await request.text();
    const reply = await this.api.ask(request.method, `${path}${search}`, {
      headers: { ...headers, Authorization: authorization },
      event: { body: text === '' ? null : text },
    });
    const date = new Date(this.api.clock.nowMs()).toUTCString();
    return new Response(reply.text, { status: reply.status, headers: { ...reply.headers, date } });
  }

  /** @default the console, in a desktop window */
  async opened(url = this.url): Promise<Page> {
    await this.#storeTenant();
    this.#context ??= await this.#newContext();
    const page = await this.#context.newPage();
    await page.setViewportSize({ width: 1280, height: 800 });
    page.on('console', (message) => {
      if (/Content Security Policy/.test(message.text())) this.violations.push(message.text());
    });
    page.on('pageerror', (error) => this.violations.push(String(error)));
    await page.goto(url);
    return page;
  }

  /**
   * If the first route were added to a loaded page, the page's next request could still be sent without interception.
   */
  async #newContext(): Promise<BrowserContext> {
    const context = await this.#running.browser.newContext(this.settings);
    await context.route(/^matches-no-request:/, (route) => route.fallback());
    return context;
  }

  /** The console lists only stored tenants. */
  async #storeTenant(): Promise<void> {
    if (this.#tenantsOf.has(this.api.world)) return;
    this.#tenantsOf.add(this.api.world);
    const { store, clock } = this.api;
    const administration = new TenantAdministration(store.database.client, TABLES, 'ada', {
      clock,
      entropy: systemEntropy,
    });
    await administration.createTenant('Desk', { id: tenantId('ten_desk') });
  }

  async signedIn(key = OPERATOR_KEY): Promise<Page> {
    const page = await this.opened();
    await page.getByLabel('Operator’s key').fill(key);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('navigation').waitFor();
    return page;
  }
}

export async function accessible(page: Page): Promise<void> {
  // The content policy applies to the page's resources, but not to a script that the test evaluates.
  if (!(await page.evaluate<boolean>(`'axe' in globalThis`))) await page.evaluate(axe.source);
  const found = await page.evaluate<string[]>(
    `axe.run().then(({ violations }) => violations.map(({ id, nodes }) => id + ' ' + nodes.map(({ html }) => html).join(' ')))`,
  );
  expect(found).toEqual([]);
}

/** Only in `npm run docs:pictures`. */
export async function picture(page: Page, name: string, height = 480): Promise<void> {
  const { PAYONCE_PICTURES: directory } = process.env;
  if (directory === undefined) return;
  await page.setViewportSize({ width: 1000, height });
  await page.evaluate('scrollTo(0, 0)');
  const bytes = await page.screenshot({ path: join(directory, `console-${name}.png`) });
  expect(bytes.length).toBeLessThan(100_000);
}

/** If the provider has a session, it does not ask for the name. */
export async function identifyAs(page: Page, name: string): Promise<void> {
  await page.getByRole('button', { name: 'Sign in' }).click();
  const asked = page.getByLabel('Name');
  await asked.or(page.getByRole('navigation')).waitFor();
  if ((await asked.count()) === 0) return;
  await asked.fill(name);
  await page.getByRole('button', { name: 'Continue' }).click();
}

/** A double click must act once. */
export async function decideOn(page: Page, verdict: string): Promise<void> {
  const button = { name: verdict, exact: true } as const;
  await page.getByRole('button', button).click();
  await page.getByRole('dialog', button).getByRole('button', button).dblclick();
}

async function loaded(page: Page): Promise<void> {
  await until(async () => ((await page.getByText('Loading …').count()) === 0 ? true : undefined));
}

const MAX_TABS = 60;

/** No column may be outside the window. */
export async function tablesFit(page: Page): Promise<void> {
  const beyond = await page.evaluate<number[]>(
    `[...document.querySelectorAll('.scrolls')].map((box) => box.scrollWidth - box.clientWidth)`,
  );
  expect(beyond.every((pixels) => pixels === 0) ? [] : beyond).toEqual([]);
}

export async function tabTo(page: Page, name: string): Promise<void> {
  for (let tabs = 0; tabs < MAX_TABS; tabs += 1) {
    await page.keyboard.press('Tab');
    if ((await focused(page)).startsWith(name)) return;
  }
  throw new Error(`the focus did not reach ${name}`);
}

export function focused(page: Page): Promise<string> {
  return page.evaluate<string>(`(({ activeElement: at }) => (at.labels?.[0] ?? at).textContent.trim())(document)`);
}

export async function showMode(page: Page, mode: 'Live' | 'Test'): Promise<void> {
  await page.getByRole('radio', { name: mode }).check();
}

/** The count ends when the page is reloaded. */
export async function countClicks(page: Page): Promise<() => Promise<number>> {
  await page.evaluate("globalThis.clicks = 0; addEventListener('click', () => { globalThis.clicks += 1; }, true)");
  return () => page.evaluate<number>('globalThis.clicks');
}

export async function eachScreen(
  page: Page,
  check: (name: string) => Promise<void> = async () => undefined,
): Promise<void> {
  const screens = page.getByRole('navigation', { name: 'Screens' });
  const menu = page.getByRole('button', { name: 'Menu' });
  const names = await page.locator('nav a').allTextContents();
  expect(names.length).toBeGreaterThan(10);
  for (const name of names) {
    if (await menu.isVisible()) await menu.click();
    await screens.getByRole('link', { name, exact: true }).click();
    await page.getByRole('heading', { name, level: 1 }).waitFor();
    await loaded(page);
    expect([name, await page.getByRole('alert').count()]).toEqual([name, 0]);
    await check(name);
  }
}

/** The console sets the title after it has drawn the screen. */
export async function titled(page: Page, title: string): Promise<void> {
  await until(async () => (await page.title()) === title || undefined);
}
