import { CfnOutput, Duration, type Stack } from 'aws-cdk-lib';
import { StackOutput } from '../lambdas/kernel/contract/api.ts';
import { RegistryRow } from '../lambdas/kernel/contract/rows.ts';
import { PAYMENTS_TIMEOUT_SECONDS } from '../lambdas/kernel/contract/timing.ts';
import type { HttpApi } from './constructs/http-api.ts';
import { NeedsAPerson } from './constructs/needs-a-person.ts';
import type { PayonceFunction } from './constructs/payonce-function.ts';
import { connectParties } from './parties.ts';
import { allow, allowRows, engineFunction, type ServiceParts } from './service-functions.ts';

const PATHS = ['/v1/orders', '/v1/orders/{id}'];

interface OrderPaths {
  readonly http: HttpApi;
  /** Goes on with orders where others have stopped. */
  readonly paymentJobs: PayonceFunction;
}

/** Orders are taken where they have parties; it claims, appends and completes as payments do, and asks the parties. */
export function addOrders(stack: Stack, parts: ServiceParts, { http, paymentJobs }: OrderPaths): void {
  const { settings, data } = parts;
  if (data.deadLetters === undefined) return;
  const orders = engineFunction(stack, 'Orders', parts, {
    folder: 'orders',
    timeout: Duration.seconds(PAYMENTS_TIMEOUT_SECONDS),
    memoryMb: settings.memoryMb,
  });
  allow(orders, data.idempotency, 'Claims', ['dynamodb:GetItem', 'dynamodb:PutItem', 'dynamodb:UpdateItem']);
  allowRows(orders, data.registry, 'ReadApiKeys', ['dynamodb:GetItem'], [RegistryRow.apiKey]);
  allowRows(
    orders,
    data.registry,
    'Queue',
    ['dynamodb:PutItem'],
    [RegistryRow.return, RegistryRow.inquiry, RegistryRow.openOrder, RegistryRow.hold],
  );
  connectParties(orders, parts);
  connectParties(paymentJobs, parts);
  for (const path of PATHS) http.route(path, orders.function);
  new NeedsAPerson(stack, 'OrdersNeedAPerson', { services: { order_needs_review: ['orders', 'payment-jobs'] } });
  new CfnOutput(stack, StackOutput.ordersFunction, { value: orders.function.functionName });
}
