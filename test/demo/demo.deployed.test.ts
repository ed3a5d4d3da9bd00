import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CloudFormationClient, DescribeStacksCommand } from '@aws-sdk/client-cloudformation';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { DemoStackName } from '../../demo/contract.ts';
import { type DeployedDemo, deployDemo, removeDemo } from '../../demo/deployed.ts';
import { serveLab } from '../../demo/lab/serve.ts';
import { SCENARIOS } from '../../demo/scenarios.ts';
import { sideBySide } from '../../demo/side-by-side.ts';
import { withSides } from '../../demo/sides.ts';
import { cells, exitCode, type Finding } from '../../demo/verdict.ts';
import { CREDENTIALS } from '../../local/emulator-environment.ts';
import { freePort } from '../../local/free-port.ts';
import { HAS_BROWSER, RealBrowser } from '../client/browser.ts';
import { accessible } from '../console/console-in-browser.ts';
import { bundleFolder } from '../support/bundle-folder.ts';
import { localAws } from '../support/local-aws.ts';

/** Fast scenarios, and the one whose naive side duplicates on any machine. */
const SHOWN = ['three', 'published-again', 'lost-acknowledgement', 'refunds'];

const lostAcknowledgement = SCENARIOS.find(({ id }) => id === 'lost-acknowledgement');

describe('the demonstration on the deployed stack', () => {
  const aws = localAws();
  const directory = mkdtempSync(join(tmpdir(), 'payonce-demo-test-'));
  let demo: DeployedDemo;
  let findings: readonly Finding[];
  beforeAll(async () => {
    demo = await deployDemo(aws, directory, () => undefined);
    const shown = SCENARIOS.filter(({ id }) => SHOWN.includes(id));
    findings = await withSides(aws, demo, (sides) => sideBySide(sides, shown, () => undefined));
  });
  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  test('counts every scenario at the owners of the effects, in the given order, with one effect by Payonce', () => {
    expect(findings.map(({ payonce }) => payonce)).toEqual(
      SHOWN.map(() => ({ atProcessor: 1, postings: 1, events: 1, effects: 1 })),
    );
    expect(exitCode(findings)).toBe(0);
  });

  test('shows the naive side as correct without a failure, and duplicated when an event is redelivered', () => {
    const [three, again, lost] = findings;
    expect(three?.naive).toEqual({ atProcessor: 1, postings: 1, events: 1, effects: 1 });
    expect(again?.naive).toEqual({ atProcessor: 1, postings: 1, events: 1, effects: 2 });
    expect(lost?.naive.atProcessor).toBe(2);
  });

  // The package of the browser has none for other platforms.
  (HAS_BROWSER ? test : test.skip)(
    'the lab tells the same counts in a browser, and leads to what happened to the payment',
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
        const told = findings.find(({ trouble }) => trouble === lostAcknowledgement?.trouble);
        expect(told?.naive.atProcessor).toBe(2);
        const row = page.getByRole('region', { name: 'Results' }).getByRole('row').nth(1);
        await row.waitFor();
        expect(await row.getByRole('cell').allTextContents()).toEqual(cells(told === undefined ? [] : [told])[1]);
        await accessible(page);

        await page.getByRole('link', { name: 'What happened to it' }).click();
        await page.getByLabel('Operator’s key').fill(aws.operatorKey);
        await page.getByRole('button', { name: 'Sign in' }).click();
        await page.getByRole('heading', { name: 'What happened' }).waitFor();
        await page.getByText('request sent, heard succeeded').waitFor();
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
