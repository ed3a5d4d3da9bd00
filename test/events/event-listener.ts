import { CloudFormationClient, DescribeStacksCommand } from '@aws-sdk/client-cloudformation';
import {
  DeleteRuleCommand,
  EventBridgeClient,
  PutRuleCommand,
  PutTargetsCommand,
  RemoveTargetsCommand,
} from '@aws-sdk/client-eventbridge';
import {
  CreateQueueCommand,
  DeleteMessageCommand,
  DeleteQueueCommand,
  GetQueueAttributesCommand,
  ReceiveMessageCommand,
  SQSClient,
} from '@aws-sdk/client-sqs';
import type { PaymentEvent, PayonceEvent } from '../../lambdas/events/domain/event.ts';
import { StackName, StackOutput } from '../../lambdas/kernel/contract/api.ts';
import { CREDENTIALS, localAws } from '../support/local-aws.ts';
import { until } from '../support/until.ts';

export async function stackOutput(stack: keyof typeof StackName, output: keyof typeof StackOutput): Promise<string> {
  const { awsEndpoint: endpoint, region } = localAws();
  const client = new CloudFormationClient({ endpoint, region, credentials: CREDENTIALS });
  const { Stacks = [] } = await client.send(new DescribeStacksCommand({ StackName: StackName[stack] }));
  const value = Stacks[0]?.Outputs?.find(({ OutputKey }) => OutputKey === StackOutput[output])?.OutputValue;
  if (value === undefined) throw new Error(`${StackName[stack]} has no output ${StackOutput[output]}`);
  return value;
}

export class EventListener {
  readonly #name = `listener-${process.pid}-${Date.now()}`;
  readonly #sqs: SQSClient;
  readonly #events: EventBridgeClient;
  #queueUrl = '';
  #bus = '';
  readonly #received: PayonceEvent[] = [];

  constructor() {
    const { awsEndpoint: endpoint, region } = localAws();
    const config = { endpoint, region, credentials: CREDENTIALS };
    this.#sqs = new SQSClient(config);
    this.#events = new EventBridgeClient(config);
  }

  async start(): Promise<void> {
    this.#bus = await stackOutput('data', 'eventBus');
    const { QueueUrl = '' } = await this.#sqs.send(new CreateQueueCommand({ QueueName: this.#name }));
    this.#queueUrl = QueueUrl;
    const { Attributes } = await this.#sqs.send(
      new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ['QueueArn'] }),
    );
    const rule = { Name: this.#name, EventBusName: this.#bus };
    const EventPattern = JSON.stringify({ source: ['payonce'] });
    await this.#events.send(new PutRuleCommand({ ...rule, EventPattern }));
    const targets = [{ Id: 'queue', Arn: Attributes?.['QueueArn'] }];
    await this.#events.send(new PutTargetsCommand({ Rule: this.#name, EventBusName: this.#bus, Targets: targets }));
  }

  async stop(): Promise<void> {
    const rule = { EventBusName: this.#bus };
    await this.#events.send(new RemoveTargetsCommand({ ...rule, Rule: this.#name, Ids: ['queue'] }));
    await this.#events.send(new DeleteRuleCommand({ ...rule, Name: this.#name }));
    await this.#sqs.send(new DeleteQueueCommand({ QueueUrl: this.#queueUrl }));
  }

  /** Returns the events in order of arrival. */
  async received(paymentId: unknown, count: number): Promise<readonly PaymentEvent[]> {
    const ofPayment = () =>
      this.#received.filter((event): event is PaymentEvent => 'payment' in event && event.payment.id === paymentId);
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
      this.#received.push(detail);
      await this.#sqs.send(new DeleteMessageCommand({ QueueUrl: this.#queueUrl, ReceiptHandle }));
    }
  }
}
