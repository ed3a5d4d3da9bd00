import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CloudFormationClient, DescribeStacksCommand } from '@aws-sdk/client-cloudformation';
import { LambdaClient, ListEventSourceMappingsCommand } from '@aws-sdk/client-lambda';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { DemoStackName } from '../../demo/contract.ts';
import { countAtRest } from '../../demo/counts.ts';
import { type DeployedDemo, deployDemo, removeDemo } from '../../demo/deployed.ts';
import { serveLab } from '../../demo/lab/serve.ts';
import { causeFailure, sideBySide } from '../../demo/runner.ts';
import { SCENARIOS, type Scenario } from '../../demo/scenarios.ts';
import { withSides } from '../../demo/sides.ts';
import { type Counts, cells, exitCode, type Finding } from '../../demo/verdict.ts';
import { freePort } from '../../local/free-port.ts';
import { HAS_BROWSER, RealBrowser } from '../client/browser.ts';
import { accessible } from '../console/console-in-browser.ts';
import { stackOutput } from '../events/event-listener.ts';
import { bundleFolder } from '../support/bundle-folder.ts';
import { CREDENTIALS, localAws } from '../support/local-aws.ts';
import { whole } from '../support/slice.ts';
import { until } from '../support/until.ts';

const SHOWN = whole<readonly string[]>(
  SCENARIOS.map(({ id }) => id),
  { slice: ['three', 'published-again', 'lost-acknowledgement', 'refunds'] },
);
const ONCE: Counts = { atProcessor: 1, postings: 1, events: 1, effects: 1 };

function scenario(wanted: string): Scenario {
  const found = SCENARIOS.find(({ id }) => id === wanted);
  if (found === undefined) throw new Error(`unknown scenario ${wanted}`);
  return found;
}

describe('the demonstration on the deployed stack', () => {
  const aws = localAws();
  const directory = mkdtempSync(join(tmpdir(), 'payonce-demo-test-'));
  let demo: DeployedDemo;
  let findings: readonly Finding[];
  const found = (id: string) => findings.find(({ trouble }) => trouble === scenario(id).trouble);
  /** The relay was stopped when this payment was saved. */
  let withoutRelay: Counts;
  beforeAll(async () => {
    demo = await deployDemo(aws, directory, () => undefined);
    const shown = SCENARIOS.filter(({ id }) => SHOWN.includes(id));
    await withSides(aws, demo, async (sides) => {
      // Only Payonce's side runs the scenario, because the naive side waits a minute for its lost event.
      const stopped = await causeFailure(sides.payonce, scenario('relay-stopped'), randomUUID());
      [findings, withoutRelay] = await Promise.all([
        sideBySide(sides, shown, () => undefined),
        countAtRest(sides.payonce, stopped.subject, await stopped.ended),
      ]);
    });
  });
  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  test('reports the scenarios in the given order, each with exactly one effect by Payonce', () => {
    expect(findings.map(({ payonce }) => payonce)).toEqual(SHOWN.map(() => ONCE));
    expect(exitCode(findings)).toBe(0);
  });

  test('shows that the naive side is correct without a failure, repeats the effect of an event that is published again, and charges twice after a lost acknowledgement', () => {
    expect(found('three')?.naive).toEqual(ONCE);
    expect(found('published-again')?.naive).toEqual({ ...ONCE, effects: 2 });
    expect(found('lost-acknowledgement')?.naive.atProcessor).toBe(2);
  });

  test('publishes the outcomes that were saved while the relay was stopped', () => {
    expect(withoutRelay).toEqual(ONCE);
  });

  whole(test, { slice: test.skip })(
    'shows that the naive shop loses an event and books refunds that do not exist',
    () => {
      expect(found('relay-stopped')?.naive).toEqual({ ...ONCE, events: 0, effects: 0 });
      expect(found('dispute-during-refund')?.naive).toMatchObject({ atProcessor: 1, postings: 3 });
    },
  );

  whole(test, { slice: test.skip })('restarts the relay when the lab that stopped it exits', async () => {
    const lab = await serveLab(aws, { directory: join(directory, 'lab'), port: await freePort(0), demo });
    const lambda = new LambdaClient({ endpoint: aws.awsEndpoint, region: aws.region, credentials: CREDENTIALS });
    const FunctionName = await stackOutput('service', 'relayFunction');
    const relay = async () => {
      const { EventSourceMappings = [] } = await lambda.send(new ListEventSourceMappingsCommand({ FunctionName }));
      return EventSourceMappings.map(({ State }) => State).join();
    };
    await fetch(`${lab.url}/lab/runs`, {
      method: 'POST',
      headers: { origin: lab.url, 'content-type': 'application/json' },
      body: JSON.stringify({ trouble: 'relay-stopped' }),
    });
    await until(async () => ((await relay()) === 'Disabled' ? true : undefined));
    await lab.end();
    expect(await relay()).toBe('Enabled');
  });

  // Skipped on platforms that the browser package does not support.
  (HAS_BROWSER ? test : test.skip)(
    'shows the same counts in the lab page, which links to the history of the payment',
    async () => {
      const folder = bundleFolder('lab-deployed');
      const port = await freePort(0);
      const lab = await serveLab(aws, { directory: join(folder, 'lab'), port, demo });
      const browser = RealBrowser.unpack(folder);
      try {
        const violations: string[] = [];
        const page = await browser.open('about:blank');
        page.on('console', (message) => {
          if (/Content Security Policy/.test(message.text())) violations.push(message.text());
        });
        page.on('pageerror', (error) => violations.push(String(error)));
        await page.goto(lab.url);
        await page.getByLabel('Trouble').selectOption('lost-acknowledgement');
        await page.getByRole('button', { name: 'Run' }).click();
        const finding = found('lost-acknowledgement');
        expect(finding?.naive.atProcessor).toBe(2);
        const row = page.getByRole('region', { name: 'Results' }).getByRole('row').nth(1);
        await row.waitFor();
        expect(await row.getByRole('cell').allTextContents()).toEqual(cells(finding === undefined ? [] : [finding])[1]);
        await accessible(page);

        await page.getByRole('link', { name: 'Timeline of the payment' }).click();
        await page.getByLabel('Operator’s key').fill(aws.operatorKey);
        await page.getByRole('button', { name: 'Sign in' }).click();
        await page.getByRole('heading', { name: 'What happened' }).waitFor();
        await page.getByText('request sent, result succeeded').waitFor();
        await page.getByText('Debits less credits: 0.00 EUR').waitFor();
        expect(violations).toEqual([]);
      } finally {
        await browser.kill();
        await lab.end();
        rmSync(folder, { recursive: true, force: true });
      }
    },
  );

  test('deletes its stacks', async () => {
    await removeDemo(aws);
    const client = new CloudFormationClient({
      endpoint: aws.awsEndpoint,
      region: aws.region,
      credentials: CREDENTIALS,
    });
    const { Stacks = [] } = await client.send(new DescribeStacksCommand({}));
    const names = Stacks.map(({ StackName }) => StackName);
    expect(names).toContain('PayonceService');
    expect(names).not.toContain(DemoStackName.demo);
    expect(names).not.toContain(DemoStackName.processor);
  });
});
