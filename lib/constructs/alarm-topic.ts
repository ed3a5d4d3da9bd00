import { Aspects, RemovalPolicy, Stack, Validations } from 'aws-cdk-lib';
import { SnsAction } from 'aws-cdk-lib/aws-cloudwatch-actions';
import { PolicyStatement, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Key } from 'aws-cdk-lib/aws-kms';
import { type ITopic, Topic } from 'aws-cdk-lib/aws-sns';
import { EmailSubscription } from 'aws-cdk-lib/aws-sns-subscriptions';
import { Construct } from 'constructs';
import { RunbookAlarm } from './runbook-alarm.ts';

export type AlarmTopicProps =
  | { readonly email: string }
  /** Uses an existing topic, which must allow CloudWatch to publish. */
  | { readonly topicArn: string };

/** Notifies a topic when an alarm of the stack begins or ends. */
export class AlarmTopic extends Construct {
  constructor(scope: Construct, id: string, props: AlarmTopicProps) {
    super(scope, id);
    const topic = 'topicArn' in props ? Topic.fromTopicArn(this, 'Given', props.topicArn) : this.#own(props.email);
    const action = new SnsAction(topic);
    Aspects.of(Stack.of(this)).add({
      visit: (node) => {
        if (!(node instanceof RunbookAlarm)) return;
        node.addAlarmAction(action);
        node.addOkAction(action);
      },
    });
  }

  /**
   * CloudWatch cannot publish to a topic that is encrypted with the AWS managed key (Amazon SNS developer guide,
   * "Enable compatibility between event sources from AWS services and encrypted topics").
   */
  #own(email: string): ITopic {
    const { account, region, partition } = Stack.of(this);
    const alarms = new ServicePrincipal('cloudwatch.amazonaws.com');
    const conditions = {
      StringEquals: { 'aws:SourceAccount': account },
      ArnLike: { 'aws:SourceArn': `arn:${partition}:cloudwatch:${region}:${account}:alarm:*` },
    };
    const key = new Key(this, 'Key', {
      description: 'Encrypts alarm notifications.',
      enableKeyRotation: true,
      // The key encrypts no stored data. A retained key would cost 1 USD a month.
      removalPolicy: RemovalPolicy.DESTROY,
    });
    key.addToResourcePolicy(
      new PolicyStatement({
        sid: 'AlarmsEncrypt',
        principals: [alarms],
        actions: ['kms:Decrypt', 'kms:GenerateDataKey*'],
        resources: ['*'],
        conditions,
      }),
    );
    const topic = new Topic(this, 'Topic', { displayName: 'Payonce', masterKey: key, enforceSSL: true });
    topic.addToResourcePolicy(
      new PolicyStatement({
        sid: 'AlarmsPublish',
        principals: [alarms],
        actions: ['sns:Publish'],
        resources: [topic.topicArn],
        conditions,
      }),
    );
    topic.addSubscription(new EmailSubscription(email));
    Validations.of(topic).acknowledge({
      id: 'Serverless::Serverless-SNSRedrivePolicy',
      reason: 'A failed e-mail needs no dead-letter queue: the alarm is also shown on the dashboard.',
    });
    return topic;
  }
}
