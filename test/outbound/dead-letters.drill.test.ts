import { CloudFormationClient, DescribeStacksCommand } from '@aws-sdk/client-cloudformation';
import { ListQueuesCommand, SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { StackName, StackOutput } from '../../lambdas/kernel/contract/api.ts';
import type { DeadLetter } from '../../lambdas/outbound/use/dead-letters.ts';
import { ApiClient } from '../support/api-client.ts';
import { payonce } from '../support/command-line.ts';
import { askSandbox, CREDENTIALS, localAws } from '../support/local-aws.ts';
import { until } from '../support/until.ts';

const { awsEndpoint: endpoint, region } = localAws();
const access = { endpoint, region, credentials: CREDENTIALS };
const sqs = new SQSClient(access);
let queueUrl: string;

beforeAll(async () => {
  const { Stacks = [] } = await new CloudFormationClient(access).send(
    new DescribeStacksCommand({ StackName: StackName.data }),
  );
  queueUrl = Stacks[0]?.Outputs?.find(({ OutputKey }) => OutputKey === StackOutput.deadLettersQueue)?.OutputValue ?? '';
});

const deadLetters = (...words: readonly string[]) => payonce(localAws(), 'dead-letters', ...words);

async function emailsOf(messageId: string): Promise<number> {
  const query = new URLSearchParams({ count: '50', offset: '0', metadata_payonce: messageId });
  const answer = await askSandbox(`/messages/outbound?${query.toString()}`);
  return ((await answer.json()) as { TotalCount: number }).TotalCount;
}

const emailDeadLetter = (messageId: string, to: string): DeadLetter => ({
  vendor: 'postmark',
  operation: 'email.send',
  payload: { messageId, to, subject: 'Your order', text: 'Thank you.', tag: 'order-confirmation', metadata: {} },
  attempts: 1,
  reason: 'postmark_account',
  mayBeApplied: false,
});

/** @returns the message id, which the command shows */
async function put(body: string): Promise<string> {
  const { MessageId = '' } = await sqs.send(new SendMessageCommand({ QueueUrl: queueUrl, MessageBody: body }));
  return MessageId;
}
const putDeadLetter = (deadLetter: DeadLetter) => put(JSON.stringify({ version: 1, deadLetter }));

describe('dead letters on the deployed stack', () => {
  test('are listed, redriven once, and kept while the redrive fails', async () => {
    const [first, second] = [crypto.randomUUID(), crypto.randomUUID()];
    const sent = await putDeadLetter(emailDeadLetter(first, 'ada@example.com'));
    // Two copies, as from two processes that gave up on the same call.
    const copy = await putDeadLetter(emailDeadLetter(first, 'ada@example.com'));
    const stuck = await putDeadLetter(emailDeadLetter(second, 'account@example.com'));
    const poison = await put('poison');
    /** Ignores the dead letters of other tests. */
    const of = (said: string, id: string) => said.split('\n').find((line) => line.endsWith(id)) ?? 'nothing';

    const listed = await deadLetters('list');
    expect(of(listed.said, sent)).toMatch(/^kept +postmark +email\.send +none +postmark_account +not applied /);
    expect(listed.said).not.toContain('ada@');

    const redriven = await deadLetters('redrive');
    expect([sent, copy].map((id) => of(redriven.said, id).split(' ')[0])).toEqual(['applied', 'applied']);
    expect(of(redriven.said, stuck)).toMatch(/^stays +postmark +email\.send +none +postmark_account/);
    expect(of(redriven.said, poison)).toMatch(/^stays +unknown +unknown +none +dead_letter_unreadable/);
    expect(redriven.code).toBe(1);
    expect([await emailsOf(first), await emailsOf(second)]).toEqual([1, 0]);

    // An unreadable message is put back as a new message.
    const answers = await Promise.all([redriveByApi('k'), redriveByApi('k')]);
    expect(answers.map(({ status }) => status)).toEqual([202, 202]);
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    await until(async () => (await emailsOf(second)) > 0 || undefined);
    const { said } = await until(async () => {
      const list = await deadLetters('list');
      return list.said.includes('dead_letter_unreadable') && of(list.said, poison) === 'nothing' ? list : undefined;
    });
    expect([sent, copy, stuck].map((id) => of(said, id))).toEqual(['nothing', 'nothing', 'nothing']);
    expect([await emailsOf(first), await emailsOf(second)]).toEqual([1, 1]);
  });

  function redriveByApi(key: string) {
    const { apiKey, operatorKey } = localAws();
    const headers = { authorization: `Bearer ${operatorKey}`, 'idempotency-key': `letters-${process.pid}-${key}` };
    const path = '/v1/admin/queues/Vendors-DeadLetters/redrive';
    return new ApiClient(localAws(), apiKey).send('POST', path, { headers });
  }

  test('are created for a delayed call only if its last attempt fails', async () => {
    const { QueueUrls = [] } = await sqs.send(new ListQueuesCommand({}));
    const QueueUrl = QueueUrls.find((url) => url.includes('DelayedCalls'));
    const delay = (deadLetter: DeadLetter) =>
      sqs.send(new SendMessageCommand({ QueueUrl, MessageBody: JSON.stringify({ version: 1, deadLetter }) }));
    const [first, second] = [crypto.randomUUID(), crypto.randomUUID()];
    await delay(emailDeadLetter(first, 'ada@example.com'));
    await delay({ ...emailDeadLetter(second, 'account@example.com'), about: `ord_${second}` });
    await until(async () => (await emailsOf(first)) > 0 || undefined);
    await until(async () => (await deadLetters('list')).said.includes(`ord_${second}`) || undefined);
    expect(await emailsOf(first)).toBe(1);
    expect(await emailsOf(second)).toBe(0);
  });

  test('are not redriven if the requested number is invalid', async () => {
    expect(await deadLetters('redrive', '--most', '0')).toMatchObject({
      code: 2,
      said: expect.stringContaining('1 to 100'),
    });
  });
});
