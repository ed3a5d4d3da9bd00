import type { StackProps } from 'aws-cdk-lib';
import { CfnOutput, Duration, RemovalPolicies, RemovalPolicy, Stack } from 'aws-cdk-lib';
import { CfnQueue } from 'aws-cdk-lib/aws-sqs';
import { StringParameter } from 'aws-cdk-lib/aws-ssm';
import type { Construct } from 'constructs';
import { storesOf } from '../lambdas/authority/contract.ts';
import { callbackAddressParameter, StackOutput } from '../lambdas/kernel/contract/api.ts';
import { defined } from '../lambdas/kernel/defined.ts';
import { callbackPath } from '../lambdas/processors/contract.ts';
import { sandboxContract } from '../lambdas/processors/sandbox/contract.ts';
import { ApiDocs } from './api-docs.ts';
import { Archive } from './archive.ts';
import { configureAuthority } from './authority.ts';
import { Callbacks } from './callbacks.ts';
import type { ArchiveBucket } from './constructs/archive-bucket.ts';
import { AuditApi } from './constructs/audit-api.ts';
import { HttpApi, OTHER_PATHS } from './constructs/http-api.ts';
import { OperatorAlarms } from './constructs/operator-alarms.ts';
import type { FunctionLogs, PayonceFunction } from './constructs/payonce-function.ts';
import type { ProcessorSecret } from './constructs/processor-secret.ts';
import { RequestFirewall } from './constructs/request-firewall.ts';
import { queuesOf, Watch } from './constructs/watch.ts';
import type { DataStack } from './data-stack.ts';
import { keepDeployedIds } from './deployed-ids.ts';
import { Events } from './events.ts';
import { Exports } from './exports.ts';
import { FollowUps } from './follow-ups.ts';
import { Intake, type IntakeProps } from './intake.ts';
import { Jobs } from './jobs.ts';
import { NatsBridge } from './nats-bridge.ts';
import { Operators } from './operators.ts';
import { Orders } from './orders.ts';
import { Outbound } from './outbound.ts';
import { Parties } from './parties.ts';
import { Payments } from './payments.ts';
import { Processors } from './processors.ts';
import { Reads } from './reads.ts';
import { Reconciliation } from './reconciliation.ts';
import { Resolving } from './resolving.ts';
import { bigcommerceUrl } from './settings/parties.ts';
import { recordedSettings, type Settings } from './settings.ts';
import { Views } from './views.ts';
import { Webhooks } from './webhooks.ts';

export interface ServiceStackProps extends StackProps {
  readonly settings: Settings;
  readonly data: DataStack;
  /** The bucket of the archive. @default rows are not archived */
  readonly archiveBucket?: ArchiveBucket;
  /** The sandbox, if it is deployed. Its URL has no trailing slash. */
  readonly sandbox?: { readonly url: string; readonly secret: ProcessorSecret };
}

/**
 * The replaceable resources: the API, the functions of the service, and their queues, schedules and alarms. The stack
 * connects its constructs, and each construct grants access to its own resources.
 */
export class ServiceStack extends Stack {
  constructor(scope: Construct, id: string, props: ServiceStackProps) {
    super(scope, id, props);
    const { settings, data } = props;
    const { memoryMb, reservedConcurrency } = settings;
    const logs = { logRetentionDays: settings.logRetentionDays, retainLogs: settings.retainData };
    const processors = processorsOf(this, props);
    const parties = partiesOf(this, props);
    const ofOrders = defined({ parties });
    const common = { data, processors, logs, memoryMb };
    const payments = new Payments(this, 'Payments', { ...common, ...defined({ reservedConcurrency }) });
    const reads = new Reads(this, 'Reads', common);
    const http = new HttpApi(this, 'Http', {
      description: 'Payonce payments',
      settings,
      fallback: reads.api.function,
    });
    http.route([OTHER_PATHS], payments.api.function, 'POST');
    reads.route(http);
    const room = { ...common, http };
    const callbacks = new Callbacks(this, 'Callbacks', room);
    const ofAuthority = { authority: storesOf(settings.authority) };
    const recorded = { calls: settings, settings: recordedSettings(settings) };
    const { payments: moneyJobs, upkeep } = new Jobs(this, 'Jobs', { ...room, ...ofAuthority, ...recorded }).workers;

    const lostAfter = Duration.seconds(settings.eventsLostAfterSeconds);
    const events = new Events(this, 'Events', { data, logs, lostAfter });
    events.grantRepublishLost(upkeep);

    const archive = archiveOf(this, props, room);
    takeRequests(this, room, settings);
    const orders = parties === undefined ? undefined : new Orders(this, 'Orders', { ...room, parties });
    new Reconciliation(this, 'Reconciliation', { data, processors }).grantCompare(upkeep);
    const operators = new Operators(this, 'Operators', { ...room, settings });
    operators.grantPurge(upkeep);

    const views = new Views(this, 'Views', { data, logs });
    views.grantLists({ reads: reads.api, orders: orders?.api });
    views.grantSearch(operators.api);
    views.grantKeep(upkeep);
    const exports = new Exports(this, 'Exports', { data, http, logs, memoryMb });
    exports.grantSweep(upkeep);
    const webhooks = new Webhooks(this, 'Webhooks', { ...room, allowLoopback: settings.allowLoopbackWebhooks });
    webhooks.grantSweep(upkeep);

    new Resolving(this, 'Resolving', { data, ...ofOrders }).grantResolve(moneyJobs);
    new FollowUps(this, 'FollowUps', { data, logs, ...ofOrders }).grantRelease(upkeep);
    const outbound = parties === undefined ? undefined : new Outbound(this, 'Outbound', { data, parties, logs });

    operators.listMessages(queuesOf(this, data), events.parked, [events.republisher]);

    new ApiDocs(this, 'ApiDocuments', { http, logs, settings });
    if (settings.firewall) new RequestFirewall(this, 'Firewall', { stage: http.api.deploymentStage, settings });
    if (settings.sandbox) setCallbackAddress(this, http, settings);
    new OperatorAlarms(this, 'OperatorAlarms', { orders: orders !== undefined });
    configureAuthority(this, { data, settings, poller: moneyJobs });
    new Watch(this, 'Watch', { settings, data, api: http.api, processors: processors.names, ...ofAuthority });
    keep(this, settings);

    const functions = {
      [StackOutput.paymentsFunction]: payments.api,
      [StackOutput.callbacksFunction]: callbacks.api,
      [StackOutput.paymentJobsFunction]: moneyJobs,
      [StackOutput.upkeepJobsFunction]: upkeep,
      [StackOutput.exportWriterFunction]: exports.writer,
      [StackOutput.webhookSenderFunction]: webhooks.sender,
      [StackOutput.relayFunction]: events.relay,
      [StackOutput.republishFunction]: events.republisher,
      ...archive,
      ...defined({ [StackOutput.ordersFunction]: orders?.api, [StackOutput.deadLettersFunction]: outbound?.redrive }),
    };
    for (const [name, { function: made }] of Object.entries(functions))
      new CfnOutput(this, name, { value: made.functionName });
    new CfnOutput(this, StackOutput.processors, { value: calledProcessors(settings) });
    new CfnOutput(this, StackOutput.apiUrl, { value: http.serve(settings) });
    new CfnOutput(this, StackOutput.parkedRecordsQueue, { value: events.parked.queueUrl });
  }
}

/**
 * With `retainData`, retains the queues when the stack is deleted or an update removes them, because they contain
 * undelivered work and dead letters. CloudFormation generates the queue names, so retained queues do not block the next
 * deployment.
 */
function keep(stack: Stack, { retainData }: Settings): void {
  keepDeployedIds(stack);
  if (!retainData) return;
  const applyToResourceTypes = [CfnQueue.CFN_RESOURCE_TYPE_NAME];
  RemovalPolicies.of(stack).apply(RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE, { applyToResourceTypes });
}

function processorsOf(scope: Construct, { settings, data, sandbox }: ServiceStackProps): Processors {
  return new Processors(scope, 'Processors', {
    called: settings.processors,
    secrets: data.processors,
    routes: settings.routes,
    claimsLost: settings.claimsLost,
    ...defined({ sandbox }),
  });
}

/** @returns the functions of the archive by output name */
function archiveOf(
  scope: Construct,
  { archiveBucket: bucket, data, settings }: ServiceStackProps,
  { http, logs }: { readonly http: HttpApi; readonly logs: FunctionLogs },
): Readonly<Record<string, PayonceFunction>> {
  new AuditApi(scope, 'Audit', { data, http, logs, settings, bucket });
  if (bucket === undefined) return {};
  const { archiver, auditor, parked } = new Archive(scope, 'Archive', { data, logs, settings, bucket });
  new CfnOutput(Stack.of(scope), StackOutput.parkedArchiveQueue, { value: parked.queueUrl });
  return { [StackOutput.archiverFunction]: archiver, [StackOutput.auditorFunction]: auditor };
}

function takeRequests(
  stack: Stack,
  room: Omit<IntakeProps, 'requests'>,
  { paymentRequests: requests, natsBridge }: Settings,
): void {
  const intake = requests === undefined ? undefined : new Intake(stack, 'Intake', { ...room, requests });
  const taken = defined({ requests: intake?.tasks.queue });
  if (natsBridge) new NatsBridge(stack, 'NatsBridge', { data: room.data, ...taken });
}

function calledProcessors({ processors }: Settings): string {
  if (processors.length === 0) {
    return 'NONE: payments get 503 no_processor_configured. Set payonce:sandbox, payonce:stripeAccount or payonce:processorUrl.';
  }
  return processors.map(({ processor, mode }) => `${processor.name} (${mode})`).join(', ');
}

/**
 * @returns undefined if there is neither a sandbox nor a setting for the external services; there is no orders API in
 * this case
 */
function partiesOf(scope: Construct, { settings, data, sandbox }: ServiceStackProps): Parties | undefined {
  const { registry, deadLetters, postmarkToken, shopSigningKey, bigcommerceToken } = data;
  const { emailsPerRecipient } = settings;
  if (deadLetters === undefined) return undefined;
  const others = { registry, emailsPerRecipient, deadLetters };
  if (sandbox !== undefined)
    return new Parties(scope, 'Parties', {
      addresses: { sandboxUrl: sandbox.url, sandboxSecret: sandbox.secret },
      ...others,
    });
  const { shopUrl, emailSender, bigcommerceLocation = 1 } = settings;
  if (emailSender === undefined || postmarkToken === undefined) return undefined;
  const storeUrl = bigcommerceUrl(settings);
  if (storeUrl !== undefined && bigcommerceToken !== undefined)
    return new Parties(scope, 'Parties', {
      addresses: { storeUrl, bigcommerceToken, bigcommerceLocation, emailSender, postmarkToken },
      ...others,
    });
  if (shopUrl === undefined || shopSigningKey === undefined) return undefined;
  return new Parties(scope, 'Parties', {
    addresses: { shopUrl, shopSigningKey, emailSender, postmarkToken },
    ...others,
  });
}

function setCallbackAddress(scope: Construct, http: HttpApi, { environment }: Settings): void {
  new StringParameter(scope, 'CallbackAddress', {
    parameterName: callbackAddressParameter(environment),
    description: 'The address to which the sandbox processor sends callbacks.',
    stringValue: `${http.url}${callbackPath(sandboxContract, 'test')}`,
  });
}
