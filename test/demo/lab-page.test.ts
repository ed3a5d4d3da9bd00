import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { Lab } from '../../demo/lab/lab.ts';
import { labServer } from '../../demo/lab/server.ts';
import type { Watch } from '../../demo/runner.ts';
import { LAB_SCENARIOS, type Scenario } from '../../demo/scenarios.ts';
import type { Counts, Finding } from '../../demo/verdict.ts';
import { listenerOf } from '../../examples/listener.ts';
import { buildConsole } from '../../lib/lambda-code.ts';
import { freePort } from '../../local/free-port.ts';
import { HAS_BROWSER, RealBrowser } from '../client/browser.ts';
import { accessible, picture } from '../console/console-in-browser.ts';
import { bundleFolder } from '../support/bundle-folder.ts';
import { inTurn } from '../support/slice.ts';

const ONCE: Counts = { atProcessor: 1, postings: 1, events: 1, effects: 1 };
const TWICE: Counts = { atProcessor: 1, postings: 2, events: 2, effects: 2 };
type Play = (scenario: Scenario, watch: Watch) => Promise<Finding>;
const SCRIPT = '<img src=x onerror="document.title=1">';

// Skipped on platforms that the browser package does not support.
(HAS_BROWSER ? describe : describe.skip)('the lab page in a browser', () => {
  let folder: string;
  let browser: RealBrowser;
  let server: Server;
  let url: string;
  let play: Play = () => Promise.reject(new Error('the test sets no scenario'));
  const violations: string[] = [];
  beforeAll(async () => {
    folder = bundleFolder('lab-page');
    buildConsole(join(folder, 'page'), 'console/lab');
    browser = RealBrowser.unpack(folder);
    const port = await freePort(0);
    url = `http://127.0.0.1:${port}`;
    const lab = new Lab({
      scenarios: LAB_SCENARIOS,
      runner: { run: (scenarios, watch) => Promise.all(scenarios.map((scenario) => play(scenario, watch))) },
      consoleUrl: `${url}/console`,
      authority: 'dynamodb',
      other: (step) => {
        step('starting a second local AWS');
        return Promise.reject(new Error('PostgreSQL did not start'));
      },
    });
    server = createServer(listenerOf(labServer(lab, async () => join(folder, 'page'), port))).listen(port, '127.0.0.1');
    await once(server, 'listening');
  });
  afterEach(() => browser.kill());
  afterAll(async () => {
    server.close();
    server.closeAllConnections();
    await rm(folder, { recursive: true, force: true });
  });

  async function opened(): Promise<Page> {
    const page = await browser.open('about:blank');
    page.on('console', (message) => {
      if (/Content Security Policy/.test(message.text())) violations.push(message.text());
    });
    page.on('pageerror', (error) => violations.push(String(error)));
    await page.goto(url);
    await page.getByLabel('Trouble').waitFor();
    return page;
  }

  /** Each test starts a browser. */
  const turn = (place: number) => inTurn(test, { place, of: 3, otherwise: test.skip });

  const byKeyboard =
    'a person can run a failure scenario with the keyboard only, and sees the counts change, and the verdicts';
  turn(0)(byKeyboard, async () => {
    let finish: () => void = () => undefined;
    play = async ({ trouble, moves }, watch) => {
      watch.step(`naive: ${trouble}`);
      watch.caused?.('naive', 'key-1');
      watch.counted?.('naive', { ...ONCE, effects: 0 });
      watch.step(`Payonce: ${trouble}`);
      watch.caused?.('payonce', 'pay_1');
      await new Promise<void>((end) => {
        finish = end;
      });
      return { trouble, moves, naive: TWICE, payonce: ONCE };
    };
    const page = await opened();
    await accessible(page);
    await page.getByLabel('Trouble').focus();
    await page.keyboard.type('a forged callback');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    const naive = page.getByRole('region', { name: 'Naive shop' });
    const payonce = page.getByRole('region', { name: 'Payonce' });
    await page.getByRole('heading', { name: 'a forged callback names a charge that is paid' }).waitFor();
    await naive.getByText('key-1').waitFor();
    expect(await naive.getByRole('definition').allTextContents()).toEqual(['1', '1', '1', '0']);
    expect(await page.getByRole('button', { name: 'Run' }).isDisabled()).toBe(true);
    finish();
    await naive.getByText('2 postings, 2 events, 2 effects').waitFor();
    await payonce.getByText('once', { exact: true }).waitFor();
    expect(await payonce.getByRole('link', { name: 'Timeline of the payment' }).getAttribute('href')).toBe(
      `${url}/console/#/payments/pay_1`,
    );
    const row = page.getByRole('region', { name: 'Results' }).getByRole('row').nth(1);
    expect((await row.getByRole('cell').allTextContents()).slice(1, 4)).toEqual([
      '1 / 2 / 2 / 2',
      '1 / 1 / 1 / 1',
      '2 postings, 2 events, 2 effects',
    ]);
    await accessible(page);
    await page.emulateMedia({ colorScheme: 'dark' });
    await accessible(page);
    await page.emulateMedia({ colorScheme: 'light' });
    await picture(page, 'lab', 660);
    await page.setViewportSize({ width: 360, height: 700 });
    expect(await page.evaluate<number>('document.documentElement.scrollWidth')).toBeLessThanOrEqual(360);
    expect(violations).toEqual([]);
  });

  turn(1)('a scenario whose failure could not be caused is shown as failed, with its error as plain text', async () => {
    play = () => Promise.reject(new Error(SCRIPT));
    const page = await opened();
    await page.getByRole('button', { name: 'Run' }).click();
    await page.getByRole('alert').getByText(SCRIPT).waitFor();
    expect([await page.title(), violations]).toEqual(['Payonce lab', []]);
    expect(await page.getByRole('button', { name: 'Run' }).isEnabled()).toBe(true);
  });

  turn(2)('a person can choose the other database, and sees that its stack could not be started', async () => {
    const page = await opened();
    await page.getByLabel('Payonce’s database').selectOption('PostgreSQL');
    await page.getByText('The first run with this database starts a second local stack').waitFor();
    await page.getByRole('button', { name: 'Run' }).click();
    await page.getByRole('alert').getByText('PostgreSQL did not start').waitFor();
    await page.getByText('Payonce’s database: PostgreSQL').waitFor();
    await accessible(page);
    expect(violations).toEqual([]);
  });
});
