import { describe, expect, test } from '@jest/globals';
import type { Template } from 'aws-cdk-lib/assertions';
import { synthesize } from '../support/synth.ts';
import { EVERYTHING, present } from './templates.ts';

/**
 * Resource types whose logical ids must not change. Otherwise, CloudFormation would replace the resources and lose
 * data, messages, logs, addresses or fixed names. Queue policies are included because a queue has only one policy:
 * CloudFormation deletes the old resource last, which would clear the policy.
 */
const KEPT: ReadonlySet<string> = new Set([
  'AWS::ApiGateway::RestApi',
  'AWS::ApiGateway::Stage',
  'AWS::CloudWatch::Dashboard',
  'AWS::DynamoDB::Table',
  'AWS::Events::Archive',
  'AWS::Events::EventBus',
  'AWS::Events::Rule',
  'AWS::KMS::Key',
  'AWS::Logs::LogGroup',
  'AWS::S3::Bucket',
  'AWS::SNS::Topic',
  'AWS::SQS::Queue',
  'AWS::SQS::QueuePolicy',
  'AWS::SSM::Parameter',
  'AWS::SecretsManager::Secret',
]);

interface Resource {
  readonly Type: string;
  readonly Properties?: Readonly<Record<string, unknown>>;
}

/** Without such a property, CloudFormation generates the name. */
const NAMES = new Set([
  'Name',
  'DashboardName',
  'LogGroupName',
  'QueueName',
  'DisplayName',
  'StageName',
  'TableName',
  'TopicName',
]);

/** Each line is `<type> <logical id>`, followed by the physical name if it is fixed. */
function kept(template: Template | undefined): readonly string[] {
  const { Resources: resources } = present(template).toJSON() as { Resources: Readonly<Record<string, Resource>> };
  return Object.entries(resources)
    .filter(([, { Type }]) => KEPT.has(Type))
    .map(([id, { Type, Properties = {} }]) => {
      const names = Object.entries(Properties).filter(([property]) => NAMES.has(property));
      const given = names.map(([, name]) => (typeof name === 'string' ? ` ${name}` : ` ${JSON.stringify(name)}`));
      return `${Type.replace('AWS::', '')} ${id}${given.join('')}`;
    })
    .sort();
}

const DATA = [
  'DynamoDB::Table IdempotencyC15CBC33',
  'DynamoDB::Table LedgerTable9343E4AA',
  'DynamoDB::Table Registry4DB9CCA5',
  'DynamoDB::Table ViewsC0DDE3FE',
  'S3::Bucket ExportsBucket54D5CE64',
  'Events::Archive EventsArchive5A2DBDD8',
  `Events::EventBus EventsBus45DE4339 ${JSON.stringify({
    'Fn::Join': [
      '',
      [
        'PayonceData-',
        {
          'Fn::Select': [
            0,
            { 'Fn::Split': ['-', { 'Fn::Select': [2, { 'Fn::Split': ['/', { Ref: 'AWS::StackId' }] }] }] },
          ],
        },
      ],
    ],
  })}`,
  'SQS::Queue DeadLettersBBF8BAAB',
  'SQS::QueuePolicy DeadLettersPolicy05322138',
  'SecretsManager::Secret EmailKeysE9920BCA',
  'SecretsManager::Secret JobCredential65BBA099',
  'SecretsManager::Secret WebhookRootA8BEBEA5',
];

const DATA_OF_PROCESSORS_AND_POSTMARK = [
  'SecretsManager::Secret JobTargetmembershipB37936CA',
  'SecretsManager::Secret PostmarkTokenF70DB93D',
  'SecretsManager::Secret ProcessorCallbackSecret68E401E4',
  'SecretsManager::Secret ProcessorSigningKeyB6285AD4',
  'SecretsManager::Secret ShopSigningKey0953C692',
  'SecretsManager::Secret StripeCallbackSecret9F89229A',
  'SecretsManager::Secret StripeKeyF1DDFBE2',
];

const SERVICE = [
  'ApiGateway::RestApi HttpApi4E1D4184 PayonceService',
  'ApiGateway::Stage HttpApiDeploymentStageliveB6D8FEA9 live',
  'CloudWatch::Dashboard WatchOverviewDashboardAA0E3D14 {"Fn::Join":["",["Payonce-",{"Ref":"AWS::Region"}]]}',
  'CloudWatch::Dashboard WatchOverviewMachinesFDF8F18B {"Fn::Join":["",["Payonce-machines-",{"Ref":"AWS::Region"}]]}',
  'Events::Rule CommissionEventsRuleB4629D76',
  'Events::Rule FollowUpsCommissionEventsOrderRule088E4AC7',
  'Events::Rule ReceiptEventsRule4AB2B311',
  'Events::Rule ViewsEventsRule5EAD99C6',
  'Events::Rule WebhooksEventsRule65674673',
  'Logs::LogGroup ApiDocumentsLogs3034E953',
  'Logs::LogGroup AuditApiLogsC9171DBA',
  'Logs::LogGroup CallbacksLogs89CDF0F4',
  'Logs::LogGroup CommissionConsumerLogs35BEE7DD',
  'Logs::LogGroup CronExecutorLogsE9900FEA',
  'Logs::LogGroup EventsApiLogsD70BCB45',
  'Logs::LogGroup EventsRelayLogsEB4AB146',
  'Logs::LogGroup EventsRepublisherLogsE2F1579B',
  'Logs::LogGroup ExportsApiLogs695869C7',
  'Logs::LogGroup ExportsWriterLogs9EA480B4',
  'Logs::LogGroup HttpAccessLogC8763DB1',
  'Logs::LogGroup JobsApiLogsABA1E7CA',
  'Logs::LogGroup LedgerApiLogsEEB62370',
  'Logs::LogGroup OrdersLogs63C9E25A',
  'Logs::LogGroup PaymentJobsLogsF2428E12',
  'Logs::LogGroup PaymentsLogsA9C3CE39',
  'Logs::LogGroup ReceiptConsumerLogs68BE20F8',
  'Logs::LogGroup RedriveLogs2926F170',
  'Logs::LogGroup UpkeepJobsLogsD14D469C',
  'Logs::LogGroup ViewsProjectorLogsCA1184F9',
  'Logs::LogGroup WebhooksApiLogs6E09B16D',
  'Logs::LogGroup WebhooksFanOutLogs05728774',
  'Logs::LogGroup WebhooksSenderLogsFE0C2C0D',
  'SQS::Queue CommissionEventsTasksDeadLetters0379067D',
  'SQS::Queue CommissionEventsTasksQueue00A8C894',
  'SQS::Queue EventsParked35F722E7',
  'SQS::Queue JobsMissedBEEA4F64',
  'SQS::Queue PartiesDelayedCallsQueueBF9DAFB3',
  'SQS::Queue PaymentRunsTasksDeadLettersD86764D7',
  'SQS::Queue PaymentRunsTasksQueue9379FCF9',
  'SQS::Queue ReceiptEventsTasksDeadLetters9664AC63',
  'SQS::Queue ReceiptEventsTasksQueue2E0330A1',
  'SQS::Queue UpkeepRunsTasksDeadLetters45B4B33B',
  'SQS::Queue UpkeepRunsTasksQueueA6CAA4AE',
  'SQS::Queue ViewsEventsTasksDeadLetters54090BE4',
  'SQS::Queue ViewsEventsTasksQueue3FBEEF03',
  'SQS::Queue WebhooksEventsTasksDeadLettersBC492487',
  'SQS::Queue WebhooksEventsTasksQueue3F720847',
  'SQS::Queue WebhooksLanesQueue699B5731',
  'SQS::Queue WebhooksTasksDeadLettersADFB1DC5',
  'SQS::Queue WebhooksTasksQueue3FF90A69',
  'SQS::QueuePolicy CommissionEventsTasksDeadLettersPolicy225BF992',
  'SQS::QueuePolicy CommissionEventsTasksQueuePolicy6F96EBAE',
  'SQS::QueuePolicy EventsParkedPolicyD8490FBF',
  'SQS::QueuePolicy JobsMissedPolicy17A421CE',
  'SQS::QueuePolicy PartiesDelayedCallsQueuePolicy316C619D',
  'SQS::QueuePolicy PaymentRunsTasksDeadLettersPolicyD3B76594',
  'SQS::QueuePolicy PaymentRunsTasksQueuePolicyA68CE9FF',
  'SQS::QueuePolicy ReceiptEventsTasksDeadLettersPolicyB3A7299B',
  'SQS::QueuePolicy ReceiptEventsTasksQueuePolicyAA14DB7E',
  'SQS::QueuePolicy UpkeepRunsTasksDeadLettersPolicy18B3C731',
  'SQS::QueuePolicy UpkeepRunsTasksQueuePolicy1EA15499',
  'SQS::QueuePolicy ViewsEventsTasksDeadLettersPolicyEC0A7E7B',
  'SQS::QueuePolicy ViewsEventsTasksQueuePolicy1132BA56',
  'SQS::QueuePolicy WebhooksEventsTasksDeadLettersPolicyA07A3A66',
  'SQS::QueuePolicy WebhooksEventsTasksQueuePolicy5A393A8C',
  'SQS::QueuePolicy WebhooksLanesQueuePolicyCA2F744E',
  'SQS::QueuePolicy WebhooksTasksDeadLettersPolicy86ABB36E',
  'SQS::QueuePolicy WebhooksTasksQueuePolicy279C8CA0',
];

const SERVICE_WITH_SANDBOX = ['SSM::Parameter CallbackAddress4C9FBE3E /payonce/sandbox/callback-address'];

const SERVICE_WITH_REQUESTS_AND_TARGETS = [
  'Events::Rule IntakeRulecheckout4444555566660E466487',
  'Events::Rule IntakeRulepayoncerequestsFE31B942',
  'Events::Rule NatsBridgeRule30AE5060',
  'Logs::LogGroup IntakeLogsB4E72C77',
  'Logs::LogGroup JobsTargetsCallerLogsEEE26219',
  'SQS::Queue IntakeQueueshopDeadLettersBE9A0675',
  'SQS::Queue IntakeQueueshopQueueF59117FA',
  'SQS::Queue IntakeTasksDeadLettersF673B80F',
  'SQS::Queue IntakeTasksQueue2EC736D9',
  'SQS::Queue JobsTargetsCallsQueue3DA13C12',
  'SQS::Queue NatsBridgeTasksDeadLetters1CF23A14',
  'SQS::Queue NatsBridgeTasksQueue46C6DEB9',
  'SQS::QueuePolicy IntakeQueueshopDeadLettersPolicyCBB9ED31',
  'SQS::QueuePolicy IntakeQueueshopQueuePolicy16230F00',
  'SQS::QueuePolicy IntakeTasksDeadLettersPolicyC1A1A59B',
  'SQS::QueuePolicy IntakeTasksQueuePolicyA70B0436',
  'SQS::QueuePolicy JobsTargetsCallsQueuePolicyA3B50930',
  'SQS::QueuePolicy NatsBridgeTasksDeadLettersPolicy7C640AB4',
  'SQS::QueuePolicy NatsBridgeTasksQueuePolicyC0F66A54',
];

const SERVICE_WITH_ALARM_EMAIL_AND_FIREWALL = [
  'KMS::Key WatchTopicKey174BC790',
  'Logs::LogGroup FirewallLog4D407857 aws-waf-logs-PayonceService',
  'SNS::Topic WatchTopicCF679174 Payonce',
];

const SANDBOX = [
  'ApiGateway::RestApi HttpApi4E1D4184 PayonceSandbox',
  'ApiGateway::Stage HttpApiDeploymentStageliveB6D8FEA9 live',
  'DynamoDB::Table Books8C439C90',
  'Logs::LogGroup HttpAccessLogC8763DB1',
  'Logs::LogGroup ProcessorLogs3A07F617',
  'SQS::Queue TasksDeadLettersCFF7832A',
  'SQS::Queue TasksQueue14B5121E',
  'SQS::QueuePolicy TasksDeadLettersPolicy2157CCD7',
  'SQS::QueuePolicy TasksQueuePolicy383A11D9',
];

const DATA_WITH_SANDBOX = [
  'SecretsManager::Secret TestCallbackSecretB07AD019',
  'SecretsManager::Secret TestSandboxSecretDD6877C0',
];

const SERVICE_WITH_ARCHIVE = [
  'Logs::LogGroup ArchiveArchiverLogsABF3C878',
  'Logs::LogGroup ArchiveAuditorFunctionLogs059AB998',
  'SQS::Queue ArchiveParkedDB075157',
  'SQS::QueuePolicy ArchiveParkedPolicyD6C2CB81',
];

describe('the logical ids and names of deployed resources, which no deploy may replace', () => {
  test('stay the same with the sandbox', async () => {
    const { data, service, sandbox } = await synthesize();
    expect(kept(data)).toEqual([...DATA, ...DATA_WITH_SANDBOX].sort());
    expect(kept(service)).toEqual([...SERVICE, ...SERVICE_WITH_SANDBOX].sort());
    expect(kept(sandbox)).toEqual(SANDBOX);
  });

  test('stay the same when most optional resources are enabled', async () => {
    const { archive, data, service } = await synthesize(EVERYTHING);
    expect(kept(archive)).toEqual(['S3::Bucket Bucket83908E77']);
    expect(kept(data)).toEqual([...DATA, ...DATA_OF_PROCESSORS_AND_POSTMARK].sort());
    expect(kept(service)).toEqual(
      [
        ...SERVICE,
        ...SERVICE_WITH_ALARM_EMAIL_AND_FIREWALL,
        ...SERVICE_WITH_REQUESTS_AND_TARGETS,
        ...SERVICE_WITH_ARCHIVE,
      ].sort(),
    );
  });
});
