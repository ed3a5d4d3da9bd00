import { GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { GetQueueAttributesCommand, GetQueueUrlCommand, SQSClient } from '@aws-sdk/client-sqs';
import { CREDENTIALS, localAws } from '../support/local-aws.ts';
import { until } from '../support/until.ts';

/** Another service that runs jobs, as configured in the environment of the function that calls it. */
export interface DeployedTarget {
  readonly url: string;
  readonly secretId: string;
}

/** The form that the EventBridge Scheduler API returns. */
interface DeployedSchedule {
  readonly Name: string;
  readonly Target: { readonly Arn: string; readonly RoleArn: string; readonly Input: string };
}

const { awsEndpoint: endpoint, region } = localAws();
const options = { endpoint, region, credentials: CREDENTIALS };

/** The local scheduler reads the region and account from the header, and does not verify the signature. */
async function askScheduler(method: string, path: string, body?: object): Promise<unknown> {
  const scope = `${CREDENTIALS.accessKeyId}/20260101/${region}/scheduler/aws4_request`;
  const answer = await fetch(`${endpoint}/schedules${path}`, {
    method,
    headers: {
      authorization: `AWS4-HMAC-SHA256 Credential=${scope}, SignedHeaders=host, Signature=0`,
      'content-type': 'application/json',
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
  return answer.json();
}

export async function scheduleOf(job: string): Promise<DeployedSchedule> {
  const { Schedules } = (await askScheduler('GET', '')) as { readonly Schedules: readonly { readonly Name: string }[] };
  const part = job.replaceAll('-', '');
  const found = Schedules.find(({ Name }) => Name.replaceAll('-', '').toLowerCase().includes(part));
  if (found === undefined)
    throw new Error(`no schedule of ${job}; found: ${Schedules.map(({ Name }) => Name).join(', ')}`);
  return (await askScheduler('GET', `/${found.Name}`)) as DeployedSchedule;
}

/** Each copy fires once, and all fire at the same time. @param at time in UTC, as `2026-03-01T12:00:00` */
export async function fireAgain({ Target }: DeployedSchedule, names: readonly string[], at: string): Promise<void> {
  for (const name of names) {
    await askScheduler('POST', `/${name}`, {
      ScheduleExpression: `at(${at})`,
      FlexibleTimeWindow: { Mode: 'OFF' },
      ActionAfterCompletion: 'DELETE',
      Target,
    });
  }
}

export async function secretValue(secretId: string): Promise<string> {
  const { SecretString } = await new SecretsManagerClient(options).send(
    new GetSecretValueCommand({ SecretId: secretId }),
  );
  const [first = ''] = Object.values(JSON.parse(SecretString ?? '{}') as Readonly<Record<string, string>>);
  return first;
}

export async function untilEmpty(arn: string): Promise<void> {
  const queues = new SQSClient(options);
  const { QueueUrl } = await queues.send(new GetQueueUrlCommand({ QueueName: arn.split(':').at(-1) }));
  await until(async () => {
    const { Attributes = {} } = await queues.send(
      new GetQueueAttributesCommand({
        QueueUrl,
        AttributeNames: [
          'ApproximateNumberOfMessages',
          'ApproximateNumberOfMessagesNotVisible',
          'ApproximateNumberOfMessagesDelayed',
        ],
      }),
    );
    return Object.values(Attributes).every((count) => count === '0') ? true : undefined;
  });
}
