import { CfnOutput, Duration, type Stack } from 'aws-cdk-lib';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { StackOutput } from '../lambdas/kernel/contract/api.ts';
import { Environment } from '../lambdas/kernel/contract/environment.ts';
import { RegistryRow } from '../lambdas/kernel/contract/rows.ts';
import { REDRIVE_TIMEOUT_MINUTES, SANDBOX_TIMEOUT_SECONDS } from '../lambdas/kernel/contract/timing.ts';
import { PartiesEnvironment, VENDORS } from '../lambdas/orders/contract.ts';
import { ofRows } from './constructs/data-table.ts';
import { PayonceFunction } from './constructs/payonce-function.ts';
import { VendorTrouble } from './constructs/vendor-trouble.ts';
import type { ServiceParts } from './service-functions.ts';

const POSTMARK_URL = 'https://api.postmarkapp.com';

/** Under a name that no mail ever reaches (RFC 2606). */
const SANDBOX_SENDER = 'shop@payonce.example';

/** What is sent to the sandbox is booked before its function is ended, and its search is strong. Seconds. */
const SANDBOX_LAG_SECONDS = SANDBOX_TIMEOUT_SECONDS + 1;

/**
 * Tells a function who an order's parties are, and lets it call them: their addresses, the token of the e-mail service, its
 * memory of what was sent, and the box of what was given up. `readPartiesConfig` is the other end of it.
 *
 * @returns whether there are any: without the sandbox, only where the settings name them
 */
export function connectParties(target: PayonceFunction, parts: ServiceParts): boolean {
  const { data } = parts;
  const addresses = partyAddresses(parts);
  if (addresses === undefined || data.deadLetters === undefined) return false;
  const variables = {
    ...addresses,
    [Environment.registryTable]: data.registry.tableName,
    [PartiesEnvironment.deadLettersQueueUrl]: data.deadLetters.queueUrl,
  };
  for (const [name, value] of Object.entries(variables)) target.function.addEnvironment(name, value);
  data.postmarkToken?.grantReadTo(target.role);
  target.role.addToPrincipalPolicy(
    new PolicyStatement({
      sid: 'RememberWhatWasSent',
      actions: ['dynamodb:PutItem', 'dynamodb:UpdateItem', 'dynamodb:DeleteItem'],
      resources: [data.registry.tableArn],
      conditions: ofRows([RegistryRow.sending]),
    }),
  );
  target.role.addToPrincipalPolicy(
    new PolicyStatement({
      sid: 'SetAside',
      actions: ['sqs:SendMessage'],
      resources: [data.deadLetters.queueArn],
    }),
  );
  return true;
}

function partyAddresses({ settings, data, sandbox }: ServiceParts): Record<string, string> | undefined {
  const { shopUrl, emailSender } = settings;
  if (sandbox !== undefined) {
    return {
      [PartiesEnvironment.shopUrl]: sandbox.url,
      [PartiesEnvironment.postmarkUrl]: sandbox.url,
      [PartiesEnvironment.postmarkLagSeconds]: String(SANDBOX_LAG_SECONDS),
      [PartiesEnvironment.emailSender]: SANDBOX_SENDER,
    };
  }
  if (shopUrl === undefined || emailSender === undefined || data.postmarkToken === undefined) return undefined;
  return {
    [PartiesEnvironment.shopUrl]: shopUrl,
    [PartiesEnvironment.postmarkUrl]: POSTMARK_URL,
    [PartiesEnvironment.postmarkTokenSecretId]: data.postmarkToken.arn,
    [PartiesEnvironment.emailSender]: emailSender,
  };
}

/** What looks after calls that were given up: the function that makes them again when an operator asks, and the alarms. */
export function addDeadLetters(stack: Stack, parts: ServiceParts): void {
  const { settings, data } = parts;
  const { deadLetters } = data;
  if (deadLetters === undefined) return;
  const redrive = new PayonceFunction(stack, 'Redrive', {
    folder: 'dead-letters',
    timeout: Duration.minutes(REDRIVE_TIMEOUT_MINUTES),
    memoryMb: 256,
    logRetentionDays: settings.logRetentionDays,
    retainLogs: settings.retainData,
    environment: {},
  });
  connectParties(redrive, parts);
  redrive.role.addToPrincipalPolicy(
    new PolicyStatement({
      sid: 'TakeLetters',
      actions: ['sqs:ReceiveMessage', 'sqs:ChangeMessageVisibility', 'sqs:DeleteMessage'],
      resources: [deadLetters.queueArn],
    }),
  );
  new VendorTrouble(stack, 'VendorTrouble', { vendors: VENDORS, deadLetters });
  new CfnOutput(stack, StackOutput.deadLettersFunction, { value: redrive.function.functionName });
}
