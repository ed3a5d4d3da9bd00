import { CfnResource, type Stack } from 'aws-cdk-lib';

/** Logical ids of deployed resources, keyed by construct path within the service stack. */
const DEPLOYED: Readonly<Record<string, string>> = {
  'FollowUps/CommissionConsumer/Logs': 'CommissionConsumerLogs35BEE7DD',
  'FollowUps/CommissionEvents/Rule': 'CommissionEventsRuleB4629D76',
  'FollowUps/CommissionEvents/Tasks/DeadLetters': 'CommissionEventsTasksDeadLetters0379067D',
  'FollowUps/CommissionEvents/Tasks/DeadLetters/Policy': 'CommissionEventsTasksDeadLettersPolicy225BF992',
  'FollowUps/CommissionEvents/Tasks/Queue': 'CommissionEventsTasksQueue00A8C894',
  'FollowUps/CommissionEvents/Tasks/Queue/Policy': 'CommissionEventsTasksQueuePolicy6F96EBAE',
  'FollowUps/ReceiptConsumer/Logs': 'ReceiptConsumerLogs68BE20F8',
  'FollowUps/ReceiptEvents/Rule': 'ReceiptEventsRule4AB2B311',
  'FollowUps/ReceiptEvents/Tasks/DeadLetters': 'ReceiptEventsTasksDeadLetters9664AC63',
  'FollowUps/ReceiptEvents/Tasks/DeadLetters/Policy': 'ReceiptEventsTasksDeadLettersPolicyB3A7299B',
  'FollowUps/ReceiptEvents/Tasks/Queue': 'ReceiptEventsTasksQueue2E0330A1',
  'FollowUps/ReceiptEvents/Tasks/Queue/Policy': 'ReceiptEventsTasksQueuePolicyAA14DB7E',
  'Jobs/Api/Logs': 'JobsApiLogsABA1E7CA',
  'Jobs/Executor/Logs': 'CronExecutorLogsE9900FEA',
  'Jobs/PaymentRuns/Tasks/DeadLetters': 'PaymentRunsTasksDeadLettersD86764D7',
  'Jobs/PaymentRuns/Tasks/DeadLetters/Policy': 'PaymentRunsTasksDeadLettersPolicyD3B76594',
  'Jobs/PaymentRuns/Tasks/Queue': 'PaymentRunsTasksQueue9379FCF9',
  'Jobs/PaymentRuns/Tasks/Queue/Policy': 'PaymentRunsTasksQueuePolicyA68CE9FF',
  'Jobs/Payments/Logs': 'PaymentJobsLogsF2428E12',
  'Jobs/Upkeep/Logs': 'UpkeepJobsLogsD14D469C',
  'Jobs/UpkeepRuns/Tasks/DeadLetters': 'UpkeepRunsTasksDeadLetters45B4B33B',
  'Jobs/UpkeepRuns/Tasks/DeadLetters/Policy': 'UpkeepRunsTasksDeadLettersPolicy18B3C731',
  'Jobs/UpkeepRuns/Tasks/Queue': 'UpkeepRunsTasksQueueA6CAA4AE',
  'Jobs/UpkeepRuns/Tasks/Queue/Policy': 'UpkeepRunsTasksQueuePolicy1EA15499',
  'Operators/Api/Logs': 'LedgerApiLogsEEB62370',
  'Outbound/Redrive/Logs': 'RedriveLogs2926F170',
  'Reads/Default/Logs': 'EventsApiLogsD70BCB45',
  'Views/Events/Rule': 'ViewsEventsRule5EAD99C6',
  'Views/Events/Tasks/DeadLetters': 'ViewsEventsTasksDeadLetters54090BE4',
  'Views/Events/Tasks/DeadLetters/Policy': 'ViewsEventsTasksDeadLettersPolicyEC0A7E7B',
  'Views/Events/Tasks/Queue': 'ViewsEventsTasksQueue3FBEEF03',
  'Views/Events/Tasks/Queue/Policy': 'ViewsEventsTasksQueuePolicy1132BA56',
  'Views/Projector/Logs': 'ViewsProjectorLogsCA1184F9',
};

/**
 * Keeps the logical ids of resources that were deployed before each area of the service was a construct. With new ids,
 * a deployment would replace the resources, and the contents of queues and logs would be lost.
 *
 * The policies: a queue has only one policy. CloudFormation would first write the policy under the new id and then
 * delete it under the old id, so EventBridge could no longer send to the queue. The rules: a rule that keeps its id can
 * send to its queue during the whole deployment.
 *
 * The stack sets the ids, not the constructs, because other apps that use the constructs never deployed the old ids.
 */
export function keepDeployedIds({ node }: Stack): void {
  for (const [path, id] of Object.entries(DEPLOYED)) {
    const resource = node.findAll().find((each) => each.node.path === `${node.path}/${path}`)?.node.defaultChild;
    // The resource is undefined if the settings switch off the area that contains it.
    if (resource instanceof CfnResource) resource.overrideLogicalId(id);
  }
}
