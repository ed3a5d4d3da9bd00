/**
 * `payonce`: the constructs. `Payonce` is a whole deployment. For other combinations, apps can use the stacks, and the
 * constructs of the service stack.
 */
import './node-version.ts';
import './one-sentence.ts';

export { type EventName, EventNames } from '../lambdas/events/contract.ts';
export { ArchiveStack, type ArchiveStackProps } from '../lib/archive-stack.ts';
export { Callbacks, type CallbacksProps } from '../lib/callbacks.ts';
export { EventConsumer, type EventConsumerProps } from '../lib/constructs/event-consumer.ts';
export { HttpApi, type HttpApiProps } from '../lib/constructs/http-api.ts';
export { DataStack, type DataStackProps } from '../lib/data-stack.ts';
export { Events, type EventsProps } from '../lib/events.ts';
export { FollowUps, type FollowUpsProps } from '../lib/follow-ups.ts';
export { Intake, type IntakeProps } from '../lib/intake.ts';
export { Jobs, type JobsProps } from '../lib/jobs.ts';
export { Operators, type OperatorsProps } from '../lib/operators.ts';
export { Orders, type OrdersProps } from '../lib/orders.ts';
export { Outbound, type OutboundProps } from '../lib/outbound.ts';
export { Parties, type PartiesProps } from '../lib/parties.ts';
export { Payments, type PaymentsProps } from '../lib/payments.ts';
export { type AddConsumerProps, Payonce, type PayonceProps } from '../lib/payonce.ts';
export { Processors, type ProcessorsProps } from '../lib/processors.ts';
export { Reconciliation, type ReconciliationProps } from '../lib/reconciliation.ts';
export { Resolving, type ResolvingProps } from '../lib/resolving.ts';
export { SandboxStack, type SandboxStackProps } from '../lib/sandbox-stack.ts';
export { ServiceStack, type ServiceStackProps } from '../lib/service-stack.ts';
export { readSettings, type Settings } from '../lib/settings.ts';
export { Views, type ViewsProps } from '../lib/views.ts';
export { Webhooks, type WebhooksProps } from '../lib/webhooks.ts';
