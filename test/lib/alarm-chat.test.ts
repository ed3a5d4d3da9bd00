import { describe, expect, test } from '@jest/globals';
import { Match, Template } from 'aws-cdk-lib/assertions';
import { AlarmChat, type AlarmChatProps, readDestinations } from '../../examples/alarm-chat/alarm-chat.ts';
import { testApp } from './test-app.ts';

const TOPIC = 'arn:aws:sns:eu-central-1:123456789012:alarms';
const SLACK = { workspaceId: 'T0123ABCD', channelId: 'C0456EFGH' };
const TEAMS = {
  tenantId: '11111111-2222-3333-4444-555555555555',
  teamId: '66666666-7777-8888-9999-000000000000',
  channelId: '19%3ab6ef35dc342d56ba5654e6fc6d25a071%40thread.tacv2',
};

function templateOf(props: Omit<AlarmChatProps, 'topicArn'>): Template {
  return Template.fromStack(new AlarmChat(testApp(), 'AlarmChat', { topicArn: TOPIC, ...props }));
}

describe('the template for alarms in Slack, Teams and PagerDuty', () => {
  const all = templateOf({ slack: SLACK, teams: TEAMS, pagerDuty: true });

  test('sends the topic’s alarms to the Slack channel', () => {
    all.hasResourceProperties('AWS::Chatbot::SlackChannelConfiguration', {
      SlackWorkspaceId: SLACK.workspaceId,
      SlackChannelId: SLACK.channelId,
      SnsTopicArns: [TOPIC],
    });
  });

  test('sends the topic’s alarms to the Teams channel', () => {
    all.hasResourceProperties('AWS::Chatbot::MicrosoftTeamsChannelConfiguration', {
      TeamsTenantId: TEAMS.tenantId,
      TeamId: TEAMS.teamId,
      TeamsChannelId: TEAMS.channelId,
      SnsTopicArns: [TOPIC],
    });
  });

  test('subscribes PagerDuty over HTTPS with the SNS envelope that it expects, and keeps PagerDuty’s address out of the template', () => {
    all.hasResourceProperties('AWS::SNS::Subscription', {
      TopicArn: TOPIC,
      Protocol: 'https',
      Endpoint: { Ref: 'PagerDutyUrl' },
      RawMessageDelivery: Match.absent(),
    });
    all.hasParameter('PagerDutyUrl', { NoEcho: true, Default: Match.absent() });
  });

  test.each([
    ['https://events.pagerduty.com/integration/0123456789abcdef0123456789abcdef/enqueue', true],
    ['https://events.eu.pagerduty.com/integration/0123456789abcdef0123456789abcdef/enqueue', true],
    ['http://events.pagerduty.com/integration/0123456789abcdef0123456789abcdef/enqueue', false],
    ['https://events.pagerduty.com.example/integration/0123456789abcdef0123456789abcdef/enqueue', false],
    ['https://events.pagerduty.com/v2/enqueue', false],
  ])('makes CloudFormation accept or refuse the address of PagerDuty (%s, accepted: %s)', (url, isAccepted) => {
    const [parameter] = Object.values(all.findParameters('PagerDutyUrl')) as { readonly AllowedPattern: string }[];
    expect(new RegExp(parameter?.AllowedPattern ?? '').test(url)).toBe(isAccepted);
  });

  test('lets people in the channels read alarms and metrics, and nothing else', () => {
    const channels = ['SlackChannelConfiguration', 'MicrosoftTeamsChannelConfiguration'].flatMap(
      (kind) =>
        Object.values(all.findResources(`AWS::Chatbot::${kind}`)) as {
          readonly Properties: { readonly GuardrailPolicies: unknown; readonly IamRoleArn: unknown };
        }[],
    );
    const [policy = ''] = Object.keys(all.findResources('AWS::IAM::ManagedPolicy'));
    const [role = ''] = Object.keys(all.findResources('AWS::IAM::Role'));
    // If a channel has no guardrail policy of its own, AWS uses AdministratorAccess.
    expect(channels.map(({ Properties }) => Properties.GuardrailPolicies)).toEqual([
      [{ Ref: policy }],
      [{ Ref: policy }],
    ]);
    expect(channels.map(({ Properties }) => Properties.IamRoleArn)).toEqual([
      { 'Fn::GetAtt': [role, 'Arn'] },
      { 'Fn::GetAtt': [role, 'Arn'] },
    ]);
    all.hasResourceProperties('AWS::IAM::ManagedPolicy', {
      PolicyDocument: {
        Statement: [
          { Effect: 'Allow', Action: ['cloudwatch:Describe*', 'cloudwatch:Get*', 'cloudwatch:List*'], Resource: '*' },
        ],
      },
    });
    all.hasResourceProperties('AWS::IAM::Role', {
      AssumeRolePolicyDocument: {
        Statement: [{ Effect: 'Allow', Action: 'sts:AssumeRole', Principal: { Service: 'chatbot.amazonaws.com' } }],
      },
      ManagedPolicyArns: [{ Ref: policy }],
      Policies: Match.absent(),
    });
    all.resourceCountIs('AWS::IAM::Policy', 0);
  });

  test('creates only the chosen resources', () => {
    const alone = templateOf({ pagerDuty: true });
    expect(
      Object.values(alone.toJSON()['Resources'] as Record<string, { readonly Type: string }>).map(({ Type }) => Type),
    ).toEqual(['AWS::SNS::Subscription']);
  });
});

describe('the settings of the template', () => {
  test('contain the topic and the channels', () => {
    const given = {
      topicArn: TOPIC,
      slack: `${SLACK.workspaceId}/${SLACK.channelId}`,
      teams: `${TEAMS.tenantId}/${TEAMS.teamId}/${TEAMS.channelId}`,
      pagerDuty: 'true',
    };
    expect(readDestinations((name) => given[name])).toEqual({
      topicArn: TOPIC,
      slack: SLACK,
      teams: TEAMS,
      pagerDuty: true,
    });
  });

  test.each([
    [{}, 'topicArn is missing'],
    [{ topicArn: 'alarms', pagerDuty: 'true' }, 'topicArn is "alarms", but must be the ARN of an SNS topic'],
    [{ topicArn: TOPIC }, 'set at least one of slack, teams and pagerDuty'],
    [{ topicArn: TOPIC, slack: 'T0123ABCD' }, 'slack is "T0123ABCD", but must be <workspace>/<channel>'],
    [{ topicArn: TOPIC, teams: 'a/b' }, 'teams is "a/b", but must be <tenant>/<team>/<channel>'],
    [{ topicArn: TOPIC, pagerDuty: 'https://x.example' }, 'pagerDuty is "https://x.example", but must be true'],
  ])('%j are refused: %s', (given: Readonly<Record<string, string>>, reason) => {
    expect(() => readDestinations((name) => given[name])).toThrow(reason);
  });
});
