import { describe, expect, jest, test } from '@jest/globals';
import { type App, Stack } from 'aws-cdk-lib';
import { Bucket } from 'aws-cdk-lib/aws-s3';
import { EventBus } from '../../lib/constructs/event-bus.ts';
import { applyRulePacks } from '../../lib/policies/rule-packs.ts';
import { buildStacks } from '../../lib/stacks.ts';
import { flagsOf } from '../../lib/synthesized.ts';
import { PAYONCE, payonceWith } from '../../local/cdk.ts';
import { inTurn } from '../support/slice.ts';
import { synthesize } from '../support/synth.ts';
import { testApp } from './test-app.ts';

describe('the rule packs', () => {
  test('find a bucket that does not require TLS, and report the rule and the bucket', () => {
    const app = testApp();
    const planted = new Bucket(new Stack(app, 'Stack'), 'Planted');
    applyRulePacks(app);
    expect(() => app.synth()).toThrow(new RegExp(`${planted.node.path}[\\s\\S]*AwsSolutions-S10`));
  });

  /**
   * The assembly that the rule packs check has no event archive, because the local AWS does not support event archives.
   */
  function archivedBus(context: Record<string, unknown> = {}): App {
    const app = testApp(context);
    const bus = new EventBus(new Stack(app, 'Stack'), 'Events', { retain: true, archive: true });
    expect(bus.node.tryFindChild('Archive')).toBeDefined();
    applyRulePacks(app);
    return app;
  }

  test('accept the event bus with its archive', () => {
    expect(() => archivedBus().synth()).not.toThrow();
  });

  // Loading the CDK's own rules takes more than ten seconds. `npm run synth` applies them, too.
  inTurn(test, { place: 1, of: 4, otherwise: test.skip })(
    "and the CDK's rules accept the event bus with its archive",
    () => {
      const app = archivedBus({ '@aws-cdk/core:validateAgainstDefaultRules': true });
      const replaced = jest.replaceProperty(process, 'env', { ...process.env, CDK_VALIDATION: 'true' });
      try {
        expect(() => app.synth()).not.toThrow();
      } finally {
        replaced.restore();
      }
    },
  );
});

// Checking the stacks takes as long as all other tests of this file. `npm run prove` also applies the CDK's own rules
// to them.
for (const { place, database, context } of [
  { place: 3, database: 'PostgreSQL', context: payonceWith({}, 'postgres').context },
  { place: 2, database: 'Aurora DSQL', context: { ...PAYONCE.context, 'payonce:authority': 'dsql' } },
]) {
  inTurn(test, { place, of: 4, otherwise: test.skip })(`the rule packs accept the stacks with ${database}`, () => {
    const app = testApp({ ...flagsOf(), ...context });
    buildStacks(app);
    applyRulePacks(app);
    expect(() => app.synth()).not.toThrow();
  });
}

test('the assembly that the rule packs check contains every resource of a deployment except the event archive', async () => {
  const [deployed, local] = await Promise.all([synthesize({ 'payonce:archive': 'true' }), synthesize(PAYONCE.context)]);
  const resources = (stacks: typeof deployed): ReadonlyMap<string, string> =>
    new Map(
      Object.entries(stacks).flatMap(([stack, template]) =>
        Object.entries(template?.toJSON()['Resources'] as Record<string, { readonly Type: string }>).map(
          ([id, { Type }]) => [`${stack} ${id}`, Type] as const,
        ),
      ),
    );
  const judged = resources(local);
  const missing = [...resources(deployed)].filter(([id]) => !judged.has(id)).map(([, type]) => type);
  expect(missing).toEqual(['AWS::Events::Archive']);
});
