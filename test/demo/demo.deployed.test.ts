import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CloudFormationClient, DescribeStacksCommand } from '@aws-sdk/client-cloudformation';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { DemoStackName } from '../../demo/contract.ts';
import { type DeployedDemo, deployDemo, removeDemo } from '../../demo/deployed.ts';
import { SCENARIOS } from '../../demo/scenarios.ts';
import { sideBySide } from '../../demo/side-by-side.ts';
import { withSides } from '../../demo/sides.ts';
import { exitCode, type Finding } from '../../demo/verdict.ts';
import { CREDENTIALS } from '../../local/emulator-environment.ts';
import { localAws } from '../support/local-aws.ts';

/** Fast scenarios, and the one whose naive side duplicates on any machine. */
const SHOWN = ['three', 'published-again', 'lost-acknowledgement', 'refunds'];

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
