import { createHash } from 'node:crypto';
import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { SQSClient } from '@aws-sdk/client-sqs';
import { ParameterNotFound, SSMClient } from '@aws-sdk/client-ssm';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { createAwsCallbacks } from '../../sandbox/aws-callbacks.ts';
import { createSqsTasks } from '../../sandbox/sqs-tasks.ts';
import { delivery } from '../../sandbox/tasks.ts';
import type { Callbacks } from '../../sandbox/world.ts';

const OPTIONS = { region: 'us-east-1', credentials: { accessKeyId: 'a', secretAccessKey: 'b' } };

function scripted<C extends SSMClient | SecretsManagerClient | SQSClient>(
  client: C,
  answer: (input: object) => object,
): C {
  // The middleware stacks of the three clients have the same shape. Only their common part is used.
  const { middlewareStack } = client as SSMClient;
  middlewareStack.add(() => async (args) => ({ output: { $metadata: {}, ...answer(args.input) }, response: {} }), {
    step: 'initialize',
    priority: 'low',
  });
  return client;
}

describe('for the callback URL and signing secret on AWS,', () => {
  let nowMs: number;
  let looks: object[];
  let parameter: string | undefined;
  let secretText: string | undefined;
  let callbacks: Callbacks;

  beforeEach(() => {
    nowMs = 1_767_225_600_000;
    looks = [];
    parameter = 'https://merchant.example/callbacks';
    secretText = '{"previous":"old","current":"new"}';
    callbacks = createAwsCallbacks({
      ssm: scripted(new SSMClient(OPTIONS), (input) => {
        looks.push(input);
        if (parameter === undefined) throw new ParameterNotFound({ message: 'none', $metadata: {} });
        return { Parameter: { Value: parameter } };
      }),
      secrets: scripted(new SecretsManagerClient(OPTIONS), (input) => {
        looks.push(input);
        return { SecretString: secretText };
      }),
      addressParameter: '/payonce/callback-address',
      secretId: 'sandbox-secret',
      nowMs: () => nowMs,
    });
  });

  test('the URL is the value of the parameter', async () => {
    expect(await callbacks.address()).toBe('https://merchant.example/callbacks');
    expect(looks).toEqual([{ Name: '/payonce/callback-address' }]);
  });

  test('a missing parameter means that there is no URL yet, and is not cached', async () => {
    parameter = undefined;
    expect(await callbacks.address()).toBeUndefined();
    parameter = 'https://merchant.example/new';
    expect(await callbacks.address()).toBe('https://merchant.example/new');
  });

  test('an unreadable parameter is an error, not a missing URL', async () => {
    const failing = createAwsCallbacks({
      ssm: scripted(new SSMClient(OPTIONS), () => {
        throw new Error('AccessDenied');
      }),
      secrets: new SecretsManagerClient(OPTIONS),
      addressParameter: 'p',
      secretId: 's',
      nowMs: () => nowMs,
    });
    await expect(failing.address()).rejects.toThrow('AccessDenied');
  });

  test('the URL and the secret are cached for exactly 30 seconds', async () => {
    await callbacks.address();
    await callbacks.secret();
    [parameter, secretText] = ['https://merchant.example/moved', '{"current":"rotated"}'];
    nowMs += 29_999;
    expect([await callbacks.address(), await callbacks.secret()]).toEqual([
      'https://merchant.example/callbacks',
      'new',
    ]);
    nowMs += 1;
    expect([await callbacks.address(), await callbacks.secret()]).toEqual([
      'https://merchant.example/moved',
      'rotated',
    ]);
    expect(looks).toHaveLength(4);
  });

  test.each([
    ['the value under "current"', '{"previous":"old","current":"new"}', 'new'],
    ['the first value, if there is no "current"', '{"b":"one","a":"two"}', 'one'],
    ['plain text unchanged', 'whsec_abc', 'whsec_abc'],
    ['the unchanged text, if it is JSON but not an object', '12345', '12345'],
  ])('the secret is %s', async (_what, text, secret) => {
    secretText = text;
    expect(await callbacks.secret()).toBe(secret);
    expect(looks).toEqual([{ SecretId: 'sandbox-secret' }]);
  });

  test.each([[''], ['{}'], [undefined]])('an empty secret (%p) is rejected', async (text) => {
    secretText = text;
    await expect(callbacks.secret()).rejects.toThrow('empty');
  });
});

test('a task is sent as one message with its delay', async () => {
  const sent: object[] = [];
  const client = scripted(new SQSClient(OPTIONS), (input) => {
    sent.push(input);
    // The client verifies the checksum in the SQS response.
    return {
      MD5OfMessageBody: createHash('md5')
        .update(JSON.stringify(delivery('evt_1')))
        .digest('hex'),
    };
  });
  await createSqsTasks(client, 'https://sqs.example/tasks').enqueue(delivery('evt_1'), 4);
  expect(sent).toEqual([
    { QueueUrl: 'https://sqs.example/tasks', MessageBody: JSON.stringify(delivery('evt_1')), DelaySeconds: 4 },
  ]);
});
