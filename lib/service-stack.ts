import type { StackProps } from 'aws-cdk-lib';
import { CfnOutput, Duration, Stack } from 'aws-cdk-lib';
import { StringParameter } from 'aws-cdk-lib/aws-ssm';
import type { Construct } from 'constructs';
import { CALLBACK_ADDRESS_PARAMETER, StackOutput } from '../lambdas/kernel/contract/api.ts';
import { callbackPath } from '../lambdas/processors/contract.ts';
import { sandboxContract } from '../lambdas/processors/sandbox/contract.ts';
import { EventRelay } from './constructs/event-relay.ts';
import { HttpApi } from './constructs/http-api.ts';
import { NeedsAPerson } from './constructs/needs-a-person.ts';
import { PayonceFunction } from './constructs/payonce-function.ts';
import { RequestFirewall } from './constructs/request-firewall.ts';
import { Watch } from './constructs/watch.ts';
import { Webhooks } from './constructs/webhooks.ts';
import type { DataStack } from './data-stack.ts';
import { addEventConsumers } from './event-consumers.ts';
import { paymentJobs, upkeepJobs } from './job-workers.ts';
import { addJobs } from './jobs.ts';
import { addOrders } from './orders.ts';
import { addDeadLetters } from './parties.ts';
import { callbacksFunction, ledgerFunction, paymentsFunction } from './service-functions.ts';
import type { Settings } from './settings.ts';
import { allowBookLists, allowPaymentLists, eventsFunction, projector } from './views-functions.ts';

export interface ServiceStackProps extends StackProps {
  readonly settings: Settings;
  readonly data: DataStack;
  /** The sandbox, where it is deployed; its address is without a trailing slash. */
  readonly sandbox?: { readonly url: string };
}

/** What the ledger function answers. */
const LEDGER_PATHS = [
  '/v1/ledger/entries',
  '/v1/balances',
  '/v1/admin/corrections',
  '/v1/admin/mismatches',
  '/v1/admin/payments/{id}/resolve',
];

/** Everything that a deploy may replace: the API and its functions. */
export class ServiceStack extends Stack {
  constructor(scope: Construct, id: string, props: ServiceStackProps) {
    super(scope, id, props);
    const { settings } = props;
    const payments = paymentsFunction(this, props);
    const callbacks = callbacksFunction(this, props);
    const moneyJobs = paymentJobs(this, props);
    const ledger = ledgerFunction(this, props);
    const documents = this.#documentsFunction(settings);
    allowPaymentLists(payments, props.data);
    allowBookLists(ledger, props.data);
    const events = eventsFunction(this, props);
    projector(this, props);
    addEventConsumers(this, props);
    const relay = new EventRelay(this, 'Events', props);
    const http = new HttpApi(this, 'Http', {
      description: 'Payonce payments',
      settings,
      fallback: payments.function,
    });
    for (const path of ['/docs', '/docs/{asset}', '/v1/openapi.json']) http.route(path, documents.function);
    for (const path of LEDGER_PATHS) http.route(path, ledger.function);
    for (const path of ['/v1/events', '/v1/events/{id}']) http.route(path, events.function);
    http.route('/callbacks/{processor}', callbacks.function);
    addOrders(this, props, { http, paymentJobs: moneyJobs.worker });
    const webhooks = new Webhooks(this, 'Webhooks', { ...props, http });
    const houseJobs = upkeepJobs(this, props, { webhookTasks: webhooks.queue });
    addJobs(this, props, { http, queues: { payments: moneyJobs.queue, upkeep: houseJobs.queue } });
    if (settings.firewall) new RequestFirewall(this, 'Firewall', { stage: http.api.deploymentStage, settings });
    if (settings.sandbox) {
      new StringParameter(this, 'CallbackAddress', {
        parameterName: CALLBACK_ADDRESS_PARAMETER,
        description: 'Where the sandbox processor sends its callbacks.',
        stringValue: `${http.url}${callbackPath(sandboxContract)}`,
      });
    }
    new NeedsAPerson(this, 'NeedsAPerson', {
      services: {
        // The relay sees what every other function writes, a request that takes over an old key among them.
        late_success: ['callbacks', 'payment-jobs', 'outbox-relay'],
        contradiction: ['callbacks', 'payment-jobs'],
        undecidable: ['payment-jobs'],
      },
    });

    addDeadLetters(this, props);
    // The last: it looks after all that is there.
    new Watch(this, 'Watch', { ...props, api: http.api });

    new CfnOutput(this, StackOutput.apiUrl, { value: http.url });
    new CfnOutput(this, StackOutput.paymentsFunction, { value: payments.function.functionName });
    new CfnOutput(this, StackOutput.callbacksFunction, { value: callbacks.function.functionName });
    new CfnOutput(this, StackOutput.paymentJobsFunction, { value: moneyJobs.worker.function.functionName });
    new CfnOutput(this, StackOutput.upkeepJobsFunction, { value: houseJobs.worker.function.functionName });
    new CfnOutput(this, StackOutput.webhookSenderFunction, { value: webhooks.sender.function.functionName });
    new CfnOutput(this, StackOutput.relayFunction, { value: relay.relay.function.functionName });
    new CfnOutput(this, StackOutput.republishFunction, { value: relay.republisher.function.functionName });
    new CfnOutput(this, StackOutput.parkedRecordsQueue, { value: relay.parked.queueUrl });
  }

  #documentsFunction(settings: Settings): PayonceFunction {
    return new PayonceFunction(this, 'ApiDocuments', {
      folder: 'api-documents',
      timeout: Duration.seconds(5),
      memoryMb: 256,
      logRetentionDays: settings.logRetentionDays,
      retainLogs: settings.retainData,
      environment: {},
    });
  }
}
