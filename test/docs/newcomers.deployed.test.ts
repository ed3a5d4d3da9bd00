import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createClient } from '../../client/client.ts';
import { memoryKeys } from '../../client/key-store.ts';
import { idOfApiKey } from '../../lambdas/tenants/store/tenant-administration.ts';
import { PROJECT } from '../../local/directories.ts';
import { signalProcess } from '../../local/processes.ts';
import { StateFile } from '../../local/state-file.ts';
import { runJob } from '../jobs/run-job.ts';
import { listenOnLoopback, stopListening } from '../sandbox/sandbox-listen.ts';
import { blocksOf } from '../support/documents.ts';
import { askSandbox, localAws } from '../support/local-aws.ts';
import { whole } from '../support/slice.ts';
import { until } from '../support/until.ts';

/*
 * A shell runs the lines of the documents in order against the deployed stack. test/package/platform-team.drill.test.ts
 * covers the job of a platform team.
 */

const aws = localAws();
const client = createClient({ url: aws.apiUrl, apiKey: aws.apiKey, keys: memoryKeys() });
let folder: string;
const background: ChildProcess[] = [];
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'payonce-newcomer-'));
  // This npx does not search for packages.
  mkdirSync(join(folder, 'bin'));
  new StateFile(folder).write(aws);
  const npx = `#!/bin/sh\ntool=$1; shift\ncase $tool in\n  node) exec '${process.execPath}' "$@" ;;\n  payonce) exec '${process.execPath}' '${PROJECT}/cli/payonce.mjs' --directory '${folder}' "$@" ;;\nesac\n`;
  writeFileSync(join(folder, 'bin', 'npx'), npx, { mode: 0o755 });
});
afterAll(() => {
  // Each process leads its own process group.
  for (const { pid } of background) if (pid !== undefined) signalProcess(-pid, 'SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

const linesOf = (page: string, heading: string): readonly string[] =>
  (blocksOf(page, heading, 'sh')[0] ?? '')
    .split('\n')
    .map((line) => line.replace(/\s+# .*$/, ''))
    .filter((line) => line !== '');

class Shell {
  readonly #environment: Record<string, string | undefined>;
  /** Taken from the printed output; a placeholder is, for example, `pay_…`. */
  readonly #ids = new Map<string, string>([['ten_', aws.tenantId]]);

  constructor(environment: Readonly<Record<string, string>>) {
    const PATH = [join(folder, 'bin'), process.env['PATH']].join(delimiter);
    this.#environment = { ...process.env, PATH, API: aws.apiUrl, KEY: aws.apiKey, ...environment };
  }

  async run(line: string): Promise<string> {
    const [, assignments] = /^export (.*)$/.exec(line) ?? [];
    if (assignments !== undefined) {
      const named = await this.#end(`export ${assignments}; env`);
      for (const [, name = '', value = ''] of named.matchAll(/^(PAYONCE_\w+|WEBHOOK_\w+)=(.*)$/gm))
        this.#environment[name] = value;
      return '';
    }
    if (!line.endsWith('&')) return this.#end(line);
    const options = { cwd: PROJECT, env: this.#environment, detached: true, stdio: 'ignore' } as const;
    background.push(spawn('sh', ['-c', line.slice(0, -1)], options));
    return '';
  }

  async #end(line: string): Promise<string> {
    const words = [...this.#ids].reduce((all, [prefix, id]) => all.replaceAll(`${prefix}…`, id), line);
    expect(words).not.toContain('…');
    const child = spawn('sh', ['-c', words], { cwd: PROJECT, env: this.#environment });
    const [printed, failed] = await Promise.all([text(child.stdout), text(child.stderr)]);
    const [id, prefix = ''] = /\b(pay_)[a-z2-7]{32}\b/.exec(printed) ?? [];
    if (id !== undefined) this.#ids.set(prefix, id);
    return `${printed}${line.startsWith('npx') ? failed : ''}`;
  }

  means(prefix: string, id: string): void {
    this.#ids.set(prefix, id);
  }
}

test('the lines in docs/start/first-payment.md set up a shop that charges a purchase once, and shows another as canceled after its webhook', async () => {
  const free = createServer();
  const { port } = new URL(await listenOnLoopback(free));
  await stopListening(free);
  const shell = new Shell({ PORT: port, DATABASE: join(folder, 'shop.db') });
  const page = `http://localhost:${port}`;
  const lines = linesOf('docs/start/first-payment.md', 'A shop in 150 lines').map((line) =>
    line.replaceAll('http://localhost:3000', page),
  );
  const [settings = '', shop = '', listen = '', buy = '', other = '', look = '', ...more] = lines;
  expect(more).toEqual([]);
  // The line `buy` is repeated by curl until the shop has started.
  for (const line of [settings, shop, listen]) await shell.run(line);
  // The resolver completes the order if a service that the order calls responds too late.
  await until(async () => {
    if ((await shell.run(buy)).includes('<b>paid</b>')) return true;
    await runJob(aws, 'resolve');
    return undefined;
  });
  expect(await shell.run(buy)).toContain('<b>paid</b>');
  const database = new DatabaseSync(join(folder, 'shop.db'), { readOnly: true });
  const row = database.prepare("SELECT order_id FROM purchases WHERE id = 'my-tea'").get();
  database.close();
  const { payment } = await client.orders.retrieve(String(row?.['order_id']));
  const { data } = (await (await askSandbox(`/charges?payment=${payment}`)).json()) as Charges;
  expect(data).toMatchObject([{ amount_captured: 2_000, amount_refunded: 0 }]);
  expect(await shell.run(other)).toContain('<b>pending</b>');
  await until(async () => {
    await runJob(aws, 'resolve');
    return (await shell.run(look)).includes('<b>canceled</b>') || undefined;
  });
});

whole(test, { slice: test.skip })(
  'the lines of the first incident let an operator end a stuck payment, roll a leaked key and redrive a dead letter',
  async () => {
    const shell = new Shell({});
    const [
      trigger = '',
      list = '',
      timeline = '',
      decide = '',
      create = '',
      keys = '',
      roll = '',
      fails = '',
      deadLetters = '',
      ...rest
    ] = linesOf('docs/operate/first-incident.md', 'Operate it');
    expect(rest).toEqual(['npx payonce redrive --local']);

    const [stuck = ''] = /pay_\w+/.exec(await shell.run(trigger)) ?? [];
    await until(async () => (await shell.run(list)).includes(stuck) || undefined);
    shell.means('pay_', stuck);
    expect(await shell.run(timeline)).toContain('payment.review_required');
    expect(await shell.run(decide)).toContain('failed');
    await until(async () => {
      await runJob(aws, 'resolve');
      const { data } = (await (await askSandbox(`/charges?payment=${stuck}`)).json()) as Charges;
      return data[0]?.amount_captured === 500 && data[0].amount_refunded === 500 ? true : undefined;
    });

    const leaked = (await shell.run(create)).trim();
    const read = async (apiKey: string) =>
      fetch(`${aws.apiUrl}/v1/balances`, { headers: { authorization: `Bearer ${apiKey}` } });
    expect((await read(leaked)).status).toBe(200);
    shell.means('key_', idOfApiKey(leaked));
    expect(await shell.run(keys)).toContain(idOfApiKey(leaked));
    const fresh = (await shell.run(roll)).trim();
    expect((await read(fresh)).status).toBe(200);
    await until(async () => (await read(leaked)).status === 401 || undefined);

    const to = `account@${crypto.randomUUID()}.example.com`;
    const [order = ''] = /ord_\w+/.exec(await shell.run(fails.replace('account@example.com', to))) ?? [];
    await until(async () => (await shell.run(deadLetters)).includes(order) || undefined);
    expect(await shell.run(rest[0] ?? '')).toMatch(/^vendor calls +[1-9]/m);
    expect(await shell.run(deadLetters)).not.toContain(order);
  },
);

whole(test, { slice: test.skip })('payonce trigger causes bank events and order outcomes', async () => {
  const shell = new Shell({});
  const made = new Map<string, string>();
  const trigger = async (event: string): Promise<void> => {
    const printed = await shell.run(`npx payonce trigger ${event} --local`);
    expect(printed).toContain(`The event ${event} follows.`);
    made.set(event, /(?:pay|ref|ord)_\w+/.exec(printed)?.[0] ?? printed);
  };
  await Promise.all(['refund.failed', 'dispute.closed', 'order.canceled', 'order.review_required'].map(trigger));
  await until(async () => {
    await runJob(aws, 'resolve');
    const seen: string[] = [];
    for await (const { type, data } of client.events.list({})) {
      const { id, payment } = data.object as { readonly id: string; readonly payment?: string };
      if (made.get(type) === id || made.get(type) === payment) seen.push(type);
      if (seen.length === made.size) return true;
    }
    return undefined;
  });
});

interface Charges {
  readonly data: readonly { readonly amount_captured: number; readonly amount_refunded: number }[];
}
