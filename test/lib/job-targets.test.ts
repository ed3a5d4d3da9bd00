import { describe, expect, test } from '@jest/globals';
import { Match } from 'aws-cdk-lib/assertions';
import { readSettings } from '../../lib/settings.ts';
import { synthesize } from '../support/synth.ts';
import { present } from './templates.ts';
import { testApp } from './test-app.ts';

const JOB = {
  id: 'release-commission-locks',
  why: 'Releases commission locks whose time has come.',
  schedule: 'cron(20 * * * ? *)',
  every: 3_600,
  path: '/v1/admin/commission-locks/release-expired',
  scopes: ['membership:admin'],
};
const MEMBERSHIP = { url: 'https://members.shop.example', jobs: [JOB] };

const read = (targets: unknown, context: Record<string, unknown> = {}) =>
  readSettings(testApp({ 'payonce:jobTargets': JSON.stringify(targets), ...context }).node).jobTargets;

describe('the setting jobTargets', () => {
  test('declares a job of another service without further settings', () => {
    expect(read({ membership: MEMBERSHIP })).toEqual({ membership: MEMBERSHIP });
  });

  test.each([
    [{ Membership: MEMBERSHIP }, 'Membership: the name must be 2 to 30 lower-case letters'],
    [
      { membership: { ...MEMBERSHIP, url: 'http://members.shop.example' } },
      'url "http://members.shop.example" must be an https address',
    ],
    [{ membership: { ...MEMBERSHIP, url: 'https://a:b@members.shop.example' } }, 'must be an https address'],
    [{ membership: { ...MEMBERSHIP, url: 'https://members.shop.example?' } }, 'must be an https address'],
    [{ membership: { ...MEMBERSHIP, secret: 'x' } }, 'secret "x" is not a field of a target'],
    [{ membership: { ...MEMBERSHIP, jobs: [] } }, 'jobs [] must not be empty'],
    [
      { membership: { ...MEMBERSHIP, jobs: [{ ...JOB, worker: 'upkeep' }] } },
      'worker "upkeep" is not a field of a job',
    ],
    [{ membership: { ...MEMBERSHIP, jobs: [{ ...JOB, id: 'resolve' }] } }, 'id "resolve" must be unique'],
    [{ membership: { ...MEMBERSHIP, jobs: [JOB, JOB] } }, 'must be unique among all jobs'],
    [{ membership: { ...MEMBERSHIP, jobs: [{ ...JOB, schedule: 'hourly' }] } }, 'schedule "hourly" must be rate('],
    [{ membership: { ...MEMBERSHIP, jobs: [{ ...JOB, schedule: 'rate(5 minutes)' }] } }, 'every 3600 must be 300'],
    [
      { membership: { ...MEMBERSHIP, jobs: [{ ...JOB, path: 'v1/x?y=z' }] } },
      'path "v1/x?y=z" must be an absolute path',
    ],
    [{ membership: { ...MEMBERSHIP, jobs: [{ ...JOB, path: undefined }] } }, 'path (missing) must be an absolute path'],
    [{ membership: { ...MEMBERSHIP, jobs: [{ ...JOB, scopes: [] }] } }, 'scopes [] must be a list of scopes such as'],
    [{ membership: { ...MEMBERSHIP, jobs: [{ ...JOB, window: 5 }] } }, 'window 5 must be 60 to 86400 seconds'],
  ])('refuses %j', (targets, message) => {
    expect(() => read(targets)).toThrow(message);
  });

  test('reports all errors together, in one line', () => {
    expect(() => read({ membership: { url: MEMBERSHIP.url, jobs: [{ ...JOB, path: 'x', window: 5 }] } })).toThrow(
      /^payonce:jobTargets is invalid: membership\.release-commission-locks: path "x" must be .*; membership\.release-commission-locks: window 5 must be 60 to 86400 seconds$/,
    );
  });

  test('allows plain HTTP to loopback only with allowLoopbackWebhooks', () => {
    const local = { membership: { ...MEMBERSHIP, url: 'http://127.0.0.1:8787' } };
    expect(() => read(local)).toThrow(
      /must be an https address .* with payonce:allowLoopbackWebhooks, a loopback address/,
    );
    expect(read(local, { 'payonce:allowLoopbackWebhooks': 'true' })).toEqual(local);
  });
});

describe('the stacks of a deployment with job targets', () => {
  test('have a schedule for each job, which enqueues the job with its scheduled time, and a secret for each target', async () => {
    const targets = {
      membership: MEMBERSHIP,
      loyalty: { url: 'https://loyalty.example', jobs: [{ ...JOB, id: 'expire-points' }] },
    };
    const stacks = await synthesize({ 'payonce:jobTargets': JSON.stringify(targets) });
    const [data, service] = [present(stacks.data), present(stacks.service)];
    service.hasResourceProperties('AWS::Scheduler::Schedule', {
      ScheduleExpression: JOB.schedule,
      Target: Match.objectLike({
        Input: JSON.stringify({
          target: 'membership',
          job: JOB.id,
          scheduledTime: '<aws.scheduler.scheduled-time>',
        }),
        DeadLetterConfig: Match.anyValue(),
      }),
    });
    for (const target of ['membership', 'loyalty']) {
      const Description = Match.stringLikeRegexp(`target ${target}`);
      data.hasResourceProperties('AWS::SecretsManager::Secret', { Description });
    }
    // Only the caller gets the targets. It does not get the credential for calls of Payonce's own routes.
    const callers = service?.findResources('AWS::Lambda::Function', {
      Properties: { Environment: { Variables: Match.objectLike({ JOB_TARGETS: Match.anyValue() }) } },
    });
    expect(Object.values(callers ?? {})).toHaveLength(1);
    expect(JSON.stringify(callers)).not.toContain('JOB_CREDENTIAL_SECRET_ID');
    // The jobs API lists the jobs, and the check for overdue jobs watches them.
    const listed = Match.serializedJson(
      Match.arrayWith([Match.objectLike({ id: 'expire-points', target: 'loyalty' })]),
    );
    const knowing = service.findResources('AWS::Lambda::Function', {
      Properties: { Environment: { Variables: Match.objectLike({ LISTED_JOBS: listed }) } },
    });
    expect(Object.keys(knowing).map((id) => /JobsApi|JobsUpkeep/.exec(id)?.[0])).toEqual(['JobsUpkeep', 'JobsApi']);
  });
});
