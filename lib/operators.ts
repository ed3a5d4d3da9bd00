import { Duration, Stack } from 'aws-cdk-lib';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { Environment } from '../lambdas/kernel/contract/environment.ts';
import { QueueRow, RegistryRow } from '../lambdas/kernel/contract/rows.ts';
import { RegistryTable } from '../lambdas/kernel/contract/tables.ts';
import { PAYMENTS_TIMEOUT_SECONDS } from '../lambdas/kernel/contract/timing.ts';
import {
  DEAD_LETTERS_END,
  MESSAGE_QUEUES,
  type MessageQueueNames,
  PurgeMetric,
  TASKS_END,
} from '../lambdas/operators/contract.ts';
import { BOOKS_SERVICE } from '../lambdas/reconciliation/contract.ts';
import { EngineFunction } from './constructs/engine-function.ts';
import type { HttpApi } from './constructs/http-api.ts';
import type { FunctionLogs, PayonceFunction } from './constructs/payonce-function.ts';
import { payonceMetric } from './constructs/payonce-metric.ts';
import { RunbookAlarm } from './constructs/runbook-alarm.ts';
import { pathOf } from './constructs/watch.ts';
import type { DataStack } from './data-stack.ts';
import type { Processors } from './processors.ts';
import type { Settings } from './settings.ts';

export interface OperatorsProps {
  readonly data: Pick<DataStack, 'idempotency' | 'ledger' | 'registry'>;
  readonly processors: Processors;
  readonly http: HttpApi;
  readonly logs: FunctionLogs;
  /** Memory of the function in MB, 128 to 10240. */
  readonly memoryMb: number;
  readonly settings: Pick<Settings, 'approvalAbove' | 'approvalHours'>;
}

/** Period of alarms on metrics that are reported every night. */
const NIGHTLY = Duration.days(1);

/** The API of operators: API keys, limits, corrections, decisions and their approvals, and queues. */
export class Operators extends Construct {
  readonly api: EngineFunction;
  readonly #data: OperatorsProps['data'];

  constructor(scope: Construct, id: string, props: OperatorsProps) {
    super(scope, id);
    const { data, http, logs, memoryMb } = props;
    this.#data = data;
    this.api = new EngineFunction(this, 'Api', {
      ...logs,
      folder: 'ledger',
      timeout: Duration.seconds(PAYMENTS_TIMEOUT_SECONDS),
      memoryMb,
      data,
      appends: ['payment', 'activity'],
      changes: true,
    });
    // The API compares an operator's decision with the processor's books, and sends an operator's change to the
    // processor.
    props.processors.grantChange(this.api);
    data.idempotency.grantClaim(this.api, ['capture', 'cancel', 'refund']);
    data.idempotency.grantCommit(this.api, [
      'inquiry',
      'changeRequest',
      'correction',
      'decision',
      'annotation',
      'approval',
      'keyRequest',
      'limitRequest',
      'redrive',
    ]);
    // An idempotency key is used either for a change or for a request that waits for a second person, never for both.
    data.idempotency.grantCheck(this.api, ['capture', 'cancel', 'refund', 'changeRequest']);
    data.registry.grantAuthenticate(this.api);
    data.registry.grantIdentifyOperators(this.api);
    const { apiKey, apiKeys, apiKeyUse, approvals, limit, operatorKey, operatorKeys, owners, tenants } = RegistryRow;
    const { inquiry, return: giveBack, openOrder, hold, orphan, keptOrphan, details } = RegistryRow;
    const { webhookEndpoints, webhookDelivery, jobMark } = RegistryRow;
    // Each statement covers all rows to which its action applies, because the policy of this role is close to the
    // maximum size.
    data.registry.grantRows(this.api, 'ChangeKeysAndApprovals', ['dynamodb:UpdateItem'], [apiKey, approvals]);
    // Through the API, an operator's key can be revoked, but not created or replaced.
    data.registry.grantUpdateOf(this.api, 'RevokeOperatorKeys', operatorKey, ['revokedAtMs']);
    const keys = [apiKey, apiKeys, owners];
    const looks = [inquiry, giveBack, openOrder, details, hold];
    const made = [...keys, ...looks, approvals];
    data.registry.grantRows(this.api, 'MakeKeysApprovalsAndLooks', ['dynamodb:PutItem'], made);
    const checked = [tenants, operatorKey, details];
    data.registry.grantRows(this.api, 'Conditions', ['dynamodb:ConditionCheckItem'], checked);
    const queues = [inquiry, giveBack, openOrder, hold, orphan, keptOrphan];
    const listed = [apiKeys, operatorKeys, tenants, ...queues];
    const read = [apiKeyUse, webhookEndpoints, webhookDelivery, approvals, limit, jobMark];
    data.registry.grantRows(this.api, 'List', ['dynamodb:GetItem', 'dynamodb:Query'], [...listed, ...read]);
    data.registry.grantRows(this.api, 'Dismiss', ['dynamodb:DeleteItem'], [keptOrphan]);
    data.registry.grantRowsOfIndex(this.api, 'Undecidable', RegistryTable.queuesIndex.name, [
      QueueRow.undecidable,
      QueueRow.return,
      QueueRow.hold,
      QueueRow.failingEndpoints,
    ]);
    data.idempotency.grantFindOpenClaims(this.api);
    data.idempotency.grantReadClaims(this.api);
    const { approvalAbove: aboveMinor, approvalHours } = props.settings;
    const rules = { aboveMinor, lifetimeMs: Duration.hours(approvalHours).toMilliseconds() };
    if (aboveMinor !== undefined) this.api.setEnvironment({ [Environment.approvals]: JSON.stringify(rules) });
    const lists = ['/v1/corrections', '/v1/decisions', '/v1/annotations'].flatMap((path) => [path, `${path}/{proxy+}`]);
    http.route(['/v1/admin/{proxy+}', ...lists], this.api.function);
    new RunbookAlarm(this, 'TimeToLive', {
      description: 'Time to live is disabled for a table or does not keep up.',
      entry: 'data.md#time-to-live-does-not-work',
      metric: payonceMetric({
        service: BOOKS_SERVICE,
        name: PurgeMetric.ttlNotWorking,
        statistic: 'Maximum',
        period: NIGHTLY,
      }),
      threshold: 1,
    });
  }

  /**
   * Lets operators count the messages of these queues, and read and redrive the messages of queues that no function
   * reads. The API lists the queues by their names for operators.
   *
   * @param at any queue of this stack; the API derives the URLs of the stack's other queues from the URL of `at`
   * @param redrivers functions that the API invokes to redrive messages that are not moved to another queue
   */
  listMessages(queues: ReadonlyMap<string, Queue>, at: Queue, redrivers: readonly PayonceFunction[]): void {
    const all = [...queues];
    const kept = all.filter(([, { deadLetterQueue }]) => deadLetterQueue === undefined);
    const received = all.filter(([, { deadLetterQueue }]) => deadLetterQueue !== undefined);
    const nameOf = (queue: Queue) => (queue.stack === Stack.of(this) ? queue.queueName : queue.queueUrl);
    const tasks = received.flatMap(([name, queue]) => {
      const begin = name.endsWith(TASKS_END) ? name.slice(0, -TASKS_END.length) : undefined;
      const deadLetters = begin === undefined ? undefined : queues.get(`${begin}${DEAD_LETTERS_END}`);
      return begin === undefined || deadLetters === undefined ? [] : [[begin, queue, deadLetters] as const];
    });
    const paired = new Set(tasks.flatMap(([, ...pair]) => pair));
    const names = (some: typeof all) =>
      Object.fromEntries(some.flatMap(([name, queue]) => (paired.has(queue) ? [] : [[name, nameOf(queue)]])));
    const messages: MessageQueueNames = {
      at: at.queueUrl,
      tasks: Object.fromEntries(
        tasks.map(([begin, queue, deadLetters]) => [begin, [nameOf(queue), nameOf(deadLetters)]]),
      ),
      kept: names(kept),
      received: names(received),
      functions: Object.fromEntries(redrivers.map((each) => [pathOf(each), each.function.functionName])),
    };
    this.api.setEnvironment({ [MESSAGE_QUEUES]: Stack.of(this).toJsonString(messages) });
    const count = 'sqs:GetQueueAttributes';
    const allow = (sid: string, actions: string[], some: typeof all) => {
      const resources = some.map(([, { queueArn }]) => queueArn);
      this.api.role.addToPrincipalPolicy(new PolicyStatement({ sid, actions, resources }));
    };
    for (const { function: redriver } of redrivers)
      this.api.allow('Redrive', 'lambda:InvokeFunction', redriver.functionArn);
    // A redrive moves dead letters back to these queues.
    allow('CountAndRedrive', [count, 'sqs:SendMessage'], received);
    allow('ReadKeptMessages', [count, 'sqs:ReceiveMessage', 'sqs:ChangeMessageVisibility', 'sqs:DeleteMessage'], kept);
  }

  /** Allows a jobs worker to delete expired records. */
  grantPurge(worker: PayonceFunction): void {
    this.#data.idempotency.grantPurge(worker);
    this.#data.registry.grantActions(worker, 'TimeToLive', ['dynamodb:DescribeTimeToLive']);
  }
}
