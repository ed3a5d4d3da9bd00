/** Tests the guarantee "tamper evidence". */
import { CloudFormationClient, DescribeStacksCommand } from '@aws-sdk/client-cloudformation';
import { DeleteMessageCommand, ReceiveMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { DeleteCommand, DynamoDBDocumentClient, PutCommand, TransactWriteCommand } from '@aws-sdk/lib-dynamodb';
import { expect, test } from '@jest/globals';
import { StackName, StackOutput } from '../../lambdas/kernel/contract/api.ts';
import { CREDENTIALS, dynamoDbClient, localAws } from '../support/local-aws.ts';
import { until } from '../support/until.ts';

const { awsEndpoint: endpoint, region, tables } = localAws();
const access = { endpoint, region, credentials: CREDENTIALS };

test.each(['removed', 'overwritten'])(
  'a Ledger row that is %s by hand is parked for an operator, with its original contents',
  async (how) => {
    const { Stacks = [] } = await new CloudFormationClient(access).send(
      new DescribeStacksCommand({ StackName: StackName.service }),
    );
    const outputs = Stacks[0]?.Outputs ?? [];
    const QueueUrl = outputs.find(({ OutputKey }) => OutputKey === StackOutput.parkedRecordsQueue)?.OutputValue;
    const client = DynamoDBDocumentClient.from(dynamoDbClient());
    // This row is unrelated to payments, so that the payments of other tests are not affected.
    const Key = { pk: `NOTE#${how}`, sk: 'T#000001' };
    await client.send(new PutCommand({ TableName: tables.ledger, Item: { ...Key, amountMinor: 1000 } }));
    // IAM allows a put inside a transaction. Only a condition in the code prevents the overwrite, and this call omits
    // the condition.
    const overwriting = { Put: { TableName: tables.ledger, Item: { ...Key, amountMinor: 1 } } };
    await (how === 'removed'
      ? client.send(new DeleteCommand({ TableName: tables.ledger, Key }))
      : client.send(new TransactWriteCommand({ TransactItems: [overwriting] })));

    const sqs = new SQSClient(access);
    const parked = await until(async () => {
      const { Messages } = await sqs.send(
        new ReceiveMessageCommand({ QueueUrl, MessageAttributeNames: ['All'], WaitTimeSeconds: 1 }),
      );
      return Messages?.find(({ Body = '' }) => Body.includes(Key.pk));
    });
    expect(parked.MessageAttributes).toMatchObject({
      reason: { StringValue: 'ledger_tampered' },
      detail: { StringValue: `${how === 'removed' ? 'REMOVE' : 'MODIFY'} NOTE#${how} T#000001` },
    });
    expect(JSON.parse(parked.Body ?? '')).toMatchObject({ dynamodb: { OldImage: { amountMinor: { N: '1000' } } } });
    await sqs.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle: parked.ReceiptHandle }));
  },
);
