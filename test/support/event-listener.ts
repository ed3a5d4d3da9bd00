import { CloudFormationClient, DescribeStacksCommand } from '@aws-sdk/client-cloudformation';
import {
  CreateQueueCommand,
  DeleteMessageCommand,
  DeleteQueueCommand,
  GetQueueAttributesCommand,
  ReceiveMessageCommand,
  SQSClient,
} from '@aws-sdk/client-sqs';
import { signedHeaders } from '../../lambdas/adapters/eventbridge/signature.ts';
import { StackName, StackOutput } from '../../lambdas/contract/api.ts';
import type { PayonceEvent } from '../../lambdas/core/event.ts';
import { CREDENTIALS } from '../../local/emulator-environment.ts';
import { localAws } from './local-aws.ts';
import { until } from './until.ts';

/** What a stack says of itself. */
export async function stackOutput(stack: keyof typeof StackName, output: keyof typeof StackOutput): Promise<string> {
  const { awsEndpoint: endpoint, region } = localAws();
  const client = new CloudFormationClient({ endpoint, region, credentials: CREDENTIALS });
  const { Stacks = [] } = await client.send(new DescribeStacksCommand({ StackName: StackName[stack] }));
  const value = Stacks[0]?.Outputs?.find(({ OutputKey }) => OutputKey === StackOutput[output])?.OutputValue;
  if (value === undefined) throw new Error(`${StackName[stack]} has no output ${StackOutput[output]}`);
  return value;
}

/** A subscriber to the deployed bus: a rule and a queue of its own. */
export class EventListener {
  readonly #name = `listener-${process.pid}-${Date.now()}`;
  readonly #sqs: SQSClient;
  #queueUrl = '';
  #bus = '';
  readonly #heard: PayonceEvent[] = [];

  constructor() {
    const { awsEndpoint: endpoint, region } = localAws();
    this.#sqs = new SQSClient({ endpoint, region, credentials: CREDENTIALS });
  }

  async start(): Promise<void> {
    this.#bus = await stackOutput('data', 'eventBus');
    const { QueueUrl = '' } = await this.#sqs.send(new CreateQueueCommand({ QueueName: this.#name }));
    this.#queueUrl = QueueUrl;
    const { Attributes } = await this.#sqs.send(
      new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ['QueueArn'] }),
    );
    const rule = { Name: this.#name, EventBusName: this.#bus };
    await call('PutRule', { ...rule, EventPattern: JSON.stringify({ source: ['payonce'] }) });
    const targets = [{ Id: 'queue', Arn: Attributes?.['QueueArn'] }];
    await call('PutTargets', { Rule: this.#name, EventBusName: this.#bus, Targets: targets });
  }

  async stop(): Promise<void> {
    await call('RemoveTargets', { Rule: this.#name, EventBusName: this.#bus, Ids: ['queue'] });
    await call('DeleteRule', { Name: this.#name, EventBusName: this.#bus });
    await this.#sqs.send(new DeleteQueueCommand({ QueueUrl: this.#queueUrl }));
  }

  /** Waits until it has heard so many events of a payment, in the order in which they came. */
  async heard(paymentId: unknown, count: number): Promise<readonly PayonceEvent[]> {
    const ofPayment = () => this.#heard.filter(({ payment }) => payment.id === paymentId);
    await until(async () => {
      await this.#listen();
      return ofPayment().length >= count ? true : undefined;
    });
    return ofPayment();
  }

  async #listen(): Promise<void> {
    const { Messages = [] } = await this.#sqs.send(
      new ReceiveMessageCommand({ QueueUrl: this.#queueUrl, MaxNumberOfMessages: 10, WaitTimeSeconds: 0 }),
    );
    for (const { Body = '{}', ReceiptHandle } of Messages) {
      const { detail } = JSON.parse(Body) as { detail: PayonceEvent };
      this.#heard.push(detail);
      await this.#sqs.send(new DeleteMessageCommand({ QueueUrl: this.#queueUrl, ReceiptHandle }));
    }
  }
}

/** EventBridge, called as an administrator does. */
async function call(operation: string, input: unknown): Promise<void> {
  const { awsEndpoint, region } = localAws();
  const body = JSON.stringify(input);
  const headers = signedHeaders(
    { host: new URL(awsEndpoint).host, target: `AWSEvents.${operation}`, body },
    { ...CREDENTIALS, sessionToken: undefined },
    { region, service: 'events', at: new Date() },
  );
  const answer = await fetch(awsEndpoint, { method: 'POST', headers, body });
  if (!answer.ok) throw new Error(`${operation}: ${await answer.text()}`);
}
