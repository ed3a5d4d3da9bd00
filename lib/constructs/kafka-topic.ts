import { Duration, Validations } from 'aws-cdk-lib';
import { Metric } from 'aws-cdk-lib/aws-cloudwatch';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { CfnEventSourceMapping } from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';
import type { Kafka } from '../settings/payment-requests.ts';
import type { PayonceFunction } from './payonce-function.ts';
import { RunbookAlarm } from './runbook-alarm.ts';

export interface KafkaTopicProps {
  readonly kafka: Kafka;
  readonly topic: string;
  /**
   * The consumer group. A new group reads the topic again from `startAt`.
   * @default payonce-<topic>
   */
  readonly group?: string | undefined;
  /**
   * The function that processes the records. It throws only when it can neither process nor store a record. The batch
   * is then redelivered until its records expire.
   */
  readonly consumer: Pick<PayonceFunction, 'function' | 'role'>;
  readonly batch: number;
}

const AUTHENTICATION = {
  'scram-512': 'SASL_SCRAM_512_AUTH',
  'scram-256': 'SASL_SCRAM_256_AUTH',
  basic: 'BASIC_AUTH',
  'client-certificate': 'CLIENT_CERTIFICATE_TLS_AUTH',
} as const;

/**
 * A Kafka topic that Lambda reads for a function, on Amazon MSK or self-managed brokers. Lambda commits an offset after
 * the function has returned. There is no failure destination: with one, Lambda would send a batch to the destination
 * after ten attempts, and then skip the batch.
 */
export class KafkaTopic extends Construct {
  readonly #props: KafkaTopicProps;

  constructor(scope: Construct, id: string, props: KafkaTopicProps) {
    super(scope, id);
    this.#props = props;
    const { kafka, topic, group = `payonce-${topic}`, consumer, batch } = props;
    const mapping = new CfnEventSourceMapping(this, 'Mapping', {
      functionName: consumer.function.functionName,
      topics: [topic],
      batchSize: batch,
      startingPosition: kafka.startAt === 'earliest' ? 'TRIM_HORIZON' : 'LATEST',
      ...('cluster' in kafka
        ? {
            eventSourceArn: kafka.cluster,
            amazonManagedKafkaEventSourceConfig: { consumerGroupId: group },
          }
        : {
            selfManagedEventSource: { endpoints: { kafkaBootstrapServers: kafka.brokers } },
            selfManagedKafkaEventSourceConfig: { consumerGroupId: group },
          }),
      metricsConfig: { metrics: ['EventCount'] },
      ...(this.#access.length === 0 ? {} : { sourceAccessConfigurations: [...this.#access] }),
    });
    Validations.of(mapping).acknowledge({
      id: 'Serverless::Serverless-LambdaEventSourceMappingDestination',
      reason:
        'With a failure destination, Lambda sends a batch to the destination after ten attempts, and then skips it (AWS Lambda developer guide, "Using a Kafka topic as an ' +
        'on-failure destination"). Without one, Lambda retries until the function can store the records.',
    });
    this.#watch(mapping, topic);
    this.#grant();
    mapping.node.addDependency(consumer.role);
  }

  /**
   * An event source mapping that cannot reach a broker fails silently. A working mapping reports every poll, with 0 for
   * a poll without a record (AWS Lambda developer guide, "Event source mapping metrics"). Missing data therefore raises
   * the alarm.
   */
  #watch({ attrId: EventSourceMappingUUID }: CfnEventSourceMapping, topic: string): void {
    new RunbookAlarm(this, 'NotPolled', {
      description: `The Kafka topic ${topic} is not polled.`,
      entry: 'events.md#a-topic-is-not-polled',
      metric: new Metric({
        namespace: 'AWS/Lambda',
        metricName: 'PolledEventCount',
        dimensionsMap: { EventSourceMappingUUID },
        period: Duration.minutes(5),
        statistic: 'Sum',
      }),
      isHeartbeat: true,
      threshold: 0,
      evaluationPeriods: 3,
    });
  }

  get #access(): readonly { readonly type: string; readonly uri: string }[] {
    const { kafka } = this.#props;
    const { secret } = kafka;
    if ('cluster' in kafka) return secret === undefined ? [] : [{ type: 'SASL_SCRAM_512_AUTH', uri: secret }];
    const { authentication, rootCertificate, subnets = [], securityGroup } = kafka;
    return [
      ...(secret === undefined ? [] : [{ type: AUTHENTICATION[authentication], uri: secret }]),
      ...(rootCertificate === undefined ? [] : [{ type: 'SERVER_ROOT_CA_CERTIFICATE', uri: rootCertificate }]),
      ...subnets.map((subnet) => ({ type: 'VPC_SUBNET', uri: `subnet:${subnet}` })),
      ...(securityGroup === undefined ? [] : [{ type: 'VPC_SECURITY_GROUP', uri: `security_group:${securityGroup}` }]),
    ];
  }

  /**
   * Grants the permissions listed in AWS Lambda developer guide, "Configuring Lambda permissions for Amazon MSK event
   * source mappings" and "… self-managed …".
   */
  #grant(): void {
    const { kafka, topic, group = `payonce-${topic}`, consumer } = this.#props;
    const allow = (sid: string, actions: string[], resources: string[]) =>
      consumer.role.addToPrincipalPolicy(new PolicyStatement({ sid, actions, resources }));
    const secrets = [kafka.secret, 'cluster' in kafka ? undefined : kafka.rootCertificate];
    const given = secrets.filter((secret) => secret !== undefined);
    if (given.length > 0) allow('ReadKafkaSecrets', ['secretsmanager:GetSecretValue'], given);
    if ('cluster' in kafka) {
      const { cluster, secret } = kafka;
      const describe = ['kafka:DescribeCluster', 'kafka:DescribeClusterV2', 'kafka:GetBootstrapBrokers'];
      allow('FindBrokers', [...describe, ...(secret === undefined ? [] : ['kafka:ListScramSecrets'])], [cluster]);
      if (secret === undefined) this.#grantByRole(cluster, topic, group);
    }
    if (!('cluster' in kafka) && kafka.subnets === undefined) return;
    allow(
      'NetworkOfKafka',
      [
        'ec2:CreateNetworkInterface',
        'ec2:DeleteNetworkInterface',
        'ec2:DescribeNetworkInterfaces',
        'ec2:DescribeSecurityGroups',
        'ec2:DescribeSubnets',
        'ec2:DescribeVpcs',
      ],
      // These actions create Lambda's network interfaces, and most of them do not support resource restrictions
      // (Service Authorization Reference).
      ['*'],
    );
  }

  #grantByRole(cluster: string, topic: string, group: string): void {
    const { role } = this.#props.consumer;
    const of = (kind: string, name: string) => `${cluster.replace(':cluster/', `:${kind}/`)}/${name}`;
    // Without an id, the AWS CDK merges the statements of several topics. IAM refuses two statements with the same id.
    role.addToPrincipalPolicy(
      new PolicyStatement({
        actions: [
          'kafka-cluster:Connect',
          'kafka-cluster:DescribeClusterDynamicConfiguration',
          'kafka-cluster:DescribeTopic',
          'kafka-cluster:ReadData',
          'kafka-cluster:DescribeGroup',
          'kafka-cluster:AlterGroup',
        ],
        resources: [cluster, of('topic', topic), of('group', group)],
      }),
    );
  }
}
