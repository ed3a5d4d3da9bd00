import { CfnParameter, Stack, type StackProps } from 'aws-cdk-lib';
import { CfnMicrosoftTeamsChannelConfiguration, SlackChannelConfiguration } from 'aws-cdk-lib/aws-chatbot';
import { ManagedPolicy, PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Subscription, SubscriptionProtocol, Topic } from 'aws-cdk-lib/aws-sns';
import type { Construct } from 'constructs';

/** At least one destination must be set. */
export interface Destinations {
  /** ARN of the alarm topic: the topic in `alarmTopicArn`, or the one that a deployment with `alarmEmail` created. */
  readonly topicArn: string;
  /** A channel of a Slack workspace. @default none */
  readonly slack?: { readonly workspaceId: string; readonly channelId: string };
  /** A channel of a team in Microsoft Teams. @default none */
  readonly teams?: { readonly tenantId: string; readonly teamId: string; readonly channelId: string };
  /** Whether a PagerDuty service gets the alarms, at the address in the parameter `PagerDutyUrl`. @default false */
  readonly pagerDuty?: boolean;
}

export interface AlarmChatProps extends StackProps, Destinations {}

/**
 * Shows the alarms of Payonce in chat channels, and pages people. Slack and Teams are reached through Amazon Q
 * Developer in chat applications (AWS Chatbot), PagerDuty through its integration for Amazon CloudWatch. When an alarm
 * returns to OK, PagerDuty resolves its incident.
 */
export class AlarmChat extends Stack {
  constructor(scope: Construct, id: string, { topicArn, slack, teams, pagerDuty = false, ...props }: AlarmChatProps) {
    super(scope, id, { description: 'Alarms of Payonce in Slack, Microsoft Teams and PagerDuty.', ...props });
    const topic = Topic.fromTopicArn(this, 'Alarms', topicArn);
    if (slack !== undefined || teams !== undefined) {
      const { role, policy } = this.#reader();
      if (slack !== undefined)
        new SlackChannelConfiguration(this, 'Slack', {
          slackChannelConfigurationName: `${this.stackName}-slack`,
          slackWorkspaceId: slack.workspaceId,
          slackChannelId: slack.channelId,
          notificationTopics: [topic],
          role,
          guardrailPolicies: [policy],
        });
      if (teams !== undefined)
        new CfnMicrosoftTeamsChannelConfiguration(this, 'Teams', {
          configurationName: `${this.stackName}-teams`,
          teamsTenantId: teams.tenantId,
          teamId: teams.teamId,
          teamsChannelId: teams.channelId,
          snsTopicArns: [topicArn],
          iamRoleArn: role.roleArn,
          guardrailPolicies: [policy.managedPolicyArn],
        });
    }
    if (pagerDuty) this.#page(topic);
  }

  /**
   * Creates the role and the guardrail policy of the channels: people can read alarms, metrics and their graphs. A
   * channel without a guardrail policy has `AdministratorAccess` (AWS CloudFormation, `GuardrailPolicies`).
   */
  #reader(): { readonly role: Role; readonly policy: ManagedPolicy } {
    const policy = new ManagedPolicy(this, 'ReadAlarms', {
      description: 'Reads alarms and metrics.',
      statements: [
        new PolicyStatement({
          actions: ['cloudwatch:Describe*', 'cloudwatch:Get*', 'cloudwatch:List*'],
          resources: ['*'],
        }),
      ],
    });
    const role = new Role(this, 'Role', {
      assumedBy: new ServicePrincipal('chatbot.amazonaws.com'),
      managedPolicies: [policy],
    });
    return { role, policy };
  }

  /**
   * Subscribes PagerDuty, which confirms the subscription itself. The address contains the integration's key, so it is
   * a parameter whose value CloudFormation does not show.
   */
  #page(topic: ReturnType<typeof Topic.fromTopicArn>): void {
    const url = new CfnParameter(this, 'PagerDutyUrl', {
      description: 'Integration URL of the Amazon CloudWatch integration of a PagerDuty service.',
      noEcho: true,
      allowedPattern: '^https://events\\.(eu\\.)?pagerduty\\.com/integration/[A-Za-z0-9]+/enqueue$',
      constraintDescription: 'must be https://events.pagerduty.com/integration/<key>/enqueue',
    });
    new Subscription(this, 'PagerDuty', {
      topic,
      protocol: SubscriptionProtocol.HTTPS,
      endpoint: url.valueAsString,
    });
  }
}

/** @throws Error naming the setting, the given value and what is allowed */
export function readDestinations(contextOf: (name: keyof Destinations) => string | undefined): Destinations {
  const topicArn = contextOf('topicArn');
  if (topicArn === undefined) throw new Error('topicArn is missing: set the ARN of the alarm topic');
  if (!/^arn:aws[a-z-]*:sns:[a-z0-9-]+:\d{12}:[A-Za-z0-9_-]+$/.test(topicArn))
    throw refused('topicArn', topicArn, 'the ARN of an SNS topic');
  const [workspaceId, slackChannel] = parts('slack', contextOf('slack'), '<workspace>/<channel>') ?? [];
  const [tenantId, teamId, teamsChannel] = parts('teams', contextOf('teams'), '<tenant>/<team>/<channel>') ?? [];
  const pagerDuty = contextOf('pagerDuty');
  if (pagerDuty !== undefined && pagerDuty !== 'true') throw refused('pagerDuty', pagerDuty, 'true');
  const chosen = {
    ...(workspaceId === undefined || slackChannel === undefined
      ? {}
      : { slack: { workspaceId, channelId: slackChannel } }),
    ...(tenantId === undefined || teamId === undefined || teamsChannel === undefined
      ? {}
      : { teams: { tenantId, teamId, channelId: teamsChannel } }),
    ...(pagerDuty === undefined ? {} : { pagerDuty: true }),
  };
  if (Object.keys(chosen).length === 0) throw new Error('set at least one of slack, teams and pagerDuty');
  return { topicArn, ...chosen };
}

/**
 * @returns undefined when none are given
 * @throws Error when they lack this form
 */
function parts(name: string, given: string | undefined, form: string): readonly string[] | undefined {
  if (given === undefined) return undefined;
  const found = given.split('/');
  if (found.length !== form.split('/').length || found.includes('')) throw refused(name, given, form);
  return found;
}

function refused(name: string, given: string, allowed: string): Error {
  return new Error(`${name} is "${given}", but must be ${allowed}`);
}
