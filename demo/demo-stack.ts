import { rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { CfnOutput, Duration, Stack } from 'aws-cdk-lib';
import { EventBus, Rule } from 'aws-cdk-lib/aws-events';
import { SqsQueue } from 'aws-cdk-lib/aws-events-targets';
import { PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Code, Function, Runtime } from 'aws-cdk-lib/aws-lambda';
import { SqsEventSource } from 'aws-cdk-lib/aws-lambda-event-sources';
import { type CfnQueue, Queue } from 'aws-cdk-lib/aws-sqs';
import type { Construct } from 'constructs';
import { Environment } from '../lambdas/kernel/contract/environment.ts';
import { IdempotencyTable, KeyAttribute } from '../lambdas/kernel/contract/tables.ts';
import { DataTable } from '../lib/constructs/data-table.ts';
import { EventConsumer } from '../lib/constructs/event-consumer.ts';
import { HttpApi } from '../lib/constructs/http-api.ts';
import { ProcessorSecret } from '../lib/constructs/processor-secret.ts';
import { bundleEach } from '../lib/lambda-code.ts';
import type { Settings } from '../lib/settings.ts';
import {
  DemoEnvironment,
  DemoOutput,
  RECEIPT_EVENTS,
  RECEIPTS_TIMEOUT_SECONDS,
  SHOP_AT_ONCE,
  SHOP_EVENT_SOURCE,
} from './contract.ts';

/** The synthesized stacks contain copies of its files. */
const OUTPUT = resolve(import.meta.dirname, '..', 'dist', `demo-${process.pid}`);
const FUNCTIONS = ['naive-shop', 'naive-receipts', 'payonce-receipts'] as const;
type FunctionName = (typeof FUNCTIONS)[number];

/** Longer than the shop's timeout for calls to the processor. */
const SHOP_TIMEOUT = Duration.seconds(20);
/** A short timeout keeps the demonstration fast. */
const REDELIVERED_AFTER = Duration.seconds(RECEIPTS_TIMEOUT_SECONDS + 1);

export interface DemoStackProps {
  readonly settings: Settings;
  readonly eventBusName: string;
}

export class DemoStack extends Stack {
  /** Signing secret of the naive shop's processor. The shop does not verify signatures. */
  readonly callbackSecret: ProcessorSecret;

  constructor(scope: Construct, id: string, props: DemoStackProps) {
    super(scope, id, { description: 'Payonce: a naive shop for comparison' });
    bundleEach(new Map(FUNCTIONS.map((name) => [name, `demo/functions/${name}.ts`])), OUTPUT);
    process.once('exit', () => rmSync(OUTPUT, { recursive: true, force: true }));
    this.callbackSecret = new ProcessorSecret(this, 'CallbackSecret', {
      description: 'Signing key for the callbacks to the naive shop.',
      retain: false,
    });
    const receipts = this.#table('Receipts');
    this.#naiveSide(props.settings, receipts);
    this.#payonceSide(props.eventBusName, receipts);
    new CfnOutput(this, DemoOutput.receiptsTable, { value: receipts.tableName });
  }

  #naiveSide(settings: Settings, receipts: DataTable): void {
    const table = this.#table('Shop');
    const bus = new EventBus(this, 'ShopBus');
    const shop = demoFunction(this, 'Shop', 'naive-shop', {
      [DemoEnvironment.shopTable]: table.tableName,
      [DemoEnvironment.shopBus]: bus.eventBusName,
    });
    allow(shop.role, ['dynamodb:GetItem', 'dynamodb:PutItem', 'dynamodb:Query'], table.tableArn);
    allow(shop.role, ['events:PutEvents'], bus.eventBusArn);
    const http = new HttpApi(this, 'Http', {
      description: 'Naive shop',
      settings: { ...settings, retainData: false },
      fallback: shop.function,
    });

    const consumer = demoFunction(this, 'NaiveReceipts', 'naive-receipts', {
      [DemoEnvironment.receiptsTable]: receipts.tableName,
    });
    allow(consumer.role, ['dynamodb:PutItem'], receipts.tableArn);
    const queue = new Queue(this, 'ShopEvents', { visibilityTimeout: REDELIVERED_AFTER });
    new Rule(this, 'ShopRule', {
      eventBus: bus,
      eventPattern: { source: [SHOP_EVENT_SOURCE] },
      targets: [new SqsQueue(queue)],
    });
    consumer.function.addEventSource(new SqsEventSource(queue));
    new CfnOutput(this, DemoOutput.shopUrl, { value: http.url });
    new CfnOutput(this, DemoOutput.shopFunction, { value: shop.function.functionName });
    new CfnOutput(this, DemoOutput.shopBus, { value: bus.eventBusName });
    new CfnOutput(this, DemoOutput.shopTable, { value: table.tableName });
    new CfnOutput(this, DemoOutput.naiveReceiptsFunction, { value: consumer.function.functionName });
  }

  #payonceSide(eventBusName: string, receipts: DataTable): void {
    const remembered = new DataTable(this, 'Remembered', {
      partitionKey: IdempotencyTable.partitionKey,
      timeToLiveAttribute: IdempotencyTable.timeToLiveAttribute,
      retain: false,
    });
    const consumer = demoFunction(this, 'PayonceReceipts', 'payonce-receipts', {
      [Environment.idempotencyTable]: remembered.tableName,
      [Environment.viewsTable]: receipts.tableName,
    });
    allow(consumer.role, ['dynamodb:GetItem', 'dynamodb:PutItem'], remembered.tableArn);
    allow(consumer.role, ['dynamodb:PutItem'], receipts.tableArn);
    const { tasks } = new EventConsumer(this, 'PayonceEvents', {
      bus: EventBus.fromEventBusName(this, 'Bus', eventBusName) as EventBus,
      consumer,
      events: RECEIPT_EVENTS,
    });
    (tasks.queue.node.defaultChild as CfnQueue).visibilityTimeout = REDELIVERED_AFTER.toSeconds();
    new CfnOutput(this, DemoOutput.payonceReceiptsFunction, { value: consumer.function.functionName });
  }

  #table(id: string): DataTable {
    return new DataTable(this, id, {
      partitionKey: KeyAttribute.partition,
      sortKey: KeyAttribute.sort,
      retain: false,
    });
  }
}

function demoFunction(
  scope: Construct,
  id: string,
  name: FunctionName,
  environment: Readonly<Record<string, string>>,
): { readonly function: Function; readonly role: Role } {
  const role = new Role(scope, `${id}Role`, { assumedBy: new ServicePrincipal('lambda.amazonaws.com') });
  const made = new Function(scope, `${id}Function`, {
    code: Code.fromAsset(join(OUTPUT, name)),
    handler: 'index.handler',
    runtime: Runtime.NODEJS_24_X,
    role,
    ...(name === 'naive-shop'
      ? { timeout: SHOP_TIMEOUT, reservedConcurrentExecutions: SHOP_AT_ONCE }
      : { timeout: Duration.seconds(RECEIPTS_TIMEOUT_SECONDS) }),
    memorySize: 256,
    environment,
  });
  return { function: made, role };
}

function allow(role: Role, actions: string[], resource: string): void {
  role.addToPrincipalPolicy(new PolicyStatement({ actions, resources: [resource] }));
}
