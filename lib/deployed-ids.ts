import { CfnResource, type Stack } from 'aws-cdk-lib';

/** By the path of a construct in the service stack: the logical id under which its resource is deployed. */
const DEPLOYED: Readonly<Record<string, string>> = {
  'Events/Api/Logs': 'EventsApiLogsD70BCB45',
  'FollowUps/CommissionConsumer/Logs': 'CommissionConsumerLogs35BEE7DD',
  'FollowUps/CommissionEvents/Tasks/DeadLetters': 'CommissionEventsTasksDeadLetters0379067D',
  'FollowUps/CommissionEvents/Tasks/Queue': 'CommissionEventsTasksQueue00A8C894',
  'FollowUps/ReceiptConsumer/Logs': 'ReceiptConsumerLogs68BE20F8',
  'FollowUps/ReceiptEvents/Tasks/DeadLetters': 'ReceiptEventsTasksDeadLetters9664AC63',
  'FollowUps/ReceiptEvents/Tasks/Queue': 'ReceiptEventsTasksQueue2E0330A1',
  'Jobs/Api/Logs': 'JobsApiLogsABA1E7CA',
  'Jobs/Executor/Logs': 'CronExecutorLogsE9900FEA',
  'Jobs/PaymentRuns/Tasks/DeadLetters': 'PaymentRunsTasksDeadLettersD86764D7',
  'Jobs/PaymentRuns/Tasks/Queue': 'PaymentRunsTasksQueue9379FCF9',
  'Jobs/Payments/Logs': 'PaymentJobsLogsF2428E12',
  'Jobs/Upkeep/Logs': 'UpkeepJobsLogsD14D469C',
  'Jobs/UpkeepRuns/Tasks/DeadLetters': 'UpkeepRunsTasksDeadLetters45B4B33B',
  'Jobs/UpkeepRuns/Tasks/Queue': 'UpkeepRunsTasksQueueA6CAA4AE',
  'Outbound/Redrive/Logs': 'RedriveLogs2926F170',
  'Reconciling/Api/Logs': 'LedgerApiLogsEEB62370',
  'Views/Events/Tasks/DeadLetters': 'ViewsEventsTasksDeadLetters54090BE4',
  'Views/Events/Tasks/Queue': 'ViewsEventsTasksQueue3FBEEF03',
  'Views/Projector/Logs': 'ViewsProjectorLogsCA1184F9',
};

/**
 * Queues and logs were deployed before rooms were constructs: they keep their ids, or a deploy would lose what is in them.
 * Other apps that use the constructs have no such past, so the stack says it, and not the constructs.
 */
export function keepDeployedIds({ node }: Stack): void {
  for (const [path, id] of Object.entries(DEPLOYED)) {
    const resource = node.findAll().find((each) => each.node.path === `${node.path}/${path}`)?.node.defaultChild;
    // Some rooms are there by a setting alone.
    if (resource instanceof CfnResource) resource.overrideLogicalId(id);
  }
}
