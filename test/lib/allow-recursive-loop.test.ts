import { expect, test } from '@jest/globals';
import { CONSUMER_ATTEMPTS } from '../../lambdas/kernel/contract/events.ts';
import { synthesize } from '../support/synth.ts';
import { present } from './templates.ts';

const stacks = await synthesize();
const service = present(stacks.service);

interface Mapping {
  readonly Properties: { readonly EventSourceArn: unknown; readonly FunctionName: { readonly Ref: string } };
}
interface Policy {
  readonly Properties: { readonly Roles: unknown; readonly PolicyDocument: { readonly Statement: readonly Allowed[] } };
}
interface Allowed {
  readonly Action: string | readonly string[];
  readonly Resource: unknown;
}
interface Made {
  readonly Properties: {
    readonly Role: { readonly 'Fn::GetAtt': readonly [string, 'Arn'] };
    readonly RecursiveLoop?: string;
  };
}

const functions = service.findResources('AWS::Lambda::Function') as Record<string, Made>;
const policies = Object.values(service.findResources('AWS::IAM::Policy')) as Policy[];

function maySendTo(role: string | undefined, queueArn: unknown): boolean {
  return policies
    .filter(({ Properties }) => JSON.stringify(Properties.Roles).includes(`"${role}"`))
    .flatMap(({ Properties }) => Properties.PolicyDocument.Statement)
    .filter(({ Action }) => [Action].flat().includes('sqs:SendMessage'))
    .some(({ Resource }) => JSON.stringify(Resource).includes(JSON.stringify(queueArn)));
}

test('loop detection, which stops a loop after 16 calls, is disabled only for functions that may call themselves more often', () => {
  const mappings = Object.values(service.findResources('AWS::Lambda::EventSourceMapping')) as Mapping[];
  const enqueueingThemselves = mappings
    .filter(({ Properties: { EventSourceArn, FunctionName } }) =>
      maySendTo(functions[FunctionName.Ref]?.Properties.Role['Fn::GetAtt'][0], EventSourceArn),
    )
    .map(({ Properties }) => Properties.FunctionName.Ref)
    .filter((id, index, all) => all.indexOf(id) === index);
  // A consumer sends a failed message to its own queue at most four times, far less than 16.
  const consumers = enqueueingThemselves.filter((id) => !/^Jobs|^WebhooksSender/.test(id));
  expect(consumers.length).toBeGreaterThan(3);
  expect(CONSUMER_ATTEMPTS).toBeLessThan(16);
  const endless = enqueueingThemselves.filter((id) => !consumers.includes(id));
  expect(endless.map((id) => id.replace(/Function.*/, '')).sort()).toEqual([
    'JobsPayments',
    'JobsUpkeep',
    'WebhooksSender',
  ]);
  const allowedToLoop = Object.keys(functions).filter((id) => functions[id]?.Properties.RecursiveLoop === 'Allow');
  // The exports writer invokes itself.
  expect(allowedToLoop.filter((id) => !id.startsWith('ExportsWriter')).sort()).toEqual(endless.sort());
  expect(allowedToLoop).toHaveLength(endless.length + 1);
});

test('loop detection is disabled for the sandbox, because its delayed tasks are messages to itself', () => {
  present(stacks.sandbox).hasResourceProperties('AWS::Lambda::Function', { RecursiveLoop: 'Allow' });
});
