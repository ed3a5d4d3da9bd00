import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { CloudFormationClient, DescribeStacksCommand } from '@aws-sdk/client-cloudformation';
import { SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { SqsLetterBox } from '../../lambdas/adapters/sqs/sqs-letter-box.ts';
import type { DeadLetter } from '../../lambdas/app/ports/dead-letters.ts';
import { StackName, StackOutput } from '../../lambdas/contract/api.ts';
import { CREDENTIALS } from '../../local/emulator-environment.ts';
import { localAws } from '../support/local-aws.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

const { awsEndpoint: endpoint, region, sandboxUrl } = localAws();
const access = { endpoint, region, credentials: CREDENTIALS };
const sqs = new SQSClient(access);
let queueUrl: string;

beforeAll(async () => {
  const { Stacks = [] } = await new CloudFormationClient(access).send(
    new DescribeStacksCommand({ StackName: StackName.data }),
  );
  queueUrl = Stacks[0]?.Outputs?.find(({ OutputKey }) => OutputKey === StackOutput.deadLettersQueue)?.OutputValue ?? '';
});

/** The operator's command, as he calls it: his AWS is the local one. */
async function letters(...words: readonly string[]): Promise<{ readonly code: number; readonly said: string }> {
  const env = {
    ...process.env,
    AWS_ENDPOINT_URL: endpoint,
    AWS_REGION: region,
    AWS_ACCESS_KEY_ID: CREDENTIALS.accessKeyId,
    AWS_SECRET_ACCESS_KEY: CREDENTIALS.secretAccessKey,
  };
  try {
    const { stdout } = await promisify(execFile)(process.execPath, ['operator/letters.ts', ...words], {
      cwd: ROOT,
      env,
    });
    return { code: 0, said: stdout };
  } catch (error) {
    const { code = 1, stdout = '', stderr = '' } = error as { code?: number; stdout?: string; stderr?: string };
    return { code, said: `${stdout}${stderr}` };
  }
}

async function emailsOf(messageId: string): Promise<number> {
  const query = new URLSearchParams({ count: '50', offset: '0', metadata_payonce: messageId });
  const answer = await fetch(`${sandboxUrl}/messages/outbound?${query.toString()}`, {
    headers: { 'x-postmark-server-token': 'any' },
  });
  return ((await answer.json()) as { TotalCount: number }).TotalCount;
}

const emailLetter = (messageId: string, to: string): DeadLetter => ({
  vendor: 'postmark',
  operation: 'email.send',
  payload: { messageId, to, subject: 'Your order', text: 'Thank you.', tag: 'order-confirmation', metadata: {} },
  attempts: 1,
  reason: 'postmark_account',
  mayBeApplied: false,
});

describe('dead letters on the deployed stack', () => {
  test('are listed, made again once, and stay as long as that fails', async () => {
    const box = new SqsLetterBox(sqs, queueUrl);
    const [first, second] = [crypto.randomUUID(), crypto.randomUUID()];
    await box.put(emailLetter(first, 'ada@example.com'));
    // The same one twice, as a process leaves it that died after it had put it.
    await box.put(emailLetter(first, 'ada@example.com'));
    await box.put(emailLetter(second, 'account@example.com'));
    await sqs.send(new SendMessageCommand({ QueueUrl: queueUrl, MessageBody: 'poison' }));

    const listed = await letters('list');
    expect(listed.said).toContain('4 shown.');
    expect(listed.said).toMatch(/kept {2}postmark {2}email\.send {2}postmark_account {2}not applied/);
    expect(listed.said).not.toContain('ada@');

    const redriven = await letters('redrive');
    expect(redriven.said).toContain('2 ended, 2 stay.');
    expect(redriven.said).toMatch(/stays {2}postmark {2}email\.send {2}postmark_account/);
    expect(redriven.said).toMatch(/stays {2}unknown {2}unknown {2}letter_unreadable/);
    expect(redriven.code).toBe(1);
    expect([await emailsOf(first), await emailsOf(second)]).toEqual([1, 0]);

    expect((await letters('redrive')).said).toContain('1 ended, 1 stay.');
    expect([await emailsOf(first), await emailsOf(second)]).toEqual([1, 1]);
    expect((await letters('list')).said).toContain('1 shown.');
  }, 120_000);

  test('a number that is none is refused before anything is asked', async () => {
    expect(await letters('redrive', '--most', '0')).toMatchObject({
      code: 1,
      said: expect.stringContaining('1 to 100'),
    });
  });
});
