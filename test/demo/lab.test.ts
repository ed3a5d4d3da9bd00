import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { LabRun, LabState } from '../../console/lab/answers.ts';
import { Lab, type LabOptions } from '../../demo/lab/lab.ts';
import { labServer } from '../../demo/lab/server.ts';
import type { Watch } from '../../demo/runner.ts';
import { LAB_SCENARIOS, SCENARIOS, type Scenario } from '../../demo/scenarios.ts';
import { type Counts, cells, type Finding } from '../../demo/verdict.ts';
import { buildConsole } from '../../lib/lambda-code.ts';
import { bundleFolder } from '../support/bundle-folder.ts';
import { until } from '../support/until.ts';

const PORT = 4321;
const HOST = `127.0.0.1:${PORT}`;
const ONCE: Counts = { atProcessor: 1, postings: 1, events: 1, effects: 1 };
type Play = (scenario: Scenario, watch: Watch) => Promise<Finding>;
const TWICE: Counts = { atProcessor: 2, postings: 2, events: 2, effects: 2 };

describe('the lab server', () => {
  let folder: string;
  let play: Play;
  let other: LabOptions['other'];
  let ask: (path: string, init?: RequestInit) => Promise<Response>;
  beforeAll(async () => {
    folder = bundleFolder('lab');
    buildConsole(join(folder, 'page'), 'console/lab');
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));
  beforeEach(() => {
    play = () => Promise.reject(new Error('the test sets no trouble'));
    other = () => Promise.reject(new Error('the test sets no second stack'));
    const lab = new Lab({
      scenarios: LAB_SCENARIOS,
      runner: { run: (scenarios, watch) => Promise.all(scenarios.map((scenario) => play(scenario, watch))) },
      consoleUrl: 'http://127.0.0.1:4566/console',
      authority: 'dynamodb',
      other: (step) => other(step),
    });
    const serve = labServer(lab, async () => join(folder, 'page'), PORT);
    ask = (path, { headers, ...init } = {}) =>
      serve(new Request(`http://${HOST}${path}`, { ...init, headers: { host: HOST, ...(headers as object) } }));
  });

  const post = (body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Response> =>
    ask('/lab/runs', {
      method: 'POST',
      headers: { origin: `http://${HOST}`, 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
  const begin = async (trouble: string): Promise<LabRun> => (await post({ trouble })).json() as Promise<LabRun>;
  const ended = (id: string): Promise<LabRun> =>
    until(async () => {
      const run = (await (await ask(`/lab/runs/${id}`)).json()) as LabRun;
      return run.state === 'running' ? undefined : run;
    });
  const finding = (trouble: string): Finding => ({ trouble, moves: 'charge', naive: TWICE, payonce: ONCE });

  test('serves only the page and its files, under the content security policy of the console', async () => {
    const page = await ask('/');
    expect(page.headers.get('content-security-policy')).toMatch(
      /^default-src 'none'; script-src 'self'; style-src 'self';/,
    );
    const html = await page.text();
    expect(html).not.toMatch(/https?:|\/\/|<script>|<style|style=|\son[a-z]+=/);
    const names = [...html.matchAll(/(?:href|src)="\.\/(assets\/[^"]+)"/g)].map(([, name = '']) => name);
    expect(names).toHaveLength(2);
    for (const name of names) expect((await ask(`/${name}`)).status).toBe(200);
    for (const path of ['/index.html', '/assets/none.js', '/assets/..%2findex.html', '/assets']) {
      expect((await ask(path)).status).toBe(404);
    }
  });

  test('lists the failure scenarios of the demonstration, and those that only the lab has', async () => {
    const { troubles, runs } = (await (await ask('/lab')).json()) as LabState;
    expect(troubles.filter(({ isInDemo }) => isInDemo).map(({ trouble }) => trouble)).toEqual(
      SCENARIOS.map(({ trouble }) => trouble),
    );
    expect(troubles.map(({ id }) => id)).toContain('silent-processor');
    expect(runs).toEqual([]);
  });

  test('reports the steps, payments and current counts of a run, and finally the same verdict as npm run demo', async () => {
    let finish: (found: Finding) => void = () => undefined;
    play = ({ trouble }, watch) => {
      watch.step(`naive: ${trouble}`);
      watch.caused?.('naive', 'key-1');
      watch.caused?.('payonce', 'pay_1');
      watch.counted?.('payonce', { ...ONCE, effects: 0 });
      return new Promise((end) => {
        finish = end;
      });
    };
    const { id } = await begin('crash');
    const crash = SCENARIOS.find((each) => each.id === 'crash')?.trouble ?? '';
    expect(await (await ask(`/lab/runs/${id}`)).json()).toMatchObject({
      state: 'running',
      trouble: { id: 'crash', trouble: crash, moves: 'charge' },
      steps: [`naive: ${crash}`],
      naive: { payment: 'key-1' },
      payonce: {
        payment: 'pay_1',
        timeline: 'http://127.0.0.1:4566/console/#/payments/pay_1',
        counts: { ...ONCE, effects: 0 },
      },
    });
    finish(finding(crash));
    const run = await ended(id);
    const { head } = (await (await ask('/lab')).json()) as LabState;
    expect([head, run.row]).toEqual(cells([finding(crash)]));
    expect(run).toMatchObject({
      state: 'done',
      naive: { counts: TWICE, verdict: '2 charges, 2 postings, 2 events, 2 effects', isExact: false },
      payonce: { counts: ONCE, verdict: 'once', isExact: true },
    });
    expect(run.naive.timeline).toBeUndefined();
  });

  test('runs a failure scenario with the other database on a second stack, whose start is a step of the run', async () => {
    play = () => Promise.reject(new Error('this run belongs to the second stack'));
    other = async (step) => {
      step('starting a second local AWS');
      return {
        runner: {
          run: async ([scenario], watch) => {
            watch.caused?.('payonce', 'pay_2');
            return [finding(scenario?.trouble ?? '')];
          },
        },
        consoleUrl: 'http://127.0.0.1:4567/console',
      };
    };
    expect(((await (await ask('/lab')).json()) as LabState).authority).toBe('dynamodb');
    const { id } = (await (await post({ trouble: 'crash', authority: 'postgres' })).json()) as LabRun;
    expect(await ended(id)).toMatchObject({
      authority: 'postgres',
      state: 'done',
      steps: ['starting a second local AWS'],
      payonce: { timeline: 'http://127.0.0.1:4567/console/#/payments/pay_2', isExact: true },
    });
    expect((await post({ trouble: 'crash', authority: 'mysql' })).status).toBe(400);
  });

  test('runs one failure scenario at a time', async () => {
    let finish: (found: Finding) => void = () => undefined;
    play = () =>
      new Promise((end) => {
        finish = end;
      });
    const { id } = await begin('three');
    const second = await post({ trouble: 'crash' });
    expect([second.status, await second.json()]).toMatchObject([409, { code: 'lab_is_busy' }]);
    finish(finding('three'));
    await ended(id);
    expect((await post({ trouble: 'crash' })).status).toBe(202);
  });

  test('reports a failure scenario as failed if its failure could not be caused, and can run the next one', async () => {
    play = () => Promise.reject(new Error('there was no process to kill'));
    const failed = await ended((await begin('crash')).id);
    expect(failed).toMatchObject({ state: 'failed', error: 'there was no process to kill' });
    expect([failed.row, failed.payonce.verdict]).toEqual([undefined, undefined]);
    play = ({ trouble }) => Promise.resolve(finding(trouble));
    expect((await ended((await begin('three')).id)).state).toBe('done');
  });

  test('refuses an unknown failure scenario and an invalid body', async () => {
    const unknown = await post({ trouble: 'flood' });
    expect([unknown.status, await unknown.json()]).toEqual([
      404,
      { code: 'unknown_trouble', detail: 'trouble is "flood", but must be an id that GET /lab lists.' },
    ]);
    expect((await post({})).status).toBe(400);
    expect((await post({ trouble: 'crash' }, { 'content-type': 'text/plain' })).status).toBe(415);
    expect((await ask('/lab/runs/none')).status).toBe(404);
  });

  test('refuses other host names (DNS rebinding), and posts from pages of other origins', async () => {
    for (const host of ['evil.example', `evil.example:${PORT}`, '127.0.0.1', '127.0.0.1:80']) {
      const refused = await ask('/lab', { headers: { host } });
      expect([refused.status, await refused.json()]).toMatchObject([403, { code: 'foreign_host' }]);
    }
    expect((await ask('/lab', { headers: { host: `localhost:${PORT}` } })).status).toBe(200);
    for (const origin of ['https://evil.example', 'null', `http://localhost:${PORT}`, `https://${HOST}`]) {
      const refused = await post({ trouble: 'crash' }, { origin });
      expect([refused.status, await refused.json()]).toMatchObject([403, { code: 'foreign_origin' }]);
    }
    const without = await ask('/lab/runs', { method: 'POST', body: '{"trouble":"crash"}' });
    expect(without.status).toBe(403);
    const { runs } = (await (await ask('/lab')).json()) as LabState;
    expect(runs).toEqual([]);
  });
});
